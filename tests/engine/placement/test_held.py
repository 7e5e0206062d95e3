"""What nodes hold of a gang's model decides among equal places, and among nothing else."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.engine.plugins.builtin import builtin_score
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import GangPlaced, NodeAdded
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Node
from ganglion.model.placement import Placement
from ganglion.model.policy import Policy
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Checkpoint, Gang, Kind, ResolvedModel, Topology
from tests.engine.build import GIB, end, gang, node, state_of, submit

DIGEST = "sha256:00"
MODEL = ResolvedModel("hf://org/llama", "hf://org/llama@abc", "abc", DIGEST)
HELD = {DIGEST: 10 * GIB}
SAVED = 80
"""Seconds of it, at 128 MiB in each of them."""


def chat(pods: int = 1, gpus: int = 1, name: str = "chat", **more: object) -> Gang:
    return gang(name, pods, gpus, "team", 0, model=MODEL, **more)


def placed(state: ClusterState, wanted: Gang) -> Placement:
    (start,) = submit(state, wanted).starts
    return start.placement


def nodes_of(place: Placement) -> list[str]:
    return sorted({pod.node for pod in place.pods})


def warm(*names: str, held: dict[str, int] = HELD, **more: object) -> Node:
    return node(*names, holds=held, **more)  # type: ignore[arg-type]


def test_of_equal_nodes_the_one_that_holds_the_model_is_taken_and_the_decision_says_so() -> None:
    state = state_of(node("n1"), warm("n2"), warm("n3", held={DIGEST: 5 * GIB}))
    place = placed(state, chat())
    assert nodes_of(place) == ["n2"]
    (held,) = place.held
    assert str(held) == f"n2 holds hf://org/llama@abc: about {SAVED} s saved"
    record = state.gangs.records["chat/0"]
    assert record.placement == place
    end(state, "chat")
    assert nodes_of(placed(state, gang("other"))) == ["n1"]


def test_images_count_together_with_the_model() -> None:
    held = {"reg.example/serve:1": 12 * GIB}
    state = state_of(warm("n1"), warm("n2", held=held), warm("n3", held=HELD | {"x": 90 * GIB}))
    place = placed(state, chat(images=("reg.example/serve:1",)))
    assert [each.item for each in place.held] == ["reg.example/serve:1"]
    assert nodes_of(place) == ["n2"]


def test_packing_comes_first() -> None:
    state = state_of(node("n1"), warm("n2"))
    submit(state, gang("first", gpus=4))
    assert nodes_of(placed(state, chat(gpus=4))) == ["n1"]


def test_the_tightest_domain_comes_first_and_of_equal_ones_the_warmer() -> None:
    racks = [node(f"n{i}", rack=f"r{i // 2}") for i in range(6)]
    racks[3] = replace(racks[3], holds=HELD)
    assert nodes_of(placed(state_of(*racks), chat(2, 8))) == ["n2", "n3"]
    tight = state_of(*racks[1:])  # one node of rack r0 is left: the tightest for one pod of 8
    assert nodes_of(placed(tight, chat(1, 8))) == ["n3"]
    lone = chat(2, 8, topology=Topology(required=Level.RACK))
    assert nodes_of(placed(state_of(*racks[1:]), lone)) == ["n2", "n3"]
    both = placed(state_of(*racks[:4]), chat(3, 8))
    assert "n3" in nodes_of(both)


def test_pods_that_share_gpus_or_are_of_several_sets_go_where_the_model_is() -> None:
    state = state_of(node("n1"), node("n2"), warm("n3"))
    two = chat().pod_sets[0]
    sets = (replace(two, name="a"), replace(two, name="b", count=2))
    assert nodes_of(placed(state, chat(pod_sets=sets))) == ["n3"]


def test_replicas_stay_apart_before_they_go_where_the_model_is() -> None:
    state = state_of(node("n1"), warm("n2"), node("n3"))
    first = replace(chat(kind=Kind.SERVICE), id="chat/0", workload="chat")
    assert nodes_of(placed(state, first)) == ["n2"]
    assert nodes_of(placed(state, replace(first, id="chat/1", index=1))) == ["n1"]


def test_a_node_that_is_described_anew_holds_what_is_said_then() -> None:
    state = state_of(node("n1"), warm("n2"))
    assert nodes_of(placed(state, chat())) == ["n2"]
    end(state, "chat")
    state.apply(NodeAdded(3, node("n2")))
    state.apply(NodeAdded(3, warm("n1")))
    assert nodes_of(placed(state, chat(name="again"))) == ["n1"]


def test_what_a_node_holds_breaks_no_promise_and_has_nothing_searched_for_again() -> None:
    state = state_of(node("n1"))
    submit(state, gang("old", gpus=8, checkpoint=Checkpoint(grace_ms=1_000)))
    submit(state, gang("new", gpus=8, priority=90), now=2)
    record = state.gangs.records["new/0"]
    assert record.promise
    searched = state.progress.freed
    state.apply(NodeAdded(3, warm("n1")))
    assert (record.promise is not None, state.progress.freed) == (True, searched)
    state.apply(NodeAdded(4, warm("n1", cpu_milli=1)))
    assert record.promise is None


def test_less_than_a_second_counts_nothing_and_a_policy_can_switch_it_off() -> None:
    nodes = node("n1"), warm("n2", held={DIGEST: 127})
    place = placed(state_of(*nodes), chat())
    assert (nodes_of(place), place.held) == (["n1"], ())
    off = state_of(node("n1"), warm("n2"), policy=Policy(fetch_per_second_mib=0))
    place = placed(off, chat())
    assert (nodes_of(place), place.held) == (["n1"], ())


def test_a_score_that_differs_comes_first() -> None:
    plugins = Plugins(scores=((builtin_score("spread"), 1),))
    state = state_of(node("n1"), warm("n2"), warm("n3"), plugins=plugins)
    submit(state, chat(name="a"), chat(name="b"))
    assert nodes_of(placed(state, chat(name="c"))) == ["n1"]


@given(
    st.lists(st.tuples(st.sampled_from([4, 8]), st.integers(0, 2), st.integers(0, 60)), max_size=7),
    st.tuples(st.integers(1, 3), st.sampled_from([1, 2, 4, 8])),
)
def test_what_nodes_hold_changes_neither_who_starts_nor_how_well_gangs_are_placed(
    fleet: list[tuple[int, int, int]], wanted: tuple[int, int]
) -> None:
    def first(held: bool) -> tuple[ClusterState, list[str], Placement | None]:
        nodes = [
            node(f"n{i}", gpus, rack=f"r{rack}", holds={DIGEST: mib * GIB} if held and mib else {})
            for i, (gpus, rack, mib) in enumerate(fleet)
        ]
        state = state_of(*nodes)
        plan = submit(state, chat(*wanted))
        events = [each for each in plan.decisions if isinstance(each, GangPlaced)]
        return state, [each.gang for each in events], plan.starts[0].placement if events else None

    cold, who, plain = first(False)
    state, also, place = first(True)
    assert who == also
    if plain and place:
        assert plain.level == place.level
        assert _left(cold, plain, wanted[1]) == _left(state, place, wanted[1])
        if len(place.pods) == 1:
            _no_equal_node_saves_more(fleet, plain, place)


def _left(state: ClusterState, place: Placement, gpus: int) -> list[tuple[int, ...]]:
    """What is free, whatever nodes and racks are called: by node, or pods that racks have room for.

    On one node a place is as good as its score; on several, as tight as its domains.
    """
    tree = state.fleet.tree
    free = [tree.table.known[each].gpu for each in tree.conditions]
    if place.level is Level.NODE:
        return sorted(free)
    racks = Counter[str]()
    for each, left in zip(tree.nodes, free, strict=True):
        racks[each.domains[Level.RACK]] += left.count(WHOLE) // gpus
    return sorted((room,) for room in racks.values())


def _no_equal_node_saves_more(
    fleet: list[tuple[int, int, int]], plain: Placement, place: Placement
) -> None:
    at, usual = int(place.pods[0].node[1:]), int(plain.pods[0].node[1:])
    assert fleet[at][0] == fleet[usual][0]
    assert fleet[at][2] == max(mib for gpus, _, mib in fleet if gpus == fleet[at][0])
