"""Rules that depend on what else runs: they close nodes to pods and may forbid a start."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ganglion.model.placement import Placement
from ganglion.model.plan import Plan
from ganglion.model.reasons import Reason, Token
from ganglion.model.workload import Gang, Topology
from ganglion.worlds.kubernetes.brain.kinds import Kinds
from ganglion.worlds.kubernetes.brain.site import Site
from ganglion.worlds.kubernetes.filters.check import check
from ganglion.worlds.kubernetes.filters.levels import levels_of
from ganglion.worlds.kubernetes.filters.needs import Needs
from ganglion.worlds.kubernetes.gangs.found import Found, Member
from ganglion.worlds.kubernetes.objects.pod import Pod


class _Bound(Struct, frozen=True):
    """A gang that waits or runs: what is known of it, and the needs of each of its pod sets."""

    site: Site
    found: Found
    needs: dict[str, Needs]
    is_choosy: bool


class Dynamic:
    """Dynamic rules of gangs, as a Permit plugin of the engine.

    Args:
        sites: the clusters.
    """

    name = "kubernetes-neighbours"

    def __init__(self, sites: Mapping[str, Site]) -> None:
        self._known: dict[str, _Bound] = {}
        self._kinds = {name: Kinds(site) for name, site in sites.items()}
        self._assumed: dict[str, list[str]] = {}
        self._is_open = self._are_watched = False

    def learn(self, site: Site, gang: str, found: Found) -> None:
        """Know a gang that looks for a place.

        Raises:
            InputError: a quantity is none.
        """
        needs = {each.name: site.asks.needs(each.request) for each in found.sets}
        is_choosy = any(map(Needs.is_choosy, needs.values())) or any(
            site.asks.needs(each.pod).is_choosy() for each in _odd(found)
        )
        self._known[gang] = _Bound(site, found, needs, is_choosy)
        self._kinds[site.name].put(gang, needs)

    def hints(self, gang: str) -> dict[str, Topology]:
        """Pod set -> the topology that the rules among its pods amount to."""
        bound = self._known.get(gang)
        if bound is None or not bound.is_choosy:
            return {}
        site, counts = bound.site, {each.name: each.count for each in bound.found.sets}
        found = {}
        for name, needs in bound.needs.items():
            levels = site.places.levels_among(_keys(needs))
            found[name] = levels_of(needs, counts[name], site.crowd, site.fleet, levels)
        return found

    def unlearn(self, gang: str) -> None:
        """Forget a gang."""
        bound = self._known.pop(gang, None)
        if bound:
            self._kinds[bound.site.name].drop(gang)

    def renew(self, site: Site, looks: Callable[[str], bool]) -> set[str]:
        """Find out anew which nodes are closed to whom.

        Args:
            site: in which cluster.
            looks: whether a gang still looks for a place.

        Returns:
            Gangs to which other nodes are closed than before.
        """
        return self._kinds[site.name].renew(looks)

    def mark(self, site: Site, gang: str, pod_set: str) -> str:
        """The mark of the nodes that are closed to pods of a gang; empty = none."""
        return self._kinds[site.name].mark(gang, pod_set)

    def closed(self, site: Site) -> dict[str, frozenset[str]]:
        """Node -> marks of the sets of closed nodes that it is in."""
        return self._kinds[site.name].closed()

    def open(self) -> None:
        """A cycle begins: what is permitted now counts for whatever is asked next."""
        self._is_open = True
        self._are_watched = any(each.ask_about_pods() for each in self._kinds.values())

    def settle(self, plan: Plan) -> None:
        """A cycle is over: who was permitted but did not start holds nothing."""
        self._is_open = False
        started = {each.gang.id for each in plan.starts}
        for gang, uids in self._assumed.items():
            bound = self._known.get(gang)
            if bound is None:
                continue
            for uid in uids:
                if gang not in started or uid not in bound.site.pods:
                    bound.site.reconsider(uid)
        self._assumed = {}

    def permit(self, gang: Gang, placement: Placement, now: int) -> Reason | None:
        """None to let a gang start there, or what stands in its way."""
        del now
        bound = self._known.get(gang.id)
        if bound is None:
            return None
        is_minded = bound.is_choosy or bound.site.crowd.guards.is_needed()
        if not is_minded and not self._are_watched:
            return None
        members, site = _seated(bound, placement), bound.site
        trouble = check(members, site.crowd, site.fleet) if is_minded else None
        if trouble:
            node, why = trouble
            return Reason(Token.CONSTRAINT, f"node {node}: {why}")
        if self._is_open:
            for pod, node in members:
                site.crowd.put(pod, node)
            self._assumed[gang.id] = [pod.metadata.uid for pod, _ in members]
        return None


def _keys(needs: Needs) -> set[str]:
    """The node labels that rules among pods are about."""
    terms = {each.key for each in (*needs.near, *needs.apart)}
    return terms | {each.among.key for each in needs.spreads}


def _odd(found: Found) -> Iterator[Member]:
    """Members that are not like what stands for their set."""
    shapes = {each.name: each.request.spec for each in found.sets}
    return (each for each in found.members if each.pod.spec != shapes[each.pod_set])


def _seated(bound: _Bound, placement: Placement) -> Sequence[tuple[Pod, str]]:
    """Every pod of a gang with its node; one that is yet to be made stands like its equals."""
    living: dict[str, list[Pod]] = {}
    for member in bound.found.members:
        living.setdefault(member.pod_set, []).append(member.pod)
    found = []
    for number, place in enumerate(placement.pods):
        pods = living.get(place.pod_set)
        pod = pods.pop(0) if pods else _nameless(bound, place.pod_set, number)
        found.append((pod, place.node.removeprefix(bound.site.prefix)))
    return found


def _nameless(bound: _Bound, pod_set: str, number: int) -> Pod:
    """A pod that is yet to be made: it mounts what all mount, not what another has for itself."""
    pod = next(each.request for each in bound.found.sets if each.name == pod_set)
    living = [each.pod for each in bound.found.members if each.pod_set == pod_set]
    volumes = pod.spec.volumes if len(living) != 1 else ()
    volumes = tuple(v for v in volumes if all(v in each.spec.volumes for each in living))
    return replace(
        pod,
        metadata=replace(pod.metadata, uid=f"{bound.found.key} {number}"),
        spec=replace(pod.spec, volumes=volumes),
    )
