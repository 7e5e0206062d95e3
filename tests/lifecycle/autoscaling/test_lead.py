"""How long starts take, and what load will be by then."""

from ganglion.lifecycle.autoscaling.lead import CALM_MS, UNKNOWN_MS, lead, reach, rise
from ganglion.lifecycle.autoscaling.memory import Sample
from ganglion.model.behaviour import Scaling, Signal


def samples(*loads: tuple[int, int]) -> list[Sample]:
    return [Sample(at, {Signal.REQUESTS: milli}) for at, milli in loads]


def test_what_the_owner_says_wins_over_what_was_seen() -> None:
    assert lead(Scaling(cold_start_ms=5_000), [90_000]) == 5_000
    assert lead(Scaling(), []) == UNKNOWN_MS


def test_nine_of_ten_starts_are_ready_by_then() -> None:
    assert lead(Scaling(), [10, 20, 30, 40, 50, 60, 70, 80, 90, 1_000]) == 90
    assert lead(Scaling(), [70]) == 70


def test_load_that_rises_is_carried_on_over_a_start_and_halved() -> None:
    now = 2 * CALM_MS
    found = rise(samples((1_000, 10_000), (now - 1_000, 40_000)), now, CALM_MS)
    assert found == {Signal.REQUESTS: 15_000}
    half = rise(samples((1_000, 10_000), (now - 1_000, 40_000)), now, CALM_MS // 2)
    assert half == {Signal.REQUESTS: 7_500}


def test_load_that_falls_is_not_foretold() -> None:
    now = 2 * CALM_MS
    found = rise(samples((1_000, 40_000), (now - 1_000, 10_000)), now, CALM_MS)
    assert found == {Signal.REQUESTS: 0}


def test_nothing_is_foretold_from_one_stretch() -> None:
    assert rise(samples((1_000, 10_000)), 2_000, 60_000) == {}


def test_samples_are_kept_for_two_stretches() -> None:
    assert reach(1_000) == 2 * CALM_MS
    assert reach(300_000) == 600_000
