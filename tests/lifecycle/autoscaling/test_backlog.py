"""Requests that wait are weighed by how long they run."""

from ganglion.lifecycle.autoscaling.backlog import coming, eased, takes_ms, watch
from ganglion.lifecycle.autoscaling.memory import Pass, Sample
from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.model.behaviour import Signal

LEAD = 60_000


def reading(at: int, waiting: int, running: int, arrived: int) -> Reading:
    values = {Signal.WAITING: 1_000 * waiting, Signal.RUNNING: 1_000 * running}
    return Reading(at, values, arrived)


def steady(runs: int, each_s: int, waiting: int = 0) -> Pass:
    """What is learnt where `runs` requests are always running, one of which ends every so often."""
    passed = Pass()
    for n in range(40):
        watch(passed, reading(n * 15_000, waiting, runs, n * 15 // each_s * 10))
    return passed


def test_how_long_requests_run_is_learnt_from_how_many_run_and_end() -> None:
    assert takes_ms(steady(20, each_s=1)) == 2_000
    assert takes_ms(steady(20, each_s=3)) == 6_000


def test_nothing_is_learnt_while_requests_wait_or_too_few_have_ended() -> None:
    assert takes_ms(steady(20, each_s=1, waiting=3)) == 0
    passed = Pass()
    for n in range(4):
        watch(passed, reading(n * 15_000, 0, 1, n))
    assert takes_ms(passed) == 0


def test_a_counter_that_began_anew_teaches_nothing_wrong() -> None:
    passed = steady(20, each_s=1)
    watch(passed, reading(900_000, 0, 20, 5))
    assert takes_ms(passed) == 2_000


def test_what_comes_counts_whoever_waits_for_it() -> None:
    samples = [Sample(0, {}, 100), Sample(30_000, {}, 400)]
    assert coming(samples, 2_000) == 20_000
    assert coming([Sample(0, {}, 100)], 2_000) == 0
    assert coming([Sample(0, {}), Sample(1, {})], 2_000) == 0


def test_short_requests_that_piled_up_ask_for_what_catches_up_in_the_time_of_a_start() -> None:
    samples = [Sample(0, {}, 0), Sample(60_000, {}, 600)]
    values = {Signal.REQUESTS: 610_000}
    found = eased(samples, values, room=10_000, lasts_ms=1_000, lead_ms=LEAD)
    assert found == {Signal.REQUESTS: 10_000 + 600_000 // 60}


def test_requests_that_run_longer_than_a_start_count_one_by_one() -> None:
    values = {Signal.REQUESTS: 610_000}
    assert eased([], values, 10_000, LEAD, LEAD) == values


def test_nothing_changes_while_replicas_have_no_more_than_they_should() -> None:
    values = {Signal.REQUESTS: 9_000, Signal.KV_CACHE: 500}
    assert eased([], values, 10_000, 1_000, LEAD) == values


def test_nothing_changes_while_nobody_knows_how_long_requests_run() -> None:
    values = {Signal.REQUESTS: 610_000}
    assert eased([], values, 10_000, 0, LEAD) == values


def test_it_never_counts_more_requests_than_there_are() -> None:
    samples = [Sample(0, {}, 0), Sample(60_000, {}, 600_000)]
    values = {Signal.REQUESTS: 20_000}
    assert eased(samples, values, 10_000, 50_000, LEAD) == values
