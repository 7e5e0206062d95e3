"""Affinity and anti-affinity between pods."""

from collections.abc import Iterator

from ganglion.worlds.kubernetes.feasibility.needs import AffinityTerm, Resident, meant
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.barrier import Barrier


def kept_away(one: Resident, crowd: PodIndex, fleet: Fleet) -> Iterator[Barrier]:
    """The domains of pods that this one must keep away from, or that keep it away."""
    for term in one.needs.apart:
        there = crowd.tallies.domains((term.pattern,), term.key, fleet.values_of(term.key))
        if there:
            yield Barrier(term.key, there, "has a pod it must keep away from")
    guarded: dict[str, dict[str, int]] = {}
    for term, where in crowd.guards.against(one):
        guarded.setdefault(term.key, {}).update(fleet.domains(where, term.key))
    for key, values in sorted(guarded.items()):
        yield Barrier(key, values, "has a pod that keeps it away")


def alone(one: Resident, crowd: PodIndex, fleet: Fleet) -> Iterator[Barrier]:
    """All but the domains of pods that this one has to be near.

    The first of pods that want to be near each other may go anywhere.
    """
    near = one.needs.near
    if not near:
        return
    pattern = tuple(term.pattern for term in near)
    there = [crowd.tallies.domains(pattern, term.key, fleet.values_of(term.key)) for term in near]
    if not any(there) and is_its_own_kind(one, crowd):
        yield from (Barrier(term.key, (), lacking=True) for term in near)
        return
    for term, domains in zip(near, there, strict=True):
        why = "lacks a pod it has to be near"
        yield Barrier(term.key, domains, why, but=True, lacking=True)


def is_its_own_kind(one: Resident, crowd: PodIndex) -> bool:
    """Whether the pods that a pod has to be near are pods like itself."""
    return meant([term.pattern for term in one.needs.near], one, crowd.namespaces)


class Distances:
    """Anti-affinity among pods that are all in place; each question costs a look-up."""

    def __init__(self, crowd: PodIndex, fleet: Fleet) -> None:
        self._crowd = crowd
        self._fleet = fleet
        self._meant: dict[AffinityTerm, dict[str, int]] = {}
        self._guards: dict[AffinityTerm, dict[str, int]] = {}

    def too_close(self, one: Resident) -> str:
        """Why a pod may not be where it is; empty = it may."""
        for term in one.needs.apart:
            itself = meant((term.pattern,), one, self._crowd.namespaces)
            if self._others(self._meant_by(term), term, one, itself):
                return f"{term.key} has a pod it must keep away from"
        return min(self._kept_away(one), default="")

    def _kept_away(self, one: Resident) -> Iterator[str]:
        for term, where in self._crowd.guards.against(one):
            if term not in self._guards:
                self._guards[term] = self._fleet.domains(where, term.key)
            if self._others(self._guards[term], term, one, term in one.needs.apart):
                yield f"{term.key} has a pod that keeps it away"

    def _meant_by(self, term: AffinityTerm) -> dict[str, int]:
        if term not in self._meant:
            where = self._crowd.tallies.where((term.pattern,))
            self._meant[term] = self._fleet.domains(where, term.key)
        return self._meant[term]

    def _others(
        self, domains: dict[str, int], term: AffinityTerm, one: Resident, itself: bool
    ) -> bool:
        value = self._fleet.value(one.node, term.key)
        return value is not None and domains.get(value, 0) > int(itself)
