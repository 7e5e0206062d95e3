"""Affinity within a gang: is there an order in which every pod finds company?

A pod may go where the pods it has to be near are, or, if there are none anywhere and it is of
their kind itself, wherever it likes. So one pod decides for those that follow, and which pod
goes first matters. Members that are alike and in the same domains are looked at as one.
"""

from collections.abc import Sequence

from msgspec import Struct

from ganglion.worlds.kubernetes.feasibility.needs import AffinityTerm, Resident, meant
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex

_TRIES = 256
"""Orders tried before giving up; gangs of one kind in one place need one."""

Domains = frozenset[tuple[str, str]]
"""(label, value) pairs."""


class AlikeMembers(Struct, frozen=True):
    """Members that are alike and in the same domains.

    Attributes:
        wants: number of the affinity they have; -1 = none.
        kinds: numbers of the affinities that mean them.
        homes: the domains they are in.
        node: the node of one of them.
    """

    wants: int
    kinds: frozenset[int]
    homes: Domains
    node: str


def lonely(members: Sequence[Resident], crowd: PodIndex, fleet: Fleet) -> tuple[str, str] | None:
    """A member that no order leads to the pods it has to be near, by its node; None = all do."""
    affinities = list(dict.fromkeys(each.needs.near for each in members if each.needs.near))
    if not affinities:
        return None
    for each in members:
        for term in each.needs.near:
            if fleet.value(each.node, term.key) is None:
                return each.node, f"no label {term.key}"
    groups = _groups(members, affinities, crowd, fleet)
    left = _Search(affinities).left(_present(affinities, crowd, fleet), groups)
    return (left[0].node, _why(affinities[left[0].wants])) if left else None


class _Search:
    """A search for an order, up to a number of tries."""

    def __init__(self, affinities: Sequence[tuple[AffinityTerm, ...]]) -> None:
        self._keys = [{term.key for term in each} for each in affinities]
        self._tries = _TRIES

    def left(self, present: tuple[Domains, ...], groups: list[AlikeMembers]) -> list[AlikeMembers]:
        """The groups without company in the best order found; none = every group has some."""
        least: list[AlikeMembers] | None = None
        for first in (each for each in groups if self._may_begin(each, present)):
            if self._tries <= 0:
                break
            left = self.left(self._with(present, first), [e for e in groups if e != first])
            if not left:
                return left
            least = least or left
        self._tries -= 1
        left = self._follow(present, groups)
        return left if not left or least is None else least

    def _may_begin(self, group: AlikeMembers, present: tuple[Domains, ...]) -> bool:
        return group.wants in group.kinds and not present[group.wants]

    def _follow(
        self, present: tuple[Domains, ...], groups: list[AlikeMembers]
    ) -> list[AlikeMembers]:
        """Remove every group that finds company, until none does; return those left."""
        while True:
            left = [each for each in groups if not self._has_company(each, present)]
            if len(left) == len(groups):
                return left
            for each in groups:
                if self._has_company(each, present):
                    present = self._with(present, each)
            groups = left

    def _has_company(self, group: AlikeMembers, present: tuple[Domains, ...]) -> bool:
        if group.wants < 0:
            return True
        wanted = self._keys[group.wants]
        return all(home in present[group.wants] for home in group.homes if home[0] in wanted)

    def _with(self, present: tuple[Domains, ...], group: AlikeMembers) -> tuple[Domains, ...]:
        return tuple(
            there | {home for home in group.homes if home[0] in self._keys[number]}
            if number in group.kinds
            else there
            for number, there in enumerate(present)
        )


def _groups(
    members: Sequence[Resident],
    affinities: Sequence[tuple[AffinityTerm, ...]],
    crowd: PodIndex,
    fleet: Fleet,
) -> list[AlikeMembers]:
    numbers = {near: number for number, near in enumerate(affinities)}
    keys = sorted({term.key for near in affinities for term in near})
    found: dict[tuple[int, frozenset[int], Domains], AlikeMembers] = {}
    for each in members:
        kinds = frozenset(
            number
            for near, number in numbers.items()
            if meant([term.pattern for term in near], each, crowd.namespaces)
        )
        values = ((key, fleet.value(each.node, key)) for key in keys)
        homes = frozenset((key, value) for key, value in values if value is not None)
        wants = numbers.get(each.needs.near, -1)
        found.setdefault((wants, kinds, homes), AlikeMembers(wants, kinds, homes, each.node))
    return list(found.values())


def _present(
    affinities: Sequence[tuple[AffinityTerm, ...]], crowd: PodIndex, fleet: Fleet
) -> tuple[Domains, ...]:
    """For each affinity the domains that have pods which it means."""
    found = []
    for near in affinities:
        where = crowd.tallies.where(tuple(term.pattern for term in near))
        found.append(
            frozenset(
                (term.key, value) for term in near for value in fleet.domains(where, term.key)
            )
        )
    return tuple(found)


def _why(near: tuple[AffinityTerm, ...]) -> str:
    return f"no pod it has to be near in the same {' and '.join(sorted({t.key for t in near}))}"
