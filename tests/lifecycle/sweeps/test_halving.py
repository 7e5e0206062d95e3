"""Trials that do worse than others are given up, by the rungs they reach."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.sweeps.halving import Ladder, climb, rungs_up_to
from ganglion.model.behaviour import EarlyStop

RULE = EarlyStop("loss", first=1, factor=3)


def test_rungs_lie_a_factor_apart() -> None:
    assert rungs_up_to(RULE, 30) == [1, 3, 9, 27]
    assert rungs_up_to(EarlyStop("loss", first=10, factor=2), 45) == [10, 20, 40]
    assert rungs_up_to(RULE, 0) == []


def test_the_first_at_a_rung_go_on_and_of_those_after_them_the_best_third() -> None:
    ladder = Ladder()
    assert climb(ladder, RULE, 0, 1, 0.9) is None
    assert climb(ladder, RULE, 1, 1, 0.8) is None
    third = climb(ladder, RULE, 2, 1, 0.85)
    assert third is not None
    assert (third.rung, third.place, third.among, third.kept) == (1, 2, 3, 1)
    assert climb(ladder, RULE, 3, 1, 0.1) is None


def test_where_more_is_better_the_largest_go_on() -> None:
    ladder, rule = Ladder(), EarlyStop("accuracy", maximise=True, first=1, factor=2)
    assert climb(ladder, rule, 0, 1, 0.5) is None
    assert climb(ladder, rule, 1, 1, 0.9) is None
    assert climb(ladder, rule, 2, 1, 0.6)


def test_reports_between_rungs_and_of_rungs_passed_before_change_nothing() -> None:
    ladder = Ladder()
    climb(ladder, RULE, 0, 3, 0.5)
    before = (
        dict(ladder.reached),
        {rung: list(each.losses) for rung, each in ladder.rungs.items()},
    )
    for step in (1, 2, 3, 4, 8):
        assert climb(ladder, RULE, 0, step, 9.9) is None
    after = (dict(ladder.reached), {rung: list(each.losses) for rung, each in ladder.rungs.items()})
    assert before == after


def test_who_skips_rungs_counts_at_each_of_them() -> None:
    ladder = Ladder()
    climb(ladder, RULE, 0, 10, 0.5)
    assert {rung: each.losses for rung, each in ladder.rungs.items()} == {
        1: [0.5],
        3: [0.5],
        9: [0.5],
    }


def test_what_is_no_number_is_worse_than_any() -> None:
    for value in (None, float("nan"), float("inf"), float("-inf")):
        ladder = Ladder()
        climb(ladder, RULE, 0, 1, 1e300)
        climb(ladder, RULE, 1, 1, 1e300)
        assert climb(ladder, RULE, 2, 1, value)


def test_equal_trials_all_go_on() -> None:
    ladder = Ladder()
    assert [climb(ladder, RULE, trial, 1, 0.5) for trial in range(9)] == [None] * 9


@given(
    values=st.lists(st.floats(0, 1), min_size=1, max_size=60),
    factor=st.integers(2, 5),
    seed=st.integers(0, 5),
)
def test_the_best_trial_is_never_given_up(values: list[float], factor: int, seed: int) -> None:
    rule, ladder = EarlyStop("loss", first=1, factor=factor), Ladder()
    order = list(range(len(values)))
    given_up = set()
    for step in rungs_up_to(rule, 200):
        Random(seed * 1000 + step).shuffle(order)
        for trial in order:
            if trial not in given_up and climb(ladder, rule, trial, step, values[trial]):
                given_up.add(trial)
    assert values.index(min(values)) not in given_up


def test_most_of_many_trials_are_given_up_long_before_their_end() -> None:
    rule, ladder, steps, dice = EarlyStop("loss", first=1, factor=3), Ladder(), 0, Random(1)
    quality = [dice.random() for _ in range(300)]
    lives = set(range(300))
    for step in range(1, 82):
        for trial in sorted(lives):
            steps += 1
            if climb(ladder, rule, trial, step, quality[trial] + 1 / step):
                lives.discard(trial)
    assert quality.index(min(quality)) in lives
    assert steps < 300 * 81 / 4
