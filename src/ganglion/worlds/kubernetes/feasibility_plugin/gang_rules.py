"""Which nodes a gang's pods may use: the rules of every gang that waits or runs."""

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

from msgspec.structs import replace

from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.store.queue_rules import reshape, shapes_for
from ganglion.model.errors import InputError
from ganglion.model.plan import Phase, Plan
from ganglion.model.workload import Topology
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.feasibility.labels import Mentioned, bears_cordons, mentioned_by
from ganglion.worlds.kubernetes.feasibility.plugin import KubernetesFilter
from ganglion.worlds.kubernetes.feasibility.reading import needs_of
from ganglion.worlds.kubernetes.feasibility.rule import PodRule, rule_of, shared, with_bars
from ganglion.worlds.kubernetes.feasibility.unsupported import unsupported
from ganglion.worlds.kubernetes.feasibility_plugin.avoidance import Avoidance
from ganglion.worlds.kubernetes.feasibility_plugin.budgets import Budgets
from ganglion.worlds.kubernetes.feasibility_plugin.divide import Divisions
from ganglion.worlds.kubernetes.feasibility_plugin.dynamic import Dynamic
from ganglion.worlds.kubernetes.gpu_resources import is_counted
from ganglion.worlds.kubernetes.requests import Ask
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang, FoundSet


class GangRules:
    """The rules of every gang that waits or runs.

    `FeasibilityPlugin` calls what depends on the stage of a turn, in its order.

    Args:
        sites: the clusters.
    """

    def __init__(self, sites: Mapping[str, ClusterView]) -> None:
        self._sites = sites
        self._filter = KubernetesFilter()
        self._sets: dict[str, tuple[str, ...]] = {}
        self._founds: dict[str, tuple[ClusterView, FoundGang]] = {}
        self._dynamic, self._avoidance = Dynamic(sites), Avoidance()
        self._budgets = Budgets(self._founds, self._may_ask)
        self._divisions = Divisions()
        self._claimants: dict[str, None] = {}
        self._changed: set[str] = set()
        self._stocks: dict[str, int] = {}
        self._fresh: dict[str, list[PodRule]] = {name: [] for name in sites}
        self._counted: dict[str, frozenset[str]] = {name: frozenset() for name in sites}

    def plugins(self, others: Plugins) -> Plugins:
        """Those of the policy, with those of Kubernetes."""
        return replace(
            others,
            filters=(self._filter, *others.filters),
            permits=(self._dynamic, *others.permits),
            preempts=(self._budgets, *others.preempts),
        )

    def learn(self, site: ClusterView, gang: str, found: FoundGang) -> None:
        """Know the rules of a gang.

        Raises:
            InputError: its pods ask for something that cannot be honoured.
        """
        for each in found.sets:
            ask = site.asks.of(each.request)
            why = unsupported(each.request, ask)
            if why:
                raise InputError(why)
            self._count(site, ask)
        self._founds[gang] = (site, found)
        self._dynamic.learn(site, gang, found)
        self._claimants.pop(gang, None)
        if any(each.pod.spec.volumes for each in found.members):
            self._claimants[gang] = None
        for name in self._sets.pop(gang, ()):
            if all(each.name != name for each in found.sets):
                self._filter.rules.pop((gang, name), None)
        self._sets[gang] = tuple(each.name for each in found.sets)
        self._reread(gang)

    def count(self, scene: ControllerState) -> None:
        """Find out which resources nodes have to be described with for gangs that are there."""
        for gang, found in scene.gangs.founds.items():
            site = scene.site_of(gang)
            for each in found.sets:
                with suppress(InputError):  # `learn` raises it again, for people
                    self._count(site, site.asks.of(each.request))

    def divided(
        self, site: ClusterView, gang: str, found: FoundGang, *, is_fixed: bool
    ) -> FoundGang:
        """A gang of which each pod set has one rule, as far as that can be.

        Args:
            site: its cluster.
            gang: its id.
            found: as it was found.
            is_fixed: whether it has a place, so that its pod sets have to stay what they are.
        """

        def rule(pod: Pod) -> Hashable:
            own = replace(rule_of(pod, site.volumes), impossible="")
            return own, replace(needs_of(pod), labels=(), claims=())

        try:
            return self._divisions.divided(gang, found, rule, is_fixed=is_fixed)
        except InputError:  # the gang's pods get the error as their reason
            return found

    def hints(self, gang: str) -> dict[str, Topology]:
        """Pod set -> the topology that the rules among its pods amount to."""
        return self._dynamic.hints(gang)

    def unlearn(self, gang: str) -> None:
        """Forget a gang."""
        self._founds.pop(gang, None)
        self._claimants.pop(gang, None)
        self._divisions.forget(gang)
        self._dynamic.unlearn(gang)
        for name in self._sets.pop(gang, ()):
            self._filter.rules.pop((gang, name), None)

    @contextmanager
    def trying(self, site: ClusterView, gang: str) -> Iterator[None]:
        """Whatever is learnt meanwhile of a gang that is not there is forgotten afterwards."""
        fresh, counted = [*self._fresh[site.name]], self._counted[site.name]
        try:
            yield
        finally:
            self.unlearn(gang)
            self._changed.discard(gang)
            self._fresh[site.name], self._counted[site.name] = fresh, counted

    def close(self, scene: ControllerState, site: ClusterView, gang: str) -> None:
        """Find out which nodes are closed to a gang."""
        self._dynamic.look(site, gang)
        for each in sorted(self._dynamic.renew(site, partial(_looks, scene))):
            self._rebar(each)

    def mentioned(self, site: ClusterView) -> Mentioned:
        """What all rules name."""
        return mentioned_by(self._filter.rules.values(), self._counted[site.name])

    def closed(self, scene: ControllerState, site: ClusterView) -> dict[str, frozenset[str]]:
        """Node -> marks of the sets of closed nodes that it is in."""
        return self._avoidance.closed(scene, site.name, self._dynamic.closed(site))

    def refresh(self, scene: ControllerState, now: int) -> None:
        """Find out which nodes are closed to which pods now."""
        self._budgets.open(scene)

        def looks(gang: str) -> bool:
            return _looks(scene, gang)

        for gang in self._avoidance.renew(scene, now):
            self._rebar(gang)
        for name, site in scene.sites.items():
            for gang in sorted(self._dynamic.renew(site, looks)):
                self._rebar(gang)
            if self._stocks.get(name) != site.volumes.version:
                self._stocks[name] = site.volumes.version
                self._restocked(scene, site)
            # A protected gang may be a victim now: the engine asks again only if notified.
            scene.state.progress.changed(site.rebudgeted())
        self.describe(scene)

    def describe(self, scene: ControllerState) -> None:
        """Have nodes described so that all rules can be answered, with those learnt just now."""
        changed, self._changed = self._changed, set()
        self._filter.are_worse = any(site.fleet.has_worse() for site in scene.sites.values())
        for gang in sorted(changed):
            record = scene.record(gang)
            if record and record.phase is Phase.PENDING:
                reshape(scene.state, record)
            elif record and _may_grow(record):
                record.shapes = shapes_for(scene.state, record.gang)
        for name, site in scene.sites.items():
            site.bar(self.closed(scene, site))
            fresh, self._fresh[name] = self._fresh[name], []
            counted, rules = self._counted[name], self._filter.rules.values()
            known = site.mentioned.covers(mentioned_by(fresh, counted))
            # Cordoned nodes are closed again once no pod is left that tolerates that.
            if not known or (site.mentioned.cordons and not any(map(bears_cordons, rules))):
                site.mention(mentioned_by(rules, counted))

    def open(self) -> None:
        """A cycle begins."""
        self._dynamic.open()

    def settle(self, scene: ControllerState, plan: Plan) -> None:
        """A cycle is over: what was permitted in it is certain, or void."""
        self._dynamic.settle(plan)
        scene.unsure = self._dynamic.unsure | self._avoidance.settle(scene, plan.at)

    def _may_ask(self, gang: str) -> bool:
        """Whether others may be stopped for a gang: not while it has nodes to go back to."""
        return gang not in self._avoidance.nodes and self._dynamic.may_ask(gang)

    def _count(self, site: ClusterView, ask: Ask) -> None:
        found = {name for name, _ in ask.extras if is_counted(name)}
        if not found <= self._counted[site.name]:
            self._counted[site.name] |= found

    def _restocked(self, scene: ControllerState, site: ClusterView) -> None:
        """Claims or volumes have changed: gangs with claims may go elsewhere, or in other parts."""
        for gang in [each for each in self._claimants if self._founds[each][0] is site]:
            whole = self._divisions.wholes.get(gang)
            if not _looks(scene, gang):
                continue
            if whole and gang in scene.gangs.founds and gang not in scene.attempts.by_gang:
                again = self.divided(site, gang, whole, is_fixed=False)
                if again != scene.gangs.founds[gang]:
                    scene.gangs.founds[gang] = again
                    scene.gangs.touched.add(gang)
                    continue
            self._reread(gang)

    def _reread(self, gang: str) -> None:
        """Know the rules of a gang as its pods and their volumes are now."""
        site, found = self._founds[gang]
        for each in found.sets:
            self._set(site, gang, each.name, _rule(site, found, each))

    def _rebar(self, gang: str) -> None:
        """Close those nodes to a gang that others keep it from now."""
        if gang not in self._founds:
            return
        site, found = self._founds[gang]
        for each in found.sets:
            self._set(site, gang, each.name, self._filter.rules[gang, each.name])

    def _set(self, site: ClusterView, gang: str, pod_set: str, rule: PodRule) -> None:
        mark = self._dynamic.mark(site, gang, pod_set)
        marks = self._avoidance.marks(gang)
        rule = with_bars(rule, (mark, *marks) if mark else marks)
        before = self._filter.rules.get((gang, pod_set))
        if before == rule:
            return
        if before is not None:
            self._changed.add(gang)
        self._filter.rules[gang, pod_set] = rule
        self._fresh[site.name].append(rule)


def _looks(scene: ControllerState, gang: str) -> bool:
    """Whether a gang looks for a place, or may look for more of them."""
    record = scene.record(gang)
    return record is None or record.phase in WAITING or _may_grow(record)


def _may_grow(record: GangRecord) -> bool:
    return record.phase is not Phase.ENDED and any(each.min_count for each in record.gang.pod_sets)


def _rule(site: ClusterView, found: FoundGang, each: FoundSet) -> PodRule:
    """The rule of a pod set: one that suits each of its pods.

    Where volumes pin each pod of a set that could not be divided elsewhere there is no such
    rule: the pins are left to what is checked before a start.
    """
    others = [m.pod for m in found.members if m.pod_set == each.name and m.pod is not each.request]
    pods = [each.request, *(pod for pod in others if pod.spec != each.request.spec)]
    rules = [rule_of(pod, site.volumes) for pod in pods]
    rule = shared(rules)
    if len({one.pins for one in rules}) == 1:
        return rule
    unmounted = (replace(pod, spec=replace(pod.spec, volumes=())) for pod in pods)
    own = shared([rule_of(pod, site.volumes) for pod in unmounted])
    return replace(own, impossible=rule.impossible)
