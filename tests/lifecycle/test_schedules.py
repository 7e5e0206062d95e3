"""Dates come once, whatever clocks and servers do."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.schedules import MOST_COUNTED, Due, answer, due, next_date
from ganglion.model.behaviour import Overlap, Schedule

BERLIN = ZoneInfo("Europe/Berlin")
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def ms(*when: int, zone: ZoneInfo | None = None, fold: int = 0) -> int:
    year, month, day, *rest = when
    hour, minute = (*rest, 0, 0)[:2]
    moment = datetime(year, month, day, hour, minute, tzinfo=zone or UTC, fold=fold)
    return int(moment.timestamp() * 1000)


def dates(schedule: Schedule, after: int, count: int) -> list[int]:
    found = []
    for _ in range(count):
        at = next_date(schedule, after)
        assert at is not None
        found.append(at)
        after = at
    return found


def test_the_next_date_is_after_the_time_given_never_at_it() -> None:
    daily = Schedule("0 3 * * *")
    assert next_date(daily, ms(2026, 5, 1, 2)) == ms(2026, 5, 1, 3)
    assert next_date(daily, ms(2026, 5, 1, 3)) == ms(2026, 5, 2, 3)
    assert next_date(daily, ms(2026, 5, 1, 3) - 1) == ms(2026, 5, 1, 3)


def test_dates_are_those_of_the_zone() -> None:
    daily = Schedule("0 3 * * *", zone="Europe/Berlin")
    assert next_date(daily, ms(2026, 1, 1)) == ms(2026, 1, 1, 2)
    assert next_date(daily, ms(2026, 7, 1)) == ms(2026, 7, 1, 1)


def test_a_date_in_the_hour_that_is_left_out_happens_at_its_end() -> None:
    schedule = Schedule("30 2 * * *", zone="Europe/Berlin")
    found = dates(schedule, ms(2026, 3, 28, 12), 2)
    assert found == [ms(2026, 3, 29, 3, zone=BERLIN), ms(2026, 3, 30, 2, 30, zone=BERLIN)]


def test_a_date_in_the_hour_that_comes_twice_happens_once() -> None:
    schedule = Schedule("30 2 * * *", zone="Europe/Berlin")
    found = dates(schedule, ms(2026, 10, 24, 12), 2)
    assert found == [ms(2026, 10, 25, 2, 30, zone=BERLIN), ms(2026, 10, 26, 2, 30, zone=BERLIN)]


def test_dates_by_the_minute_go_by_the_time_that_passes() -> None:
    schedule = Schedule("*/30 * * * *", zone="Europe/Berlin")
    for month, day in ((3, 29), (10, 25)):
        found = dates(schedule, ms(2026, month, day), 8)
        assert {b - a for a, b in pairwise(found)} == {30 * MINUTE}


def test_nothing_is_due_before_its_time() -> None:
    assert due(Schedule("0 3 * * *"), ms(2026, 5, 1, 3), ms(2026, 5, 2, 3) - 1) is None
    assert due(Schedule("0 3 * * *"), ms(2026, 5, 1, 3), ms(2026, 5, 2, 3)) == Due(
        ms(2026, 5, 2, 3)
    )


def test_of_many_that_were_missed_the_newest_is_due_and_the_others_are_counted() -> None:
    found = due(Schedule("0 3 * * *"), ms(2026, 5, 1, 3), ms(2026, 5, 6, 12))
    skipped = tuple(ms(2026, 5, day, 3) for day in (2, 3, 4, 5))
    assert found == Due(ms(2026, 5, 6, 3), missed=4, skipped=skipped)


def test_a_year_of_minutes_is_not_counted() -> None:
    found = due(Schedule("* * * * *"), ms(2025, 5, 1), ms(2026, 5, 1, 0, 0) + 30_000)
    assert found is not None
    assert found.date == ms(2026, 5, 1)
    assert found.missed > MOST_COUNTED


def test_a_date_that_was_missed_for_too_long_is_left_out() -> None:
    schedule = Schedule("0 3 * * *", keep_ms=HOUR)
    early = due(schedule, ms(2026, 5, 1, 3), ms(2026, 5, 2, 4))
    late = due(schedule, ms(2026, 5, 1, 3), ms(2026, 5, 2, 4) + 1)
    assert early is not None and not early.late
    assert late is not None and late.late
    assert not answer(schedule, late, ()).submit


@pytest.mark.parametrize(
    ("overlap", "submit", "cancel"),
    [
        (Overlap.FORBID, False, ()),
        (Overlap.ALLOW, True, ()),
        (Overlap.REPLACE, True, ("n-1", "n-2")),
    ],
)
def test_what_overlaps_is_left_out_allowed_or_replaced(
    overlap: Overlap, submit: bool, cancel: tuple[str, ...]
) -> None:
    found = answer(Schedule("* * * * *", overlap=overlap), Due(0), ("n-1", "n-2"))
    assert (found.submit, found.cancel) == (submit, cancel)
    alone = answer(Schedule("* * * * *", overlap=overlap), Due(0), ())
    assert (alone.submit, alone.cancel, alone.message) == (True, (), "")


CRONS = ("* * * * *", "*/7 * * * *", "0 3 * * *", "30 2 * * *", "15 1-3 * * sun", "0 0 29 2 *")


@given(
    cron=st.sampled_from(CRONS),
    zone=st.sampled_from(("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")),
    start=st.integers(ms(2026, 1, 1), ms(2027, 12, 31)),
    span=st.integers(0, 3 * DAY),
)
def test_looking_once_or_often_comes_to_the_same_last_date(
    cron: str, zone: str, start: int, span: int
) -> None:
    schedule, last = Schedule(cron, zone), start
    for at in range(start, start + span, max(span // 40, 1)):
        found = due(schedule, last, at)
        if found:
            assert last < found.date <= at
            last = found.date
    found = due(schedule, last, start + span)
    last = found.date if found else last
    once = due(schedule, start, start + span)
    assert last == (once.date if once else start)


def test_a_clock_put_forward_names_the_dates_that_it_skipped() -> None:
    schedule = Schedule("*/20 * * * *", zone="Europe/Berlin")
    found = due(schedule, ms(2026, 5, 1, 10), ms(2026, 5, 1, 11, 5))
    assert found is not None
    said = answer(schedule, found, (), HOUR).message
    assert said == (
        "2 dates were missed before it, as the clock was put forward by 60 min:"
        " 2026-05-01 12:20, 2026-05-01 12:40"
    )


def test_a_clock_put_back_does_not_silence_what_goes_by_the_time_that_passes() -> None:
    schedule = Schedule("0 * * * *")
    acted = ms(2026, 5, 1, 12)
    assert due(schedule, acted, ms(2026, 5, 1, 9, 30)) is None
    found = due(schedule, acted, ms(2026, 5, 1, 10) + 100)
    assert found == Due(ms(2026, 5, 1, 10), again=True)
    said = answer(schedule, found, ())
    assert (said.submit, said.message) == (True, "it came before, as the clock was put back")


def test_a_date_with_a_fixed_hour_that_comes_twice_is_left_out_and_says_so() -> None:
    schedule = Schedule("0 2 * * *")
    found = due(schedule, ms(2026, 5, 1, 2, 10), ms(2026, 5, 1, 2))
    assert found == Due(ms(2026, 5, 1, 2), again=True, once=True)
    said = answer(schedule, found, ())
    assert (said.submit, said.message) == (
        False,
        "left out: it came before, as the clock was put back",
    )


def test_a_small_correction_repeats_nothing() -> None:
    assert due(Schedule("* * * * *"), ms(2026, 5, 1, 12), ms(2026, 5, 1, 12) - 5_000) is None
