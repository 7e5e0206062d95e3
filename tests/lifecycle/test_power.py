from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.power import Keep, Peak, PowerWish, replayed


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(1, 20))
def test_a_peak_is_the_maximum_of_the_last_values(values: list[int], length: int) -> None:
    peak = Peak(length)
    for end, value in enumerate(values, 1):
        assert peak.add(value) == max(values[max(end - length, 0) : end])


def test_what_was_needed_within_the_hour_is_kept_for_the_most_part() -> None:
    keep = Keep(margin=0)
    keep.next(100, short=False)
    for _ in range(20):
        assert keep.next(10, short=False) >= 100
    for _ in range(20):
        wanted = keep.next(10, short=False)
    assert wanted == 98
    for _ in range(60):
        wanted = keep.next(10, short=False)
    assert wanted == 13


def test_a_short_minute_raises_the_margin_and_calm_lowers_it() -> None:
    keep = Keep(PowerWish(short_ppm=100_000), margin=5)
    keep.next(10, short=True)
    assert keep.margin == 6
    for _ in range(100):
        keep.next(10, short=False)
    assert keep.margin == 0


def test_about_as_many_minutes_are_short_as_was_asked_for_whatever_the_load_does() -> None:
    dice, level, needed = Random(1), 100, list[int]()
    for minute in range(30_000):
        jump = dice.choice((4, 8, 16)) if dice.random() < 0.02 + 0.02 * (minute > 15_000) else 0
        level = max(40, min(300, level + jump - dice.randrange(3)))
        needed.append(level)
    on = replayed(needed, [400] * len(needed))
    short = sum(need > up for need, up in zip(needed, on, strict=True))
    assert short <= 0.002 * len(needed)
    assert sum(on) < 0.8 * len(needed) * max(needed)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=80), st.integers(1, 5))
def test_nobody_looks_ahead(needed: list[int], wake: int) -> None:
    there = [50] * len(needed)
    whole = replayed(needed, there, wake)
    for end in (1, len(needed) // 2):
        assert replayed(needed[:end], there[:end], wake) == whole[:end]
    assert all(0 <= up <= 50 for up in whole)
