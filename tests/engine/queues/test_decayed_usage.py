"""Decayed use: half after every half-life, whatever happened in between."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.queues.decayed_usage import PastUse

HOUR = 3_600_000


def close(one: int, other: int) -> bool:
    return abs(one - other) * 1_000_000 <= max(one, other)


def test_nothing_is_remembered_without_a_half_life() -> None:
    past = PastUse()
    past.charge(("a",), "ada", 1000, 1, 0)

    assert past.level("a", HOUR) == past.mean("a", HOUR) == 0


def test_use_counts_half_after_a_half_life() -> None:
    past = PastUse(HOUR)
    past.charge(("a",), "", 1000, 1, 0)
    past.charge(("a",), "", 1000, -1, HOUR)

    level = past.level("a", HOUR)

    assert past.level("a", 2 * HOUR) == level // 2
    assert past.level("a", 11 * HOUR) == level >> 10
    assert past.level("a", 400 * HOUR) == 0


def test_steady_use_tends_to_itself_as_a_mean() -> None:
    past = PastUse(HOUR)
    past.charge(("a",), "", 8000, 1, 5)

    assert past.mean("a", 5 + HOUR) in (3999, 4000)
    assert past.mean("a", 50 * HOUR) in (7999, 8000)


def test_queues_above_and_users_are_counted_too() -> None:
    past = PastUse(HOUR)
    past.charge(("team", "org"), "ada", 1000, 1, 0)
    past.charge(("team", "org"), "bob", 3000, 1, 0)

    assert past.level("team", HOUR) == past.level("org", HOUR)
    users = past.of_user("team", "ada", HOUR), past.of_user("org", "bob", HOUR)
    assert close(users[1], 3 * users[0])
    assert close(sum(users), past.level("org", HOUR))
    past.forget("team")
    assert past.level("team", HOUR) == past.of_user("team", "ada", HOUR) == 0


def test_a_new_half_life_applies_from_then_on() -> None:
    past = PastUse(HOUR)
    past.charge(("a",), "", 1000, 1, 0)
    past.charge(("a",), "", 1000, -1, 90 * 60_000)
    before = past.level("a", 2 * HOUR)

    past.change(4 * HOUR, 2 * HOUR)

    assert close(past.level("a", 2 * HOUR), before)
    assert close(past.level("a", 6 * HOUR), before // 2)
    past.change(0, 7 * HOUR)
    assert past.level("a", 7 * HOUR) == 0


steps = st.lists(
    st.tuples(st.integers(0, 5 * HOUR), st.integers(0, 64_000), st.integers(0, 2)), max_size=12
)


@given(st.integers(1000, 200 * HOUR), st.integers(0, 2**41), steps)
def test_levels_are_those_of_the_formula(
    half_life: int, start: int, changes: list[tuple[int, int, int]]
) -> None:
    past, now, used = PastUse(half_life), start, 0
    pieces: list[tuple[int, int, int]] = []
    for passed, milli, looks in changes:
        pieces.append((now, now + passed, used))
        now += passed
        past.charge(("a",), "", milli - used, 1, now)
        used = milli
        assert all(past.level("a", now + look) >= 0 for look in range(looks))

    exact = sum(
        milli
        * (2 ** -((now - end) / half_life) - 2 ** -((now - begin) / half_life))
        * half_life
        / 0.6931471805599453
        for begin, end, milli in pieces
    )
    assert abs(past.level("a", now) - exact) <= 0.0004 * exact + 2 * 64_000


@given(st.lists(st.integers(1, HOUR), min_size=1, max_size=20))
def test_looking_often_changes_nothing(pauses: list[int]) -> None:
    often, once = PastUse(HOUR), PastUse(HOUR)
    for past in (often, once):
        past.charge(("a",), "", 3000, 1, 0)
    now = 0
    for pause in pauses:
        now += pause
        often.charge(("a",), "", 1000, 1, now)
        often.charge(("a",), "", 1000, -1, now)

    assert abs(often.level("a", now) - once.level("a", now)) <= 1
