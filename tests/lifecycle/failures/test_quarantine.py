from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.failures.quarantine import LONGEST, Quarantine

HOUR = 3_600_000


def struck(quarantine: Quarantine, times: int, now: int) -> bool:
    return [quarantine.strike("n1", "it failed", now) for _ in range(times)][-1]


def test_it_takes_several_failures_to_shut_something() -> None:
    quarantine = Quarantine(3, HOUR)
    assert [quarantine.strike("n1", "it failed", at) for at in (0, 10, 20)] == [False, False, True]
    assert quarantine.reason("n1", 21) == "quarantined, as it failed"
    assert quarantine.reason("n2", 21) == ""


def test_failures_that_lie_far_apart_do_not_count_together() -> None:
    quarantine = Quarantine(2, HOUR, 10 * HOUR)
    assert not quarantine.strike("n1", "", 0)
    assert not quarantine.strike("n1", "", 10 * HOUR)
    assert quarantine.strike("n1", "", 19 * HOUR)


def test_one_whose_misfortune_it_is_again_and_again_counts_once() -> None:
    quarantine = Quarantine(2, HOUR)
    assert not any(quarantine.strike("n1", "", at, "job-1") for at in range(50))
    assert quarantine.strike("n1", "", 51, "job-2")


def test_a_term_ends_by_itself_and_is_told_once() -> None:
    quarantine = Quarantine(1, HOUR)
    quarantine.strike("n1", "", 0)
    assert quarantine.next_end() == HOUR
    assert quarantine.over(HOUR - 1) == []
    assert quarantine.over(HOUR) == ["n1"]
    assert quarantine.over(HOUR) == []
    assert quarantine.next_end() is None


def test_who_relapses_is_shut_for_twice_as_long_up_to_a_bound() -> None:
    quarantine, now, terms = Quarantine(1, HOUR), 0, []
    for _ in range(6):
        quarantine.strike("n1", "", now)
        terms.append((quarantine.until("n1") - now) // HOUR)
        now = quarantine.until("n1")
    assert terms == [1, 2, 4, 8, LONGEST, LONGEST]


def test_good_conduct_shortens_the_next_term() -> None:
    quarantine, now = Quarantine(1, HOUR), 0
    for _ in range(4):
        quarantine.strike("n1", "", now)
        now = quarantine.until("n1")
    now += 3 * LONGEST * HOUR
    quarantine.strike("n1", "", now)
    assert quarantine.until("n1") - now == 2 * HOUR


def test_a_pardon_forgets_everything() -> None:
    quarantine = Quarantine(2, HOUR)
    struck(quarantine, 2, 0)
    quarantine.pardon("n1")
    assert not quarantine.reason("n1", 1)
    assert quarantine.strikes("n1", 1) == 0
    assert not struck(quarantine, 1, 2)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5 * HOUR)), max_size=60))
def test_terms_are_bounded_and_whatever_is_shut_comes_back(steps: list[tuple[str, int]]) -> None:
    quarantine, now = Quarantine(2, HOUR), 0
    for what, pause in steps:
        now += pause
        if quarantine.strike(what, "", now):
            assert HOUR <= quarantine.until(what) - now <= LONGEST * HOUR
    assert quarantine.over(now + LONGEST * HOUR + 1) or not quarantine.shut_now(now)
    assert quarantine.shut_now(now + LONGEST * HOUR + 1) == []
