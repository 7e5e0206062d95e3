"""Feasibility by the rules of Kubernetes, in the order of a turn of the controller."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from ganglion.engine.plugins.protocols import Plugins
from ganglion.model.plan import Plan
from ganglion.model.workload import Topology
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.controller_state.describing import describe_nodes
from ganglion.worlds.kubernetes.feasibility.labels import Mentioned
from ganglion.worlds.kubernetes.feasibility_plugin.gang_rules import GangRules
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang


class FeasibilityPlugin:
    """Which nodes pods may use; what does not depend on the stage of a turn.

    Args:
        sites: the clusters.
    """

    def __init__(self, sites: Mapping[str, ClusterView]) -> None:
        self._rules = GangRules(sites)
        self._present: FeasibilityTurn | None = None

    def plugins(self, others: Plugins) -> Plugins:
        """Those of the policy, with those of Kubernetes."""
        return self._rules.plugins(others)

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
        return self._rules.divided(site, gang, found, is_fixed=is_fixed)

    def unlearn(self, gang: str) -> None:
        """Forget a gang."""
        self._rules.unlearn(gang)

    def refresh(
        self, scene: ControllerState, newcomers: ControllerState | None, now: int
    ) -> "FeasibilityTurn":
        """Begin a turn: find out which nodes are closed to which pods now, and describe them.

        Args:
            scene: everything that is known.
            newcomers: the part that shows clusters which take part for the first time.
            now: the time in ms.

        Returns:
            The turn; the one before is over.
        """
        if newcomers:
            self._rules.count(newcomers)
        self._rules.refresh(scene, now)
        describe_nodes(scene, now)
        self._present = FeasibilityTurn(self, self._rules, scene, now)
        return self._present

    @contextmanager
    def tried(
        self, scene: ControllerState, site: ClusterView, gang: str, found: FoundGang, now: int
    ) -> Iterator["TriedGang"]:
        """Know the rules of a gang that is not there, between turns; they are forgotten then.

        Args:
            scene: everything that is known.
            site: the cluster that it would be in.
            gang: id that it would have.
            found: the gang.
            now: the time in ms.

        Raises:
            InputError: its pods ask for something that cannot be honoured.
        """
        rules, turn = self._rules, FeasibilityTurn(self, self._rules, scene, now)
        with rules.trying(site, gang):
            divided = rules.divided(site, gang, found, is_fixed=False)
            rules.learn(site, gang, divided)
            rules.close(scene, site, gang)
            yield TriedGang(turn, divided, rules.mentioned(site), rules.closed(scene, site))

    def close(self, turn: "FeasibilityTurn") -> None:
        """End a turn. Raises RuntimeError if it is over already."""
        if self._present is not turn:
            raise RuntimeError("this turn of the controller is over: nothing is decided in it")
        self._present = None


class FeasibilityTurn:
    """What may be asked and decided once closed nodes are known: only `refresh` makes it.

    So no rule is learnt before closed nodes are known, and no cycle runs before nodes are
    described for the rules learnt last, or without what it permitted being settled.

    Args:
        plugin: what began the turn.
        rules: of all gangs.
        scene: everything that is known.
        now: the time in ms.

    Attributes:
        plugin: what does not depend on the stage of a turn.
    """

    def __init__(
        self, plugin: FeasibilityPlugin, rules: GangRules, scene: ControllerState, now: int
    ) -> None:
        self.plugin = plugin
        self._rules, self._scene, self._now = rules, scene, now

    def learn(self, site: ClusterView, gang: str, found: FoundGang) -> None:
        """Know the rules of a gang.

        Raises:
            InputError: its pods ask for something that cannot be honoured.
        """
        self._rules.learn(site, gang, found)

    def hints(self, gang: str) -> dict[str, Topology]:
        """Pod set -> the topology that the rules among its pods amount to."""
        return self._rules.hints(gang)

    def decide(self, cycle: Callable[[], Plan]) -> Plan:
        """Run the cycle of the turn on nodes described for all rules, and end the turn.

        Raises:
            RuntimeError: the turn is over.
        """
        self.plugin.close(self)
        self._rules.describe(self._scene)
        describe_nodes(self._scene, self._now)
        self._rules.open()
        plan = cycle()
        self._rules.settle(self._scene, plan)
        return plan


class TriedGang(NamedTuple):
    """A gang that is not there, as long as its rules are known.

    Attributes:
        turn: answers about it; nothing can be decided in it.
        found: the gang, in pod sets of one rule each.
        mentioned: what nodes have to be described with.
        barred: node -> marks of the sets of closed nodes that it is in.
    """

    turn: FeasibilityTurn
    found: FoundGang
    mentioned: Mentioned
    barred: dict[str, frozenset[str]]
