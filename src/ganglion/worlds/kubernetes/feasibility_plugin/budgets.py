"""Disruption budgets, and others that forbid to stop a gang for another.

The victims of one plan draw on the budgets together, and so do those of earlier plans that have
not been evicted yet: a plan that its budgets would stop midway is not begun.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from ganglion.model.workload import Gang
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt, AttemptStage
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.types.disruption import PodDisruptionBudget
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang
from ganglion.worlds.kubernetes.write_rules.budgets import SpentDisruptions, counted, guarding

_Taken = tuple[tuple[str, int], ...]


class Budgets:
    """What victims draw on, and a veto on those that may not be stopped for a gang at all.

    Args:
        founds: gangs with their rules, by id.
        may_ask: whether a gang may have others stopped, as its rules stand.
    """

    name = "kubernetes-budgets"

    def __init__(
        self, founds: Mapping[str, tuple[ClusterView, FoundGang]], may_ask: Callable[[str], bool]
    ) -> None:
        self._founds, self._may_ask = founds, may_ask
        self._attempts: Mapping[str, Attempt] = {}
        self._sites: Mapping[str, ClusterView] = {}
        self._spared: Mapping[str, int] = {}
        self._known: dict[str, _Taken] = {}
        self._budgets: dict[str, PodDisruptionBudget] = {}
        self._leaving = Counter[str]()

    def open(self, scene: ControllerState) -> None:
        """Look at everything as it is now."""
        self._attempts, self._sites, self._spared = (
            scene.attempts.by_gang,
            scene.sites,
            scene.evictions.spared,
        )
        self._known = {}
        self._budgets = {
            uid: budget
            for site in scene.sites.values()
            for space in site.budgets.values()
            for uid, budget in space.items()
        }
        self._leaving.clear()
        for attempt in scene.attempts.by_gang.values() if self._budgets else ():
            if attempt.stage is AttemptStage.LEAVING:
                for uid, amount in self._of(attempt, told=True):
                    self._leaving[uid] += amount

    def takes(self, victim: Gang) -> Sequence[tuple[str, int]]:
        """Budgets that the pods of a gang are under, with how many of them count."""
        attempt = self._attempts.get(victim.id) if self._budgets else None
        if attempt is None:
            return ()
        if victim.id not in self._known:
            self._known[victim.id] = self._of(attempt, told=False)
        return self._known[victim.id]

    def left(self, budget: str) -> int:
        """How many more pods a budget lets go, less those evicted that are still there."""
        return SpentDisruptions().left(self._budgets[budget]) - self._leaving[budget]

    def gang_key(self, gang: Gang) -> Hashable:
        """Nothing: budgets are about the victim."""
        del gang
        return None

    def may_stop(self, victim: Gang, favoured: Gang, now: int) -> bool:
        """Whether a gang may ask for others, and this one is not to be spared for a while."""
        asker = self._founds.get(favoured.id)
        if asker and not (asker[1].preempts and self._may_ask(favoured.id)):
            return False
        return self._spared.get(victim.id, 0) <= now and self._affords(victim)

    def _affords(self, victim: Gang) -> bool:
        return all(self.left(uid) >= amount for uid, amount in self.takes(victim))

    def _of(self, attempt: Attempt, *, told: bool) -> _Taken:
        """What the pods of an attempt draw on.

        Args:
            attempt: of a gang.
            told: leave out pods whose eviction the budgets know of.
        """
        site = self._sites.get(attempt.cluster)
        taken = Counter[str]()
        for pod in _pods(site, attempt) if site else ():
            known = tuple(site.budgets.get(pod.metadata.namespace, {}).values()) if site else ()
            for budget in guarding(pod, known) if known and not (told and pod.is_leaving) else ():
                if counted(pod, budget):
                    taken[budget.metadata.uid] += 1
        return tuple(sorted(taken.items()))


def _pods(site: ClusterView, attempt: Attempt) -> Iterator[Pod]:
    for uid in attempt.pods.values():
        if uid in site.pods:
            yield site.pods[uid]
