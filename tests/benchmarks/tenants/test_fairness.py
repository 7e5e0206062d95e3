"""`fairness`: what it asks for, what it says, and that the default policy shares fairly."""

import pytest
from tests.effort import TIMES

from benchmarks.registry import BenchOptions, silent
from benchmarks.tenants.fairness import BENCH, POLICIES, measure
from benchmarks.tenants.fairness_jobs import FIELDS, GPUS, LEAVES, QUOTAS, SPAN_MS, jobs, queues
from ganglion.model.errors import FieldError
from ganglion.worlds.simulated.job import gpu_milli


@pytest.mark.parametrize("name", FIELDS)
def test_every_queue_asks_for_more_than_its_share(name: str) -> None:
    for queue in LEAVES:
        asked = sum(
            gpu_milli(job.gang) * (job.duration_ms or 0)
            for job in jobs(FIELDS[name], 0)
            if job.gang.queue == queue
        )
        assert asked >= 1000 * GPUS * SPAN_MS // len(LEAVES)


def test_departments_are_guaranteed_what_their_leaves_would_be() -> None:
    by_name = {each.name: each.quota for each in queues(FIELDS["branches"], 4)}
    assert [name for name, quota in by_name.items() if quota] == ["left", "right"]
    assert by_name["left"]["*"].gpu_milli == 8000


@pytest.mark.parametrize("quota", sorted(QUOTAS)[:: 1 if TIMES > 1 else 2])
def test_a_flood_leaves_the_others_their_shares(quota: int) -> None:
    found = measure(FIELDS["flood"], quota, POLICIES["default"], 0)
    assert found["jain"] >= 0.97
    assert found["busy"] > 0.97
    assert found["most_stops_of_a_gang"] <= 12


def test_other_input_is_refused() -> None:
    with pytest.raises(FieldError, match="no workload 'drought'"):
        BENCH.run(BenchOptions(workload="drought"), silent)
