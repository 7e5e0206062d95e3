"""Nodes in the order in which pods prefer them, by what a plugin says of nodes."""

from collections.abc import Hashable, Sequence

from ganglion.engine.placement.preferences import STEPS, best_first, by_rank, steps
from ganglion.engine.plugins.builtin import builtin_plugins
from ganglion.engine.plugins.protocols import NodeClass, Plugins, Rank
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.policy import Policy
from ganglion.model.workload import Gang, PodSet
from tests.engine.build import gang, node, started, state_of, submit, where


class ByLabel:
    """Pods of all queues prefer nodes by the number in a label."""

    name = "by-label"

    def __init__(self, *, prefers: bool = True) -> None:
        self.is_asked, self.ranked = prefers, 0

    def key(self, gang: Gang, pod_set: PodSet) -> Hashable:
        return gang.queue

    def allows(self, key: Hashable, node: NodeClass) -> bool:
        return True

    def prefers(self, key: Hashable) -> bool:
        return self.is_asked

    def rank(self, key: Hashable, node: NodeClass) -> Rank:
        self.ranked += 1
        return (int(dict(node.labels)["rank"]),)

    def points(self, ranks: Sequence[Rank]) -> Sequence[int]:
        return [rank[0] // 2 for rank in ranks]


def fleet(*ranks: int, plugin: ByLabel | None = None, racks: str = "") -> ClusterState:
    """Nodes n0, n1, ... with these ranks, in racks named by a letter each."""
    policy = Policy()
    built = builtin_plugins(policy)
    plugins = Plugins(built.scores, (plugin or ByLabel(),), built.permits, built.preempts)
    nodes = (
        node(f"n{at}", labels={"rank": str(rank)}, rack=racks[at] if racks else "")
        for at, rank in enumerate(ranks)
    )
    return state_of(*nodes, policy=policy, plugins=plugins)


def test_a_pod_goes_to_the_node_that_is_worth_most() -> None:
    assert where(submit(fleet(0, 2, 8, 4), gang("a")), "a") == ["n2"]


def test_a_pod_takes_the_next_best_node_when_the_best_is_full() -> None:
    state = fleet(0, 2, 8)
    plans = [submit(state, gang(name, gpus=8)) for name in "abc"]
    placed = [where(plan, name) for plan, name in zip(plans, "abc", strict=True)]
    assert placed == [["n2"], ["n1"], ["n0"]]


def test_of_nodes_that_are_worth_the_same_the_fullest_is_taken() -> None:
    for ranks in ((2, 3), (3, 2)):
        state = fleet(*ranks)
        assert where(submit(state, gang("a")), "a") == where(submit(state, gang("b")), "b")


def test_a_gang_keeps_to_the_best_nodes_that_hold_all_of_it() -> None:
    plan = submit(fleet(0, 8, 4, 4, 0), gang("a", pods=3, gpus=8))
    assert sorted(where(plan, "a")) == ["n1", "n2", "n3"]


def test_a_gang_is_brought_together_among_the_nodes_that_it_prefers() -> None:
    plan = submit(fleet(0, 0, 4, 4, 4, racks="xxyzz"), gang("a", pods=2, gpus=8))
    assert sorted(where(plan, "a")) == ["n3", "n4"]


def test_a_gang_that_needs_every_node_starts() -> None:
    ranks = tuple(2 * each for each in range(STEPS + 4))
    plan = submit(fleet(*ranks), gang("a", pods=len(ranks), gpus=8))
    assert started(plan) == ["a"]


def test_an_elastic_gang_is_not_made_smaller() -> None:
    plan = submit(fleet(0, 8), gang("a", pods=2, gpus=8, pod={"min_count": 1}))
    assert sorted(where(plan, "a")) == ["n0", "n1"]


def test_steps_grow_and_leave_out_the_last() -> None:
    state = fleet(0, 2, 8, 9)
    submit(state, gang("a"))
    (shape,) = state.gangs.records["a/0"].shapes
    found = [[each.ranks for each in step] for step in steps(state.fleet.indexes, [shape])]
    assert found == [[((8,), (9,))], [((8,), (9,), (2,))]]
    assert best_first(state.fleet.table, shape, [(0,), (9,), (8,)]) == [((9,), (8,)), ((0,),)]


def test_a_plugin_by_which_nothing_is_preferred_is_never_asked_for_ranks() -> None:
    plugin = ByLabel(prefers=False)
    state = fleet(0, 8, plugin=plugin)
    submit(state, gang("a"), gang("b", pods=2))
    (shape,) = state.gangs.records["a/0"].shapes
    assert by_rank(state.fleet.table, shape) == {}
    assert plugin.ranked == 0
