"""Pods say why they wait, and nothing is written twice."""

from ganglion.engine.record import WAITING
from ganglion.model.plan import Phase
from ganglion.worlds.kubernetes.brain.orders import Say
from ganglion.worlds.kubernetes.brain.scene import Scene

PER_TURN = 200
"""Gangs looked at in one turn: what waits is gone through in rounds."""


class Teller:
    """Remembers what was told."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, int]] = {}
        self._round: list[str] = []

    def tell(self, scene: Scene, now: int) -> None:
        """Order the next reasons to be written."""
        if not self._round:
            self._round = [*scene.complaints, *_in_lanes(scene), *scene.state.promised]
            self._forget(scene)
        for _ in range(min(PER_TURN, len(self._round))):
            self._tell(scene, self._round.pop(), now)

    def is_done(self) -> bool:
        """Whether nothing is left of this round."""
        return not self._round

    def _tell(self, scene: Scene, gang: str, now: int) -> None:
        found, message = scene.founds.get(gang), why(scene, gang)
        before, at = self._told.get(gang, ("", 0))
        if not found or not message or message == before:
            return
        alike = message.partition(":")[0] == before.partition(":")[0]
        if alike and now - at < scene.settings.retell_ms:
            return
        self._told[gang] = (message, now)
        site = scene.site_of(gang)
        waiting = tuple(
            site.ref(each.pod)
            for each in found.members
            if not each.pod.spec.node_name and not each.pod.spec.scheduling_gates
        )
        if waiting:
            scene.orders.append(Say(gang, waiting, message))

    def _forget(self, scene: Scene) -> None:
        for gang in [each for each in self._told if each not in scene.founds]:
            del self._told[gang]


def _in_lanes(scene: Scene) -> list[str]:
    return [key[-1] for lane in scene.state.lanes for key in lane.in_order()]


def why(scene: Scene, gang: str) -> str:
    """Why a gang waits, in one sentence; empty = it does not, or nobody knows yet."""
    if gang in scene.complaints:
        return scene.complaints[gang]
    record = scene.record(gang)
    if record is None or record.phase not in WAITING:
        return ""
    if record.phase is Phase.RESERVED:
        return "others are leaving the place it was given"
    reason = scene.state.reason(gang)
    return f"{reason.token.value}: {reason.message}" if reason else ""
