"""Which nodes a gang's pods may use, by the rules of Kubernetes, as plugins of the engine."""

from collections.abc import Mapping

from msgspec.structs import replace

from ganglion.engine.plugins import Plugins
from ganglion.model.errors import InputError
from ganglion.model.plan import Phase, Plan
from ganglion.model.workload import Gang, Topology
from ganglion.worlds.kubernetes.act.budgets import Spent, counted, guarding
from ganglion.worlds.kubernetes.brain.dynamic import Dynamic
from ganglion.worlds.kubernetes.brain.scene import Scene
from ganglion.worlds.kubernetes.brain.site import Site
from ganglion.worlds.kubernetes.filters.labels import Mentioned, mentioned_by
from ganglion.worlds.kubernetes.filters.plugin import KubernetesFilter
from ganglion.worlds.kubernetes.filters.rule import Rule, rule_of, with_bars
from ganglion.worlds.kubernetes.filters.unsupported import unsupported
from ganglion.worlds.kubernetes.filters.volumes import mounts_of
from ganglion.worlds.kubernetes.gangs.found import Found, FoundSet


class Judge:
    """Knows the rules of every gang that waits or runs.

    Args:
        sites: the clusters.
    """

    def __init__(self, sites: Mapping[str, Site]) -> None:
        self._sites = sites
        self._filter = KubernetesFilter()
        self._sets: dict[str, tuple[str, ...]] = {}
        self._founds: dict[str, tuple[Site, Found]] = {}
        self._dynamic = Dynamic()
        self._mentioned: dict[str, Mentioned] = {name: Mentioned() for name in sites}
        self._changed: set[str] = set()
        self._stocks: dict[str, int] = {}
        self._fresh: dict[str, list[Rule]] = {name: [] for name in sites}

    def plugins(self, others: Plugins) -> Plugins:
        """Those of the policy, with those of Kubernetes."""
        return replace(
            others,
            filters=(self._filter, *others.filters),
            permits=(self._dynamic, *others.permits),
            preempts=(Budgets(self._founds), *others.preempts),
        )

    def learn(self, site: Site, gang: str, found: Found) -> None:
        """Know the rules of a gang.

        Raises:
            InputError: its pods ask for something that cannot be honoured.
        """
        for each in found.sets:
            why = unsupported(each.request)
            if why:
                raise InputError(why)
        self._founds[gang] = (site, found)
        bars = self._dynamic.learn(site, gang, found)
        for each in found.sets:
            rule, mark = _rule(site, found, each), bars.get(each.name)
            self._set(site, gang, each.name, with_bars(rule, (mark,)) if mark else rule)
        self._sets[gang] = tuple(each.name for each in found.sets)

    def hints(self, gang: str) -> dict[str, Topology]:
        """Pod set -> the topology that the rules among its pods amount to."""
        return self._dynamic.hints(gang)

    def unlearn(self, gang: str) -> None:
        """Forget a gang."""
        self._founds.pop(gang, None)
        self._dynamic.unlearn(gang)
        for name in self._sets.pop(gang, ()):
            self._filter.rules.pop((gang, name), None)

    def refresh(self, scene: Scene) -> None:
        """Have nodes described so that all rules can be answered as things are now."""
        self._dynamic.begin()
        for gang in self._dynamic.knows():
            record = scene.record(gang)
            if record and record.phase is Phase.PENDING:
                self._rebar(gang)
        changed, self._changed = self._changed, set()
        for gang in sorted(changed):
            record = scene.record(gang)
            if record and record.phase is Phase.PENDING:
                scene.state.reshape(record)
        for name, site in self._sites.items():
            self._stocks[name] = site.volumes.version
            site.bar(self._dynamic.closed(site))
            fresh, self._fresh[name] = self._fresh[name], []
            if fresh and not site.mentioned.covers(mentioned_by(fresh)):
                site.mention(mentioned_by(self._filter.rules.values()))

    def open(self) -> None:
        """A cycle begins."""
        self._dynamic.open()

    def settle(self, plan: Plan) -> None:
        """A cycle is over: what was permitted in it is certain, or void."""
        self._dynamic.settle(plan)

    def _rebar(self, gang: str) -> None:
        """Close those nodes to a gang that others, or its volumes, keep it from now."""
        site, found = self._founds[gang]
        bars = self._dynamic.bars(gang)
        is_restocked = self._stocks.get(site.name) != site.volumes.version
        for each in found.sets:
            known = self._filter.rules[gang, each.name]
            rule = _rule(site, found, each) if is_restocked else known
            mark = bars.get(each.name)
            self._set(site, gang, each.name, with_bars(rule, (mark,) if mark else ()))

    def _set(self, site: Site, gang: str, pod_set: str, rule: Rule) -> None:
        before = self._filter.rules.get((gang, pod_set))
        if before == rule:
            return
        if before is not None:
            self._changed.add(gang)
        self._filter.rules[gang, pod_set] = rule
        self._fresh[site.name].append(rule)


def _rule(site: Site, found: Found, each: FoundSet) -> Rule:
    """The rule of a pod set.

    Where volumes of its own pin each pod elsewhere there is no one rule that says so: the pins
    are left to what is checked before a start.
    """
    rule = rule_of(each.request, site.volumes)
    if not any(mounts_of(each.request)):
        return rule
    members = (m.pod for m in found.members if m.pod_set == each.name)
    rules = {rule, *(rule_of(pod, site.volumes) for pod in members)}
    if len(rules) == 1:
        return rule
    unmounted = replace(each.request, spec=replace(each.request.spec, volumes=()))
    why = min((one.impossible for one in rules if one.impossible), default="")
    return replace(rule_of(unmounted, site.volumes), impossible=why)


class Budgets:
    """A veto on victims that a disruption budget protects, or that may not be stopped for them."""

    name = "kubernetes-budgets"

    def __init__(self, founds: Mapping[str, tuple[Site, Found]]) -> None:
        self._founds = founds

    def may_stop(self, victim: Gang, favoured: Gang, now: int) -> bool:
        """Whether the budgets of the victim's pods allow it, and the favoured gang may ask."""
        del now
        asker = self._founds.get(favoured.id)
        if asker and not asker[1].preempts:
            return False
        known = self._founds.get(victim.id)
        return known is None or self._allowed(*known)

    def _allowed(self, site: Site, found: Found) -> bool:
        budgets = site.budgets.get(found.namespace, {})
        if not budgets:
            return True
        spent = Spent()
        for member in found.members:
            for budget in guarding(member.pod, tuple(budgets.values())):
                if counted(member.pod, budget):
                    if spent.left(budget) < 1:
                        return False
                    spent.take([budget])
        return True
