"""Pods say why they wait, and nothing is written twice."""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from ganglion.engine.gangs.record import WAITING
from ganglion.model.causes import sentence
from ganglion.model.plan import Phase
from ganglion.worlds.kubernetes.cluster_view.attempt import AttemptStage
from ganglion.worlds.kubernetes.cluster_view.orders import Say
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.names import FAILED_SCHEDULING
from ganglion.worlds.kubernetes.reasons.group_status import GroupTeller
from ganglion.worlds.kubernetes.reasons.noting import note
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang

PER_TURN = 200
"""Gangs looked at in one turn: what waits is gone through in rounds."""

FOLLOW_MS = 1_000
"""Pods of an incomplete gang say what it lacks once no other was made for this long."""

GROWING = "no place for more of its pods was found yet; those that have one run on"


class _Why(StrEnum):
    """What keeps pods waiting."""

    WAITS = "waits"
    GROWS = "grows"
    SPARE = "spare"


class _Told(Struct):
    """Reason last written on pods of a gang, when, in ms, and on which: their UIDs."""

    message: str
    at: int
    uids: set[str]


class Teller:
    """Remembers which reasons were written."""

    def __init__(self) -> None:
        self._told: dict[str, dict[_Why, _Told]] = {}
        self._whole: dict[str, FoundGang] = {}
        self._round: list[str] = []
        self._crowded: dict[str, None] = {}
        self._groups = GroupTeller()

    def heed(self, scene: ControllerState, gang: str) -> None:
        """See whether a gang that something happened to has a place for all of its pods."""
        self._groups.heed(scene, gang)
        found, attempt = scene.gangs.founds.get(gang), scene.attempts.by_gang.get(gang)
        if found and attempt and (found.spare or len(found.members) > len(attempt.pods)):
            self._crowded[gang] = None
        else:
            self._crowded.pop(gang, None)

    def tell(self, scene: ControllerState, now: int) -> None:
        """Order the next reasons to be written."""
        if not self._round:
            held = (*scene.gangs.complaints, *scene.starts.unready, *scene.starts.failures)
            waiting = [*held, *_in_lanes(scene), *scene.state.holdings.promised]
            self._round = list(dict.fromkeys((*waiting, *self._crowded)))
            self._forget(scene)
        for _ in range(min(PER_TURN, len(self._round))):
            gang = self._round.pop()
            try:
                self._tell_gang(scene, gang, now)
            except Exception as error:
                scene.facts.failed("gang", gang, error)
        self._groups.tell(scene, now)

    def is_done(self) -> bool:
        """Whether nothing is left of this round."""
        return not self._round

    def _tell_gang(self, scene: ControllerState, gang: str, now: int) -> None:
        found = scene.gangs.founds.get(gang)
        if found is None or _is_being_made(found, now):
            return
        message = why(scene, gang)
        if found.groups:
            self._groups.look(scene, gang, message, now)
        known = self._told.get(gang, {}).get(_Why.WAITS)
        is_told = known and message and not _is_news(known, message, now, scene.settings.retell_ms)
        if is_told and self._whole.get(gang) is found:
            return  # most gangs, in most turns
        for sort, said, pods in _reasons(scene, gang, found, message):
            self._tell(scene, gang, sort, said, pods, now)
        self._note_whole(gang, found)

    def _note_whole(self, gang: str, found: FoundGang) -> None:
        """Remember that all pods of a gang, as it was found, have the reason why it waits."""
        known = self._told.get(gang, {}).get(_Why.WAITS)
        uids = known.uids if known else ()
        if not found.spare and all(each.pod.metadata.uid in uids for each in found.members):
            self._whole[gang] = found
        else:
            self._whole.pop(gang, None)

    def _tell(
        self,
        scene: ControllerState,
        gang: str,
        sort: _Why,
        message: str,
        pods: Sequence[Pod],
        now: int,
    ) -> None:
        """Write the reason on pods that have not got it, or one much like it a moment ago."""
        known = self._told.setdefault(gang, {}).get(sort)
        if known is None or _is_news(known, message, now, scene.settings.retell_ms):
            if sort is _Why.WAITS and (known is None or not _is_alike(known, message)):
                note(scene, gang, FAILED_SCHEDULING, "Scheduling", message, warning=True)
            known = self._told[gang][sort] = _Told(message, now, set())
        fresh = [each for each in pods if each.metadata.uid not in known.uids]
        known.uids.update(each.metadata.uid for each in fresh)
        if fresh:
            site = scene.site_of(gang)
            scene.orders.append(Say(gang, tuple(map(site.ref, fresh)), message))

    def _forget(self, scene: ControllerState) -> None:
        for gang in [each for each in self._told if each not in scene.gangs.founds]:
            del self._told[gang]
            self._whole.pop(gang, None)
        self._groups.forget(scene)


def _is_being_made(found: FoundGang, now: int) -> bool:
    """Whether an incomplete gang got a pod a moment ago: the others are likely to follow."""
    return bool(found.lacking) and found.got_pods(now, FOLLOW_MS)


def _is_news(known: _Told, message: str, now: int, retell_ms: int) -> bool:
    if message == known.message:
        return False
    return not _is_alike(known, message) or now - known.at >= retell_ms


def _is_alike(known: _Told, message: str) -> bool:
    """Whether it is a reason of the same sort, with other numbers."""
    return message.partition(":")[0] == known.message.partition(":")[0]


def _in_lanes(scene: ControllerState) -> list[str]:
    return [key[-1] for lane in scene.state.gangs.lanes for key in lane.in_order()]


def _reasons(
    scene: ControllerState, gang: str, found: FoundGang, message: str
) -> Iterator[tuple[_Why, str, Sequence[Pod]]]:
    """What keeps pods of a gang waiting, in one sentence, and which pods that is."""
    members = [each.pod for each in found.members if _waits(scene, each.pod)]
    spare = [each for each in found.spare if _waits(scene, each)]
    attempt = scene.attempts.by_gang.get(gang)
    if members and message:
        yield _Why.WAITS, message, members
    elif members and attempt and attempt.stage is not AttemptStage.LEAVING:
        yield _Why.GROWS, GROWING, members
    if spare:
        wanted = sum(each.count for each in found.sets)
        yield _Why.SPARE, f"{found.name} wants {wanted} pods, and others are these", spare


def _waits(scene: ControllerState, pod: Pod) -> bool:
    """Whether a pod has no node, gets none now, and is not held back by a gate of others."""
    gates, ours = pod.spec.scheduling_gates, scene.settings.instance.gate
    is_held = any(each.name != ours for each in gates)
    return not (pod.spec.node_name or is_held or pod.metadata.uid in scene.attempts.seated)


def why(scene: ControllerState, gang: str) -> str:
    """Why a gang waits, in one sentence; empty = it does not, or the reason is not known yet."""
    told, late = _why(scene, gang), scene.starts.unready.get(gang)
    if not _is_waiting(scene, gang):
        return told
    if late is not None:
        return f"{told or 'it waits before its next try'}; last time it was {late.why}"
    record = scene.record(gang)
    if told and record and record.cause and gang in scene.starts.failures:
        return f"{told}; last time: {record.cause.text or sentence(record.cause)}"
    return told


def _is_waiting(scene: ControllerState, gang: str) -> bool:
    record = scene.record(gang)
    return gang in scene.gangs.complaints or bool(record and record.phase in WAITING)


def _why(scene: ControllerState, gang: str) -> str:
    if gang in scene.gangs.complaints:
        return scene.gangs.complaints[gang]
    record = scene.record(gang)
    if record is None or record.phase not in WAITING or gang in scene.unsure:
        return ""
    if record.phase is Phase.RESERVED:
        return "others are leaving the place it was given"
    reason = scene.state.gangs.reason(gang)
    return f"{reason.token.value}: {reason.message}" if reason else ""
