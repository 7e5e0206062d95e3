"""A server that submits workloads by the clock."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ganglion.model.errors import Conflict, FieldError, NotFound
from ganglion.model.events import Outcome, ScheduleFired
from ganglion.server.commands import schedules
from ganglion.server.commands.schedules import SchedulesKeeper
from ganglion.server.commands.submission import submit
from ganglion.server.state.schedules import StandingSchedule
from tests.effort import examples
from tests.server.conftest import Rig

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
EPOCH = 20_833 * DAY
"""A midnight of the wall clock."""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """A server over two nodes of 8 GPUs."""
    made = Rig(tmp_path / "home", lambda: [SchedulesKeeper()])
    yield made
    made.ledger.close()


def every_minute(rig: Rig, **more: Any) -> str:
    cron = {"cron": "* * * * *", **more.pop("schedule", {})}
    return rig.submit("nightly", schedule=cron, **more)


def wait(rig: Rig, minutes: float = 1) -> None:
    """Time passes; what starts then runs."""
    rig.machine.time += int(minutes * MINUTE)
    rig.turn(3)


def runs(rig: Rig) -> list[tuple[str, str]]:
    """(workload, message) of every date that came."""
    fired = [each for each in rig.ledger.replay() if isinstance(each, ScheduleFired)]
    return [(each.workload, each.message) for each in fired]


def standing(rig: Rig) -> StandingSchedule:
    with rig.service.read() as mind:
        return mind.book.schedules.live["nightly"]


def test_nothing_is_submitted_before_the_first_date(rig: Rig) -> None:
    every_minute(rig)
    rig.turn(3)
    assert (rig.machine.began, runs(rig)) == ([], [])


def test_every_date_submits_the_workload(rig: Rig) -> None:
    every_minute(rig)
    for _ in range(3):
        wait(rig)
        rig.machine.end(rig.machine.began[-1][0])
        rig.turn()
    assert [run for run, _ in runs(rig)] == ["nightly-1", "nightly-2", "nightly-3"]
    assert rig.state("nightly-3") == "SUCCEEDED"
    with rig.service.read() as mind:
        assert mind.book.entries == {}


def test_the_answer_says_when_the_first_date_is(rig: Rig) -> None:
    data = {"name": "n", "run": "true", "schedule": "0 3 * * *"}
    answer = rig.do(lambda draft: submit.submit(draft, submit.checked(data, user="ada")))
    assert (answer.id, answer.due) == ("n", 3 * 3_600_000)


def test_a_server_that_was_down_makes_up_for_the_newest_date_once(rig: Rig) -> None:
    every_minute(rig)
    rig.machine.time += 10 * MINUTE
    rig.crash()
    rig.turn(3)
    assert runs(rig) == [("nightly-1", "9 dates were missed before it")]
    rig.crash()
    rig.turn(3)
    assert len(runs(rig)) == 1


def test_a_date_that_was_missed_for_too_long_is_left_out(rig: Rig) -> None:
    rig.submit("nightly", schedule={"cron": "0 * * * *", "keep": "10m"})
    rig.machine.time += 90 * MINUTE
    rig.crash()
    rig.turn(2)
    assert runs(rig) == [("", "it was missed for too long")]


def test_a_date_is_left_out_while_the_run_before_lives(rig: Rig) -> None:
    every_minute(rig)
    wait(rig)
    rig.crash()
    wait(rig)
    assert runs(rig) == [("nightly-1", ""), ("", "left out: nightly-1 has not ended")]
    assert standing(rig).message == "left out: nightly-1 has not ended"
    rig.machine.end("nightly-1/0", Outcome.FAILED, 1)
    wait(rig)
    assert runs(rig)[-1] == ("nightly-2", "")


def test_overlapping_runs_are_allowed_where_that_is_said(rig: Rig) -> None:
    every_minute(rig, schedule={"overlap": "allow"})
    for _ in range(3):
        wait(rig)
    assert [rig.state(run) for run, _ in runs(rig)] == ["RUNNING"] * 3


def test_the_run_before_is_replaced_and_has_left_before_the_next_begins(rig: Rig) -> None:
    rig.machine.lingering = True
    every_minute(rig, schedule={"overlap": "replace"})
    wait(rig)
    wait(rig)
    assert [rig.state(f"nightly-{n}") for n in (1, 2)] == ["STOPPING", "QUEUED"]
    rig.machine.leave()
    rig.turn(3)
    assert [rig.state(f"nightly-{n}") for n in (1, 2)] == ["CANCELLED", "RUNNING"]


def test_a_schedule_that_is_submitted_again_is_changed(rig: Rig) -> None:
    every_minute(rig)
    wait(rig)
    rig.submit("nightly", schedule="0 3 * * *")
    wait(rig, 5)
    assert len(runs(rig)) == 1
    assert standing(rig).schedule.cron == "0 3 * * *"
    assert standing(rig).run == "nightly-1"


def test_one_that_is_taken_back_submits_no_more_and_leaves_what_it_began(rig: Rig) -> None:
    every_minute(rig)
    wait(rig)
    rig.do(lambda draft: schedules.remove(draft, "nightly", "ada"))
    wait(rig, 3)
    rig.crash()
    wait(rig, 3)
    assert len(runs(rig)) == 1
    assert rig.state("nightly-1") == "RUNNING"
    with pytest.raises(NotFound, match="there is no schedule nightly"):
        rig.do(lambda draft: schedules.remove(draft, "nightly", "ada"))


def test_a_run_that_cannot_be_submitted_says_why_and_the_next_is_tried(rig: Rig) -> None:
    every_minute(rig)
    rig.submit("nightly")
    wait(rig)
    assert runs(rig) == [
        ("", "it could not be submitted: a workload named nightly is live: nightly-1")
    ]
    rig.machine.end("nightly-1/0")
    rig.turn()
    wait(rig)
    assert runs(rig)[-1] == ("nightly-2", "")


def test_nobody_changes_the_schedule_of_another(rig: Rig) -> None:
    every_minute(rig)
    data = {"name": "nightly", "run": "true", "schedule": "@daily"}
    with pytest.raises(Conflict, match="the schedule nightly is ada's"):
        rig.do(lambda draft: submit.submit(draft, submit.checked(data, user="bob")))


@pytest.mark.parametrize(
    ("cron", "problem"),
    [
        ("0 0 30 2 *", "bad day-of-month"),
        ("61 * * * *", "bad minute"),
        ("* * * *", "is not a cron expression"),
        ("0 0 0 * * *", "is not a cron expression"),
        ("nightly", "is not a cron expression"),
    ],
)
def test_dates_that_never_come_are_refused(rig: Rig, cron: str, problem: str) -> None:
    with pytest.raises(FieldError, match=problem) as caught:
        rig.submit("nightly", schedule=cron)
    assert caught.value.key == "schedule"
    assert "five fields" in caught.value.hint


def test_a_sweep_repeats_as_a_whole(rig: Rig) -> None:
    rig.submit("s", kind="sweep", params={"x": [1, 2, 3]}, schedule="* * * * *")
    wait(rig)
    assert {gang for gang, _ in rig.machine.began} == {"s-1/0", "s-1/1", "s-1/2"}


def by_the_wall(rig: Rig) -> int:
    return rig.machine.time + rig.machine.ahead_ms


def finish(rig: Rig) -> None:
    for gang, _ in list(rig.machine.live):
        rig.machine.end(gang)
    rig.turn()


def test_an_hour_forward_makes_up_for_one_date_and_names_the_others(rig: Rig) -> None:
    rig.machine.ahead_ms = 1_800_000_000_000
    every_minute(rig, schedule={"cron": "*/20 * * * *"})
    wait(rig)
    before = rig.machine.time
    rig.machine.ahead_ms += 60 * MINUTE
    rig.turn(3)
    [(workload, message)] = runs(rig)
    assert workload
    assert "2 dates were missed before it, as the clock was put forward by 60 min: " in message
    last = list(rig.ledger.replay())[-1]
    assert last.at - before < MINUTE, "the time of events does not jump"


def test_three_hours_back_silence_no_schedule_and_events_stay_in_order(rig: Rig) -> None:
    rig.machine.ahead_ms = 1_800_000_000_000
    every_minute(rig)
    wait(rig)
    finish(rig)
    rig.machine.ahead_ms -= 180 * MINUTE
    for _ in range(3):
        wait(rig)
        finish(rig)
    assert all(workload for workload, _ in runs(rig))
    said = [message for _, message in runs(rig)]
    assert said == ["", "it came before, as the clock was put back", "", ""]
    times = [entry.at for entry in rig.ledger.events()]
    assert times == sorted(times)
    due = [each.due for each in rig.ledger.replay() if isinstance(each, ScheduleFired)]
    assert due[1] < due[0] < by_the_wall(rig) + 180 * MINUTE


def fired(rig: Rig) -> list[ScheduleFired]:
    return [each for each in rig.ledger.replay() if isinstance(each, ScheduleFired)]


@pytest.mark.parametrize("seed", range(examples(6)))
def test_a_date_of_a_fixed_hour_is_acted_upon_once_however_often_the_clock_is_set_by_an_hour(
    rig: Rig, seed: int
) -> None:
    chance, began = random.Random(seed), EPOCH + 8 * 60 * MINUTE
    rig.machine.ahead_ms = began - rig.machine.time
    every_minute(rig, schedule={"cron": "10,40 9,10,11 * * *", "overlap": "allow"})
    ahead, seen = rig.machine.ahead_ms, set[int]()
    for _ in range(300):
        if chance.random() < 0.1:
            rig.machine.ahead_ms = ahead + chance.choice((-60, 0, 60)) * MINUTE
        rig.machine.time += MINUTE // 2
        rig.turn()
        finish(rig)
        new = [each for each in fired(rig) if each.at not in seen]
        assert all(each.due <= by_the_wall(rig) for each in new), "no date comes before its time"
        seen |= {each.at for each in new}
    rig.machine.ahead_ms = ahead
    acted = [each.due for each in fired(rig) if each.workload]
    assert len(acted) == len(set(acted))
    missed = sum("missed" in each.message for each in fired(rig))
    assert len(acted) + missed >= 2
    times = [entry.at for entry in rig.ledger.events(0, 100_000)]
    assert times == sorted(times)
    tomorrow = EPOCH + DAY + (9 * 60 + 9) * MINUTE
    rig.machine.time += tomorrow - by_the_wall(rig)
    rig.turn(2)  # what was missed meanwhile
    before = len(fired(rig))
    wait(rig, 2)
    assert [each.due for each in fired(rig)[before:]] == [tomorrow + MINUTE], "none is silent"


@pytest.mark.parametrize("stepped", [60, -60])
def test_a_clock_that_is_set_and_set_back_lets_no_date_come_twice(rig: Rig, stepped: int) -> None:
    rig.machine.ahead_ms = EPOCH + (9 * 60 + 30) * MINUTE - rig.machine.time
    every_minute(rig, schedule={"cron": "0 10 * * *", "overlap": "allow"})
    for minutes in (stepped, -stepped):
        for _ in range(45):
            wait(rig, 1)
        finish(rig)
        rig.machine.ahead_ms += minutes * MINUTE
    for _ in range(120):
        wait(rig, 1)
    ten = EPOCH + 10 * 60 * MINUTE
    assert [each.due for each in fired(rig) if each.workload] == [ten]


@pytest.mark.parametrize("stepped", [60, -60])
def test_a_clock_that_was_set_while_the_server_was_down_lets_no_date_come_twice(
    rig: Rig, stepped: int
) -> None:
    rig.machine.ahead_ms = EPOCH + (9 * 60 + 59) * MINUTE - rig.machine.time
    every_minute(rig, schedule={"cron": "0 10 * * *", "overlap": "allow"})
    wait(rig, 2)
    finish(rig)
    rig.machine.ahead_ms += stepped * MINUTE
    rig.crash()
    for _ in range(120):
        wait(rig, 1)
    assert [each.due for each in fired(rig) if each.workload] == [EPOCH + 10 * 60 * MINUTE]
