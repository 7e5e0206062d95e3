"""The default score keeps free GPUs usable."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ganglion.engine.plugins.builtin import SCORES, builtin_score
from ganglion.engine.plugins.protocols import Rows, Typical
from ganglion.engine.plugins.scores.ganglion import POINTS, GanglionScore, copies
from ganglion.engine.plugins.scores.offers import OFFERS, UNIT, Offers
from ganglion.engine.plugins.scores.scarcity import prices
from ganglion.engine.plugins.scores.target import TypicalTarget, before_and_after
from ganglion.model.resources import PodRequest
from tests.engine.plugins.scores.rows import (
    State,
    best,
    meant,
    pod,
    requests,
    rows,
    states,
    typicals,
)

MIXED: Typical = (
    (pod(8, 1), 50),
    (pod(4, 1, 470), 20),
    (pod(4, 1, 530), 20),
    (pod(32, 4), 5),
    (pod(16), 10),
)


def target(state: State, typical: Typical) -> tuple[TypicalTarget, Rows]:
    table = rows(pod(), state)
    return TypicalTarget(typical, table.classes, table.gpu_free.shape[1]), table


def test_a_share_fills_a_device_rather_than_leaving_a_piece() -> None:
    node = State(32, 1000, 600, 470)
    assert best(GanglionScore(), pod(4, 1, 470), node, typical=MIXED) == (0, 2)


def test_a_share_leaves_a_piece_that_another_fills() -> None:
    typical = (*MIXED, (pod(4, 1, 230), 20))
    node = State(32, 1000, 600, 700)
    assert best(GanglionScore(), pod(4, 1, 470), node, typical=typical) == (0, 2)


def test_a_small_pod_leaves_the_whole_node_to_large_ones() -> None:
    whole, broken = State(32, *[1000] * 4), State(32, 1000, 0, 0, 0)
    assert best(GanglionScore(), pod(8, 1), whole, broken, typical=MIXED) == (1, -1)


def test_pods_without_gpus_go_where_no_gpu_needs_the_cpu() -> None:
    tight, ample, taken = State(32, *[1000] * 4), State(64, 1000), State(64, 0, 0)
    assert best(GanglionScore(), pod(16), tight, ample, typical=MIXED) == (1, -1)
    assert best(GanglionScore(), pod(16), tight, taken, typical=MIXED) == (1, -1)


def test_a_pod_that_needs_little_cpu_goes_where_little_is_left() -> None:
    ample, poor = State(32, *[1000] * 4), State(6, *[1000] * 4)
    assert best(GanglionScore(), pod(2, 1), ample, poor, typical=MIXED) == (1, -1)


def test_a_type_that_others_ask_for_by_name_is_spared() -> None:
    typical = ((pod(8, 1), 40), (pod(32, 4), 30), (pod(8, 1, types="RARE"), 30))
    supply = {"USUAL": 90, "RARE": 10}
    rare, usual = State(8, 1000, of="RARE"), State(32, *[1000] * 4, of="USUAL")
    score = GanglionScore()
    assert best(score, pod(8, 1), rare, usual, typical=typical, supply=supply) == (1, -1)
    plenty = {"USUAL": 10, "RARE": 9000}
    assert best(score, pod(8, 1), rare, usual, typical=typical, supply=plenty) == (0, -1)


@pytest.mark.parametrize("typical", [(), ((pod(4), 3),)])
def test_without_typical_gpu_pods_whole_devices_and_nodes_are_spared(typical: Typical) -> None:
    score, broken = GanglionScore(), State(64, 1000, 1000, 0, 0)
    whole = State(64, *[1000] * 4)
    assert best(score, pod(1, 2), whole, broken, typical=typical) == (1, -1)
    assert best(score, pod(1, 1, 100), State(64, 1000, 300, 200), typical=typical) == (0, 2)


def test_without_typical_pods_every_free_gpu_keeps_its_part_of_the_cpu() -> None:
    gpus, none, spare = State(64, *[1000] * 4), State(128), State(64, 1000, 0, 0, 0)
    assert best(GanglionScore(), pod(16), gpus, none) == (1, -1)
    assert best(GanglionScore(), pod(16), gpus, spare) == (1, -1)


def literal(state: State, typical: Typical) -> int:
    """Fill the node with copies of each typical pod, one by one."""
    total = 0
    for request, often in meant(typical, state):
        node = State(0, *state.gpu, of=state.kind)
        node.cpu, node.memory = state.cpu, state.memory
        while request.gpu.count and node.fits(request):
            _, node.gpu = node.ways(request)[0]
            node.cpu -= request.cpu_milli
            node.memory -= request.memory_mib
            total += often * request.gpu.count * request.gpu.milli
    return total


@given(states, typicals)
def test_the_vectorised_copies_equal_filling_the_node_one_by_one(
    state: State, typical: Typical
) -> None:
    made, table = target(state, typical)
    assert copies(made, before_and_after(table))[0] == literal(state, typical)


def worth(state: State, typical: Typical) -> int:
    made, table = target(state, typical)
    offers = Offers(made, table.classes, table.gpu_free.shape[1])
    return int(offers.worth(before_and_after(table))[0])


def test_the_worth_of_a_device_is_what_offers_fill_on_average() -> None:
    typical = ((pod(4, 1, 500), 3), (pod(4, 2), 1))
    half = OFFERS * 3 * UNIT * 500 // (4 + OFFERS * 3)
    assert worth(State(4, 500), typical) == half
    assert worth(State(4, 499), typical) == 0
    assert worth(State(3, 500), typical) == 0
    assert worth(State(4, 1000), typical) == OFFERS * 3 * (UNIT * 500 + half) // (4 + OFFERS * 3)


@given(states, typicals)
def test_a_device_is_worth_no_more_than_what_is_free(state: State, typical: Typical) -> None:
    assert 0 <= worth(state, typical) <= UNIT * sum(state.gpu)


def test_a_price_is_the_load_by_name_over_the_load_of_all() -> None:
    typical = ((pod(1, 1), 60), (pod(1, 1, types="B"), 20), (pod(1, 2, types="B|C|X"), 10))
    made, _ = target(State(1, 1000), typical)
    # 100 devices asked of 50; 20 of the 10 of B, and 20 more of the 20 of B and C
    assert prices(made, {"A": 30, "B": 10, "C": 10}) == {"A": 0, "B": 1500, "C": 500}


@pytest.mark.parametrize("name", sorted(SCORES))
@given(request=requests, nodes=st.lists(states, min_size=1, max_size=4), typical=typicals)
def test_every_row_is_scored_for_itself(
    name: str, request: PodRequest, nodes: list[State], typical: Typical
) -> None:
    """What makes a score cacheable: neither the other rows nor earlier calls matter."""
    nodes = [node for node in nodes if node.fits(request)]
    assume(nodes)
    table, score = rows(request, *nodes), builtin_score(name)
    together = score.score(request, table, typical, 0)
    assert together.dtype == np.int64
    assert together.shape == table.device.shape
    for row in range(len(together)):
        # As many columns as it has, which is no number for a type checker.
        alone = table.__class__(  # type: ignore[call-arg]
            table.classes,
            *(getattr(table, each)[row : row + 1] for each in COLUMNS),
            table.supply,
        )
        assert builtin_score(name).score(request, alone, typical, 0) == together[row]


COLUMNS = [name for name in Rows.__struct_fields__ if name not in ("classes", "supply")]


def test_using_a_piece_that_few_can_use_is_a_gain() -> None:
    request, piece, whole = pod(4, 1, 470), State(4, 470), State(8, 1000)
    few = ((pod(8, 1), 99), (request, 1))
    on_piece = GanglionScore().score(request, rows(request, piece), few, 0)[0]
    assert on_piece > POINTS > 0 > GanglionScore().score(request, rows(request, whole), few, 0)[0]
