"""Owners that were suspended while their pods left go on once the gang that they left for runs.

Resuming hundreds of them at once, and the pods that their controllers make then, would delay the
victims that are still to go and the bindings of the gang that they leave for.
"""

from collections.abc import Container

from ganglion.lifecycle.budgets import OLD_MS
from ganglion.model.errors import InvariantBroken
from ganglion.worlds.causes import BUDGET_OF
from ganglion.worlds.kubernetes.cluster_view.attempt import AttemptStage
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.cluster_view.orders import Unsuspend
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.names import SUSPENDED_FOR
from ganglion.worlds.kubernetes.types.meta import Anything, OwnerReference
from ganglion.worlds.kubernetes.workload_discovery.found import GangOwner
from ganglion.worlds.kubernetes.workload_kinds.kinds import KINDS, ident_of, path_of

AGAIN_MS = 10_000
HOLD_MS = 10_000
"""How long an owner without pods waits for the others that leave for the same gang."""


class SuspendedOwners:
    """When owners that we have suspended lost their pods, and were asked to go on.

    Invariant: nothing is remembered of an owner that is not suspended.
    """

    def __init__(self) -> None:
        self._resumed: dict[str, int] = {}
        self._emptied: dict[str, int] = {}

    def resume(self, scene: ControllerState, now: int, *, knows_budgets: bool) -> None:
        """Order every owner that we have suspended to go on, unless its pods are still to leave.

        One whose pods are gone waits up to `HOLD_MS` for the gang that they left for to be bound;
        one that was suspended for a budget, up to `OLD_MS` for what the server says of budgets.
        """
        suspended = _suspended(scene)
        self._forget(suspended)
        if not suspended:
            return
        leaving = {
            each.owner.uid
            for each in scene.attempts.by_gang.values()
            if each.stage is AttemptStage.LEAVING and each.owner
        }
        holds: dict[str, int] = {}
        for site in scene.sites.values():
            for uid, thing in site.suspended.items():
                if uid in leaving:
                    self._emptied.pop(uid, None)
                    continue
                told = self._resumed.get(uid)
                if told is not None and now - told < AGAIN_MS:
                    continue
                asker = thing.metadata.annotations.get(SUSPENDED_FOR, "")
                if asker not in holds:
                    unsure = asker.startswith(BUDGET_OF) and not knows_budgets
                    holds[asker] = OLD_MS if unsure else HOLD_MS * _is_on_its_way(scene, asker)
                if holds[asker] and now - self._emptied.setdefault(uid, now) < holds[asker]:
                    continue
                self._resumed[uid] = now
                try:
                    _resume(scene, site, thing)
                except Exception as error:
                    scene.facts.failed(thing.kind, f"{site.prefix}{uid}", error)

    def _forget(self, suspended: Container[str]) -> None:
        for times in (self._resumed, self._emptied):
            for uid in [each for each in times if each not in suspended]:
                del times[uid]

    def check(self, scene: ControllerState) -> None:
        """Check the invariant, between a `resume` and the next news. Raises InvariantBroken."""
        unknown = (self._resumed.keys() | self._emptied.keys()) - _suspended(scene)
        if unknown:
            raise InvariantBroken(f"owners are remembered that are not suspended: {unknown}")


def _suspended(scene: ControllerState) -> set[str]:
    """The uids of all owners that we have suspended."""
    return {uid for site in scene.sites.values() for uid in site.suspended}


def _is_on_its_way(scene: ControllerState, gang: str) -> bool:
    """Whether some pods of a gang have no node yet."""
    found = scene.gangs.founds.get(gang)
    return found is not None and any(not each.pod.spec.node_name for each in found.members)


def _resume(scene: ControllerState, site: ClusterView, thing: Anything) -> None:
    meta = thing.metadata
    reference = OwnerReference(thing.api_version, thing.kind, meta.name, meta.uid, True)
    resource = KINDS.get(ident_of(reference))
    if resource is None:
        return
    owner = GangOwner(
        thing.api_version,
        thing.kind,
        meta.namespace,
        meta.name,
        meta.uid,
        path_of(thing.api_version, resource.plural, meta.namespace, meta.name),
        resource.suspend,
        True,
    )
    scene.orders.append(Unsuspend(f"{site.prefix}{meta.namespace}/{meta.name}", site.name, owner))
