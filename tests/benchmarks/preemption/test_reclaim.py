"""`reclaim`: every case ends as it should, and memory is that of the case alone."""

import pytest

from benchmarks.preemption import reclaim
from benchmarks.preemption.reclaim import BENCH
from benchmarks.preemption.reclaim_cases import CASES, measure
from benchmarks.registry import BenchOptions, silent
from ganglion.model.errors import InputError

NODES = 20


@pytest.mark.parametrize("case", ["half_cluster", "half_cluster_whole"])
def test_half_the_cluster_is_given_back_to_whom_it_is_owed(case: str) -> None:
    found = measure(case, NODES)
    assert (found.started, found.reason) == (1, "")
    assert found.victims == NODES // 2 * CASES[case].running


def test_as_many_run_as_are_owed_and_no_victim_more() -> None:
    found = measure("many_singles", NODES)
    assert found.victims == found.started == NODES * 8 // 2
    assert found.reason


@pytest.mark.parametrize("case", ["one_gpu_short", "one_gpu_short_rack"])
def test_nobody_is_stopped_for_a_gang_that_would_pass_what_is_owed(case: str) -> None:
    found = measure(case, NODES)
    assert (found.victims, found.started) == (0, 0)
    assert found.reason


def test_a_case_is_measured_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reclaim, "CASES", {"one_gpu_short": CASES["one_gpu_short"]})
    data = BENCH.run(BenchOptions(workload=str(NODES)), silent).data
    figures = data["figures"]["one_gpu_short"][str(NODES)]
    assert figures["victims"] == 0
    assert 0 < figures["before_mib"] <= figures["peak_mib"]


@pytest.mark.parametrize("text", ["many", "3"])
def test_a_size_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="number of nodes"):
        BENCH.run(BenchOptions(workload=text), silent)
