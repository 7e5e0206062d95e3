"""Rules that depend on what else runs: they close nodes to pods and may forbid a start."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from msgspec import Struct

from ganglion.model.placement import Placement
from ganglion.model.plan import Plan
from ganglion.model.reasons import Reason, Token
from ganglion.model.workload import Gang, Topology
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.feasibility.needs import Needs, Resident
from ganglion.worlds.kubernetes.feasibility_plugin.filtering import (
    GangFilter,
    label_keys,
    members_by_set,
    nameless,
)
from ganglion.worlds.kubernetes.feasibility_plugin.kinds import Kinds
from ganglion.worlds.kubernetes.pod_index.anti_affinity import Guards
from ganglion.worlds.kubernetes.pod_rules.gang_check import check
from ganglion.worlds.kubernetes.pod_rules.levels import levels_of
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang, Member


class _Bound(Struct, frozen=True):
    """A gang that waits or runs: what is known of it, and the needs of each of its pod sets.

    Attributes:
        is_choosy: whether it may go to some nodes only, for what else runs.
        prefers: whether it prefers some of them for that.
    """

    site: ClusterView
    found: FoundGang
    needs: dict[str, Needs]
    is_choosy: bool
    prefers: bool


class Dynamic:
    """Dynamic rules of gangs, as a Permit plugin of the engine.

    Which nodes are closed to a gang is computed when it found no place pod by pod; only then
    does the engine have to know of it, to explain it and to stop others for it.

    Args:
        sites: the clusters.

    Attributes:
        unsure: gangs that found no place before their closed nodes were known.
    """

    name = "kubernetes-neighbours"

    def __init__(self, sites: Mapping[str, ClusterView]) -> None:
        self._known: dict[str, _Bound] = {}
        self._kinds = {name: Kinds(site) for name, site in sites.items()}
        self._assumed: dict[str, list[str]] = {}
        self._is_open = self._are_watched = False
        self._asked: dict[str, None] = {}
        self._preferring: dict[str, None] = {}
        self.unsure: set[str] = set()

    def learn(self, site: ClusterView, gang: str, found: FoundGang) -> None:
        """Know a gang that looks for a place.

        Raises:
            InputError: a quantity is none.
        """
        needs = {each.name: site.asks.needs(each.request) for each in found.sets}
        is_choosy = any(map(Needs.is_choosy, needs.values())) or any(
            site.asks.needs(each.pod).is_choosy() for each in _odd(found)
        )
        prefers = any(map(Needs.prefers, needs.values()))
        self._known[gang] = _Bound(site, found, needs, is_choosy, prefers)
        if prefers:
            self._preferring[gang] = None
        else:
            self._preferring.pop(gang, None)
        self._kinds[site.name].put(gang, needs)
        if any(each.least < each.count for each in found.sets):
            self._kinds[site.name].look(gang)  # it grows where nodes are open to it

    def hints(self, gang: str) -> dict[str, Topology]:
        """Pod set -> the topology that the rules among its pods amount to."""
        bound = self._known.get(gang)
        if bound is None or not bound.is_choosy:
            return {}
        site, counts = bound.site, {each.name: each.count for each in bound.found.sets}
        found = {}
        for name, needs in bound.needs.items():
            levels = site.places.levels_among(label_keys(needs))
            found[name] = levels_of(needs, counts[name], site.crowd, site.fleet, levels)
        return found

    def unlearn(self, gang: str) -> None:
        """Forget a gang."""
        self._preferring.pop(gang, None)
        self._asked.pop(gang, None)
        bound = self._known.pop(gang, None)
        if bound:
            self._kinds[bound.site.name].drop(gang)

    def renew(self, site: ClusterView, looks: Callable[[str], bool]) -> set[str]:
        """Find out anew which nodes are closed to which pods.

        Args:
            site: in which cluster.
            looks: whether a gang still looks for a place.

        Returns:
            Gangs to which other nodes are closed than before.
        """
        return self._kinds[site.name].renew(looks)

    def look(self, site: ClusterView, gang: str) -> None:
        """It has to be known which nodes are closed to a gang, once they are found out anew."""
        self._kinds[site.name].look(gang)

    def mark(self, site: ClusterView, gang: str, pod_set: str) -> str:
        """The mark of the nodes that are closed to pods of a gang; empty = none."""
        return self._kinds[site.name].mark(gang, pod_set)

    def closed(self, site: ClusterView) -> dict[str, frozenset[str]]:
        """Node -> marks of the sets of closed nodes that it is in."""
        return self._kinds[site.name].closed()

    def open(self) -> None:
        """A cycle begins: what is permitted now counts for whatever is asked next."""
        self._is_open = True
        self._are_watched = bool(self._preferring) or any(
            each.ask_about_pods() for each in self._kinds.values()
        )

    def settle(self, plan: Plan) -> None:
        """A cycle is over: a gang that was permitted but did not start holds nothing."""
        self._is_open, self.unsure = False, set()
        started = {each.gang.id for each in plan.starts}
        for gang in self._asked:
            bound = self._known.get(gang)
            if bound and gang not in started and self._kinds[bound.site.name].look(gang):
                self.unsure.add(gang)
        self._asked = {}
        for gang, uids in self._assumed.items():
            bound = self._known.get(gang)
            if bound is None:
                continue
            for uid in uids:
                if gang not in started or uid not in bound.site.pods:
                    bound.site.reconsider(uid)
        self._assumed = {}

    def may_ask(self, gang: str) -> bool:
        """Whether others may be stopped for a gang: not before its closed nodes are known."""
        bound = self._known.get(gang)
        return bound is None or self._kinds[bound.site.name].is_looked_at(gang)

    def filtering(self, gang: Gang) -> AbstractContextManager[GangFilter] | None:
        """The rules among pods for a gang of which none is placed yet; None = there are none."""
        bound = self._known.get(gang.id)
        if bound is None or not self._is_minded(bound):
            return None
        self._asked[gang.id] = None
        return self._filtering(bound, prefers=False)

    def preferring(self, gang: Gang) -> AbstractContextManager[GangFilter] | None:
        """The same with what its pods prefer for what else runs; None = they prefer nothing."""
        bound = self._known.get(gang.id)
        if bound is None or not (bound.prefers or _is_meant(bound, bound.site.crowd.wishes)):
            return None
        return self._filtering(bound, prefers=True)

    @contextmanager
    def _filtering(self, bound: _Bound, *, prefers: bool) -> Iterator[GangFilter]:
        members = [each.pod.metadata.uid for each in bound.found.members]
        with bound.site.crowd.supposing(members) as suppose:
            yield GangFilter(bound.site, bound.found, suppose, prefers=prefers)

    def _is_minded(self, bound: _Bound) -> bool:
        """Whether it matters to a gang what else runs, or to what runs whether it does."""
        return bound.is_choosy or _is_meant(bound, bound.site.crowd.guards)

    def gang_key(self, gang: Gang) -> Hashable:
        """Nothing: gangs whose pods are alike wait for the same."""
        del gang
        return None

    def permit(self, gang: Gang, placement: Placement, now: int) -> Reason | None:
        """None to let a gang start there, or what stands in its way."""
        del now
        bound = self._known.get(gang.id)
        if bound is None:
            return None
        is_minded = self._is_minded(bound)
        if not is_minded and not self._are_watched:
            return None
        members, site = _seated(bound, placement), bound.site
        needs = site.asks.needs
        trouble = check(members, site.crowd, site.fleet, needs=needs) if is_minded else None
        if trouble:
            self._asked[gang.id] = None
            node, why = trouble
            return Reason(Token.CONSTRAINT, f"node {node}: {why}")
        if self._is_open:
            for pod, node in members:
                site.crowd.put(pod, node, needs(pod))
            self._assumed[gang.id] = [pod.metadata.uid for pod, _ in members]
        return None


def _is_meant(bound: _Bound, guards: Guards[Any]) -> bool:
    """Whether rules of one sort of pods that run are about pods of a gang."""
    return guards.is_needed() and any(
        next(guards.against(Resident("", "", each, dict(each.labels))), None)
        for each in bound.needs.values()
    )


def _odd(found: FoundGang) -> Iterator[Member]:
    """Members that differ from the representative of their set."""
    shapes = {each.name: each.request.spec for each in found.sets}
    return (each for each in found.members if each.pod.spec != shapes[each.pod_set])


def _seated(bound: _Bound, placement: Placement) -> Sequence[tuple[Pod, str]]:
    """Every pod of a gang with its node; one that is yet to be made stands like its equals."""
    pods = members_by_set(bound.found)
    counts = dict.fromkeys(pods, 0)
    found = []
    for place in placement.pods:
        number = counts[place.pod_set]
        counts[place.pod_set] += 1
        living = pods[place.pod_set]
        pod = (
            living[number] if number < len(living) else nameless(bound.found, place.pod_set, number)
        )
        found.append((pod, place.node.removeprefix(bound.site.prefix)))
    return found
