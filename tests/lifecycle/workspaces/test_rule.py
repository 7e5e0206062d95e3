"""Warned first, suspended after the whole time of warning, spared at the slightest movement."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.workspaces.observations import Sight, Witness, WitnessMemory, doubtful
from ganglion.lifecycle.workspaces.rule import Act, Warned, allowed_ms, at_work, step
from ganglion.model.behaviour import Hours, Idle
from ganglion.model.workload import Kind, Workload

MIN = 60_000
START = 1_000_000 * MIN
REQUIRED = (Witness.PROCESSES,)
NOTEBOOK = Workload("nb", Kind.WORKSPACE, idle_timeout_ms=30 * MIN, idle=Idle(warn_ms=5 * MIN))


class Course:
    """Minute after minute of one workspace that is looked at every minute."""

    def __init__(self, workload: Workload = NOTEBOOK) -> None:
        self.workload, self.memory, self.now = workload, WitnessMemory(), START
        self.warned: Warned | None = None
        self.acts: list[tuple[int, Act]] = []

    def minutes(self, count: int, *, moves: bool = False, doubt: str = "") -> None:
        for _ in range(count):
            self.now += MIN
            sight = Sight(Witness.PROCESSES, self.now, self.now - MIN, self.now if moves else 0)
            told = doubtful(Witness.PROCESSES, self.now, doubt) if doubt else sight
            self.memory.see(told, 30_000)
            self.take()

    def take(self) -> None:
        found = step(self.workload, self.memory, REQUIRED, self.warned, self.now)
        if found.act is Act.NOTHING:
            return
        self.acts.append(((self.now - START) // MIN, found.act))
        self.warned = Warned(self.now, found.suspend_at) if found.act is Act.WARN else None


def test_it_is_warned_five_minutes_before_it_goes() -> None:
    course = Course()
    course.minutes(10, moves=True)
    course.minutes(31)
    assert course.acts == [(35, Act.WARN), (40, Act.SUSPEND), (41, Act.WARN)]


def test_any_movement_takes_the_warning_back_and_begins_anew() -> None:
    course = Course()
    course.minutes(27)
    course.minutes(1, moves=True)
    course.minutes(30)
    assert course.acts == [(25, Act.WARN), (28, Act.TAKE_BACK), (53, Act.WARN), (58, Act.SUSPEND)]


def test_a_doubt_takes_the_warning_back_and_begins_anew() -> None:
    course = Course()
    course.minutes(27)
    course.minutes(1, doubt="no source reports its GPUs")
    course.minutes(24)
    assert course.acts == [(25, Act.WARN), (28, Act.TAKE_BACK)]


def test_nobody_is_suspended_on_a_look_that_is_old() -> None:
    course = Course()
    course.minutes(29)
    course.now += 3 * MIN
    course.take()
    assert course.acts == [(25, Act.WARN), (32, Act.TAKE_BACK)]


def test_one_that_was_idle_for_long_before_anybody_looked_has_its_whole_warning() -> None:
    memory = WitnessMemory()
    memory.see(Sight(Witness.PROCESSES, START, START - 600 * MIN), 30_000)
    found = step(NOTEBOOK, memory, REQUIRED, None, START)
    assert (found.act, found.suspend_at) == (Act.WARN, START + 5 * MIN)


def test_without_a_timeout_nothing_ever_happens() -> None:
    course = Course(Workload("nb", Kind.WORKSPACE))
    course.minutes(600)
    assert course.acts == []


TWO = (Witness.PROCESSES, Witness.GPU)
LOOKS = st.sampled_from("qqqmdx")
"""What a witness does in one minute: vouch for quiet, see something, be in doubt, not look."""


def sight_of(letter: str, witness: Witness, now: int) -> Sight | None:
    if letter == "x":
        return None
    if letter == "d":
        return doubtful(witness, now, "who knows")
    return Sight(witness, now, now - MIN, now if letter == "m" else 0)


SPELLS = st.lists(st.tuples(LOOKS, LOOKS, st.integers(1, 40)), min_size=1, max_size=12)


@given(SPELLS.map(lambda spells: [(a, b) for a, b, length in spells for _ in range(length)]))
def test_whoever_is_warned_or_suspended_was_seen_quiet_every_single_minute(
    minutes: list[tuple[str, str]],
) -> None:
    memory, warned, now = WitnessMemory(), None, START
    for number, letters in enumerate(minutes, 1):
        now += MIN
        for letter, witness in zip(letters, TWO, strict=True):
            sight = sight_of(letter, witness, now)
            if sight:
                memory.see(sight, 30_000)
        found = step(NOTEBOOK, memory, TWO, warned, now)
        needed = {Act.WARN: 25, Act.SUSPEND: 30}.get(found.act, 0)
        seen = minutes[max(number - needed, 0) : number]
        assert len(seen) == needed
        assert all(letter == "q" for letters in seen for letter in letters)
        if found.act is Act.SUSPEND:
            return
        if found.act is not Act.NOTHING:
            warned = Warned(now, found.suspend_at) if found.act is Act.WARN else None


HOURS = Hours(zone="Europe/Berlin")


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


@pytest.mark.parametrize(
    ("moment", "working"),
    [
        ("2026-01-05T06:59:59", False),  # a Monday in winter, 07:59:59 there
        ("2026-01-05T07:00:00", True),
        ("2026-01-05T18:59:59", True),
        ("2026-01-05T19:00:00", False),
        ("2026-07-06T05:59:59", False),  # in summer the clocks are an hour ahead
        ("2026-07-06T06:00:00", True),
        ("2026-03-29T07:00:00", False),  # a Sunday, clocks just changed
        ("2026-01-04T23:30:00", False),  # Monday there already, but at night
    ],
)
def test_working_hours_are_those_of_the_clock_on_the_wall(moment: str, working: bool) -> None:
    assert at_work(HOURS, ms(moment)) is working


def test_outside_of_hours_the_time_of_warning_is_all_there_is() -> None:
    idle = Idle(warn_ms=5 * MIN, hours=HOURS)
    plain = Workload("nb", Kind.WORKSPACE, idle_timeout_ms=30 * MIN, idle=idle)
    endless = Workload("nb", Kind.WORKSPACE, idle=idle)
    day, night = ms("2026-01-05T12:00:00"), ms("2026-01-05T22:00:00")
    assert [allowed_ms(plain, day), allowed_ms(plain, night)] == [30 * MIN, 5 * MIN]
    assert [allowed_ms(endless, day), allowed_ms(endless, night)] == [0, 5 * MIN]


def test_a_workspace_left_in_the_evening_goes_soon_and_not_without_a_warning() -> None:
    idle = Idle(warn_ms=5 * MIN, hours=HOURS)
    course = Course(Workload("nb", Kind.WORKSPACE, idle_timeout_ms=240 * MIN, idle=idle))
    course.now = begin = ms("2026-01-05T18:30:00")
    course.minutes(40)
    at = [((minute * MIN + START - begin) // MIN, act) for minute, act in course.acts]
    assert at[:2] == [(30, Act.WARN), (35, Act.SUSPEND)]
