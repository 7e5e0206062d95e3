"""FGD: the published measure of fragmentation and its gradient."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ganglion.engine.plugins.protocols import Typical
from ganglion.engine.plugins.scores.fgd import LEVELS, FgdScore, fragments
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

NOTHING = pod()


def fragment(state: State, typical: Typical) -> int:
    table = rows(NOTHING, state)
    target = TypicalTarget(typical, table.classes, table.gpu_free.shape[1])
    return int(fragments(target, before_and_after(table))[0])


def literal(state: State, typical: Typical) -> int:
    """The definition, pod by pod and device by device."""
    total = 0
    for request, often in meant(typical, state):
        if not request.gpu.count or not state.fits(request):
            total += often * sum(state.gpu)
        else:
            total += often * sum(free for free in state.gpu if free < request.gpu.milli)
    return total


def test_what_a_typical_pod_cannot_use_is_fragment() -> None:
    half, whole = pod(4, 1, 470), pod(16, 1)
    node = State(16, 1000, 470)
    assert fragment(node, ((half, 3),)) == 0
    assert fragment(node, ((whole, 1),)) == 470
    assert fragment(node, ((half, 3), (whole, 1))) == 470


def test_without_cpu_for_it_everything_is_fragment() -> None:
    assert fragment(State(15, 1000, 470), ((pod(16, 1), 2),)) == 2 * 1470


def test_on_the_wrong_type_everything_is_fragment() -> None:
    assert fragment(State(16, 1000, of="A"), ((pod(1, 1, types="B|C"), 1),)) == 1000


def test_too_few_devices_leave_nothing_usable() -> None:
    node = State(16, 1000, 1000, 500)
    assert fragment(node, ((pod(1, 2), 1),)) == 500
    assert fragment(node, ((pod(1, 4), 1),)) == 2500


def test_to_a_pod_without_gpus_everything_is_fragment() -> None:
    assert fragment(State(16, 1000), ((pod(1, 1), 3), (pod(1), 2))) == 2 * 1000


@given(states, typicals)
def test_the_vectorised_measure_equals_the_definition(state: State, typical: Typical) -> None:
    assert fragment(state, typical) == literal(state, typical)


@given(requests, states, typicals)
def test_the_score_is_the_rounded_sigmoid_of_what_is_mended(
    request: PodRequest, state: State, typical: Typical
) -> None:
    assume(state.fits(request))
    table = rows(request, state)
    scores = FgdScore().score(request, table, typical, 0)
    total = sum(often for _, often in meant(typical, state))
    for row, score in enumerate(scores.tolist()):
        after = State(0, *table.gpu_after[row, : len(state.gpu)].tolist(), of=state.kind)
        after.size, after.cpu = state.size, int(table.cpu_after[row])
        after.memory = int(table.memory_after[row])
        mended = (literal(state, typical) - literal(after, typical)) / (1000 * total)
        assume(np.abs(LEVELS / 1e6 - mended).min() > 1e-6 or mended == 0)
        assert score == int(100 / (1 + math.exp(-mended)))


@given(st.integers(1, 99))
def test_the_levels_are_where_the_sigmoid_crosses_whole_numbers(level: int) -> None:
    assert LEVELS[level - 1] == round(1e6 * math.log(level / (100 - level)))


def test_a_share_goes_where_it_breaks_no_whole_device() -> None:
    typical = ((pod(1, 1), 5), (pod(1, 1, 470), 1))
    score = FgdScore()
    assert best(score, pod(1, 1, 470), State(9, 1000, 530), typical=typical) == (0, 1)


@pytest.mark.parametrize("typical", [(), ((pod(4), 3),)])
def test_without_typical_gpu_pods_whole_nodes_are_spared(typical: Typical) -> None:
    empty, broken = State(64, 1000, 1000, 1000, 1000), State(64, 1000, 0, 0, 0)
    assert best(FgdScore(), pod(1, 1), empty, broken, typical=typical) == (1, -1)
