"""Rules that depend on what else runs: they close nodes to pods and may forbid a start."""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.model.placement import Placement
from ganglion.model.plan import Plan
from ganglion.model.reasons import Reason, Token
from ganglion.model.workload import Gang, Topology
from ganglion.worlds.kubernetes.brain.site import Site
from ganglion.worlds.kubernetes.filters.barred import bar_id, barred
from ganglion.worlds.kubernetes.filters.check import check
from ganglion.worlds.kubernetes.filters.levels import levels_of
from ganglion.worlds.kubernetes.filters.needs import Needs
from ganglion.worlds.kubernetes.filters.reading import needs_of
from ganglion.worlds.kubernetes.gangs.found import Found
from ganglion.worlds.kubernetes.objects.pod import Pod


class _Bound(Struct):
    """A gang whose place depends on others."""

    site: Site
    found: Found
    needs: dict[str, Needs]
    bars: dict[str, str] = field(default_factory=dict)


class Dynamic:
    """Dynamic rules of gangs that have any, as a Permit plugin of the engine."""

    name = "kubernetes-neighbours"

    def __init__(self) -> None:
        self._known: dict[str, _Bound] = {}
        self._closed: dict[str, dict[Needs, tuple[str, frozenset[str]]]] = {}
        self._assumed: dict[str, list[str]] = {}
        self._is_open = False

    def learn(self, site: Site, gang: str, found: Found) -> dict[str, str]:
        """Know a gang; returns pod set -> mark of the nodes that are closed to it.

        Raises:
            InputError: a quantity is none.
        """
        needs = {each.name: _plain(site, needs_of(each.request)) for each in found.sets}
        if not any(map(_is_choosy, needs.values())) and not site.crowd.guards.is_needed():
            self._known.pop(gang, None)
            return {}
        self._known[gang] = _Bound(site, found, needs)
        return self.bars(gang)

    def hints(self, gang: str) -> dict[str, Topology]:
        """Pod set -> the topology that the rules among its pods amount to."""
        bound = self._known.get(gang)
        if bound is None:
            return {}
        site, counts = bound.site, {each.name: each.count for each in bound.found.sets}
        found = {}
        for name, needs in bound.needs.items():
            levels = site.places.levels_among(_keys(needs))
            found[name] = levels_of(needs, counts[name], site.crowd, site.fleet, levels)
        return found

    def unlearn(self, gang: str) -> None:
        """Forget a gang."""
        self._known.pop(gang, None)

    def begin(self) -> None:
        """Another turn: what was close to whom is found out anew when somebody asks."""
        self._closed = {}

    def knows(self) -> list[str]:
        """Gangs with dynamic rules."""
        return list(self._known)

    def bars(self, gang: str) -> dict[str, str]:
        """Pod set -> mark of the nodes that are closed to it now; without those open everywhere."""
        bound = self._known[gang]
        found = {}
        for name, needs in bound.needs.items():
            mark, _ = self._closed_to(bound.site, needs)
            if mark:
                found[name] = mark
        return found

    def closed(self, site: Site) -> dict[str, frozenset[str]]:
        """Node -> marks of the sets of closed nodes that it is in."""
        found: dict[str, set[str]] = {}
        for mark, nodes in self._closed.get(site.name, {}).values():
            for node in nodes:
                found.setdefault(node, set()).add(mark)
        return {node: frozenset(marks) for node, marks in found.items()}

    def open(self) -> None:
        """A cycle begins: what is permitted now counts for whatever is asked next."""
        self._is_open = True

    def settle(self, plan: Plan) -> None:
        """A cycle is over: who was permitted but did not start holds nothing."""
        self._is_open = False
        started = {each.gang.id for each in plan.starts}
        for gang, uids in self._assumed.items():
            bound = self._known.get(gang)
            if bound and gang not in started:
                for uid in uids:
                    bound.site.reconsider(uid)
        self._assumed = {}

    def permit(self, gang: Gang, placement: Placement, now: int) -> Reason | None:
        """None to let a gang start there, or what stands in its way."""
        del now
        bound = self._known.get(gang.id)
        if bound is None:
            return None
        members = _seated(bound, placement)
        site = bound.site
        trouble = check(members, site.crowd, site.fleet)
        if trouble:
            node, why = trouble
            return Reason(Token.CONSTRAINT, f"node {node}: {why}")
        if self._is_open:
            for pod, node in members:
                site.crowd.put(pod, node)
            self._assumed[gang.id] = [pod.metadata.uid for pod, _ in members]
        return None

    def _closed_to(self, site: Site, needs: Needs) -> tuple[str, frozenset[str]]:
        known = self._closed.setdefault(site.name, {})
        if needs not in known:
            nodes = frozenset(barred(needs, site.crowd, site.fleet))
            known[needs] = bar_id(nodes), nodes
        return known[needs]


def _plain(site: Site, needs: Needs) -> Needs:
    """Needs without labels where nobody looks at them, so that equal pods are equal."""
    if needs.near or needs.apart or needs.spreads or site.crowd.guards.is_needed():
        return needs
    return replace(needs, labels=())


def _keys(needs: Needs) -> set[str]:
    """The node labels that rules among pods are about."""
    terms = {each.key for each in (*needs.near, *needs.apart)}
    return terms | {each.among.key for each in needs.spreads}


def _is_choosy(needs: Needs) -> bool:
    return bool(
        needs.near or needs.apart or needs.spreads or needs.ports or needs.extras or needs.claims
    )


def _seated(bound: _Bound, placement: Placement) -> Sequence[tuple[Pod, str]]:
    """Every pod of a gang with its node; one that is yet to be made stands like its equals."""
    living: dict[str, list[Pod]] = {}
    for member in bound.found.members:
        living.setdefault(member.pod_set, []).append(member.pod)
    shapes = {each.name: each.request for each in bound.found.sets}
    found = []
    for place in placement.pods:
        pods = living.get(place.pod_set)
        pod = pods.pop(0) if pods else _nameless(shapes[place.pod_set])
        found.append((pod, place.node.removeprefix(bound.site.prefix)))
    return found


def _nameless(pod: Pod) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, uid=""))
