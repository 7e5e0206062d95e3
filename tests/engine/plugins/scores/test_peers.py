"""The simple published scores."""

from collections import Counter

import numpy as np
import pytest

from ganglion.engine.plugins.scores.bestfit import BestFitScore, fit
from ganglion.engine.plugins.scores.binpack import BinpackScore
from ganglion.engine.plugins.scores.packing import PackingScore
from ganglion.engine.plugins.scores.random import RandomScore
from ganglion.engine.plugins.scores.spread import SpreadScore
from tests.engine.plugins.scores.rows import State, best, pod, rows


def test_best_fit_counts_cpu_and_gpu_by_half_of_the_largest_node() -> None:
    full, half = State(0, 0, 0), State(64, *[500] * 8)
    untouched = State(128, *[1000] * 8)
    assert fit(rows(pod(), full, half, untouched)).tolist() == [100, 50, 0]


def test_best_fit_rounds_down() -> None:
    assert fit(rows(pod(), State(2, 0), State(3, 0))).tolist() == [99, 98]


def test_best_fit_takes_the_fullest_node_then_the_tightest_device() -> None:
    nodes = State(8, 1000, 1000), State(8, 1000, 600, 500)
    assert best(BestFitScore(), pod(1, 1, 500), nodes[1]) == (0, 2)
    assert best(BestFitScore(), pod(1, 1), State(64, 1000, 1000), State(8, 1000)) == (1, -1)


def packing(request_gpus: int, milli: int, *nodes: State) -> list[int]:
    request = pod(1, request_gpus, milli)
    return PackingScore().score(request, rows(request, *nodes), (), 0).tolist()


def test_packing_prefers_devices_in_use_then_nodes_in_use_then_small_nodes() -> None:
    assert packing(1, 200, State(9, 300, 1000)) == [97, 49]
    assert packing(1, 200, State(9, 1000, 1000)) == [31, 31]
    assert packing(2, 1000, State(9, 0, 1000, 1000), State(9, *[1000] * 4)) == [48, 29]


def test_packing_does_not_mind_where_pods_without_gpus_go() -> None:
    assert packing(0, 1000, State(9, 1000), State(9, 0)) == [0, 0]


def test_spread_takes_the_emptiest_node_then_the_emptiest_device() -> None:
    score = SpreadScore()
    assert best(score, pod(1, 1), State(9, 0, 1000), State(9, 0, 1000, 1000, 1000)) == (1, -1)
    assert best(score, pod(1, 1, 200), State(9, 300, 900)) == (0, 1)
    assert best(score, pod(2), State(8, 0, size=16), State(6, 0, size=8)) == (1, -1)


def test_binpack_takes_shared_devices_then_the_fullest_node_then_the_fullest_device() -> None:
    score = BinpackScore()
    assert best(score, pod(1, 1, 200), State(9, 1000), State(9, 900, 1000, 1000)) == (1, 0)
    assert best(score, pod(1, 1), State(9, 1000, 1000, 1000), State(9, 0, 1000, 1000)) == (1, -1)
    assert best(score, pod(1, 1, 200), State(9, 500, 300)) == (0, 1)
    assert best(score, pod(2), State(4, 1000), State(8)) == (1, -1)
    assert best(score, pod(2), State(8, 1000), State(4, 1000)) == (1, -1)


def test_random_is_the_same_for_the_same_decision_only() -> None:
    request, node = pod(1, 1, 100), State(9, *[1000] * 8)
    table = rows(request, node)
    again = [RandomScore().score(request, table, (), 7).tolist() for _ in range(2)]
    assert again[0] == again[1]
    assert again[0] != RandomScore().score(request, table, (), 8).tolist()
    assert again[0] != RandomScore(seed=1).score(request, table, (), 7).tolist()


def test_random_gives_every_node_the_same_chance_however_many_devices_it_has() -> None:
    request = pod(1, 1, 100)
    table = rows(request, State(9, 1000), State(9, *[1000] * 8), State(9, 1000, 1000))
    wins = Counter(
        int(table.node[np.argmax(RandomScore().score(request, table, (), turn))])
        for turn in range(3000)
    )
    assert [wins[node] for node in range(3)] == pytest.approx([1000] * 3, abs=100)


def test_random_gives_every_device_the_same_chance() -> None:
    request = pod(1, 1, 100)
    table = rows(request, State(9, 1000, 1000, 1000, 1000))
    wins = Counter(
        int(np.argmax(RandomScore().score(request, table, (), turn))) for turn in range(4000)
    )
    assert [wins[device] for device in range(4)] == pytest.approx([1000] * 4, abs=120)
