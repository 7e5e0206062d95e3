"""Completion times of the engine's own policy: the tail is bounded, and no work is lost."""

import os

import pytest

from benchmarks.common.jobs import Cluster, Job, cluster_of, synthetic
from benchmarks.common.metrics import figures
from benchmarks.common.replay import replay
from benchmarks.completion.engine import run_engine
from benchmarks.completion.jct import HOUR_MS, OWN, TEXTBOOK, run_all

SEEDS = int(os.environ.get("GANGLION_JCT_SEEDS", "4"))
CAP = 1.25
"""Most that the longest completion may be, over that of first come, first served."""


def silent(done: int) -> None:
    del done


def made_up(seed: int) -> Cluster:
    nodes, jobs = (2, 150) if seed % 2 else (3, 200)
    load = 1.0 if seed % 4 > 1 else 0.9
    return cluster_of(f"seed{seed}", synthetic(seed, jobs, nodes, load), nodes)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_time_sharing_shortens_completions_and_caps_the_longest(seed: int) -> None:
    cluster = made_up(seed)
    shared = run_engine(cluster, OWN["default"], silent)
    fifo = replay(cluster, TEXTBOOK["fifo-overtaking"], silent)
    longest = max(each.jct for each in shared.done)
    assert longest <= CAP * max(each.jct for each in fifo.done)
    assert figures(shared.done).avg_jct_s <= 1.05 * figures(fifo.done).avg_jct_s


def test_a_quantum_of_the_queue_stops_jobs_that_have_had_it() -> None:
    jobs = tuple(
        Job(number, number * HOUR_MS // 2, (20 if number % 4 == 0 else 1) * HOUR_MS, 8)
        for number in range(60)
    )
    stops = {
        name: run_all([Cluster("one", 1, jobs)], [name], lambda *_: None)[0].schedule.preemptions
        for name in ("unshared", "quantum-8h")
    }
    assert stops["unshared"] == 0
    assert stops["quantum-8h"] > 0
