"""Attempts that go on where the one before was saved."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.worlds.local.jobs import Jobs, until

from ganglion.lifecycle.reports.hearing import MISSING
from ganglion.model.events import AlarmSet, Outcome
from ganglion.model.plan import SavePoint
from ganglion.model.workload import Checkpoint

SHOW = 'echo "step=$GANGLION_RESUME_STEP path=$GANGLION_RESUME_PATH attempt=$GANGLION_ATTEMPT."'


def go_on(jobs: Jobs, *saved: tuple[int, Path | str], **given: Any) -> str:
    """Start attempt 2 of a gang with these checkpoints, the newest first."""
    start = jobs.start_of(SHOW, attempt=2, **given)
    points = tuple(SavePoint(0, step, str(path), 1) for step, path in saved)
    jobs.execute(replace(start, resume=points))
    return start.gang.id


def shown(jobs: Jobs, gang: str) -> str:
    jobs.end(gang)
    return jobs.log(gang, attempt=2).strip()


def alarms(jobs: Jobs) -> list[str]:
    found = (each for each in jobs.look() if isinstance(each, AlarmSet))
    return [f"{each.alarm}: {each.message}" for each in found]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A checkpoint that is there."""
    path = tmp_path / "200.pt"
    path.touch()
    return path


def test_an_attempt_is_told_the_newest_checkpoint_and_its_number(jobs: Jobs, old: Path) -> None:
    gang = go_on(jobs, (200, old), (100, "/gone"))
    assert shown(jobs, gang) == f"step=200 path={old} attempt=2."
    assert not alarms(jobs)


def test_every_rank_and_the_setup_are_told(jobs: Jobs, old: Path) -> None:
    gang = go_on(jobs, (200, old), pods=2, setup=SHOW)
    jobs.end(gang)
    logs = jobs.log(gang, 0, 2) + jobs.log(gang, 1, 2)
    assert logs.count("step=200") == 4


def test_the_first_attempt_is_told_nothing(jobs: Jobs) -> None:
    gang = jobs.run(SHOW)
    jobs.end(gang)
    assert jobs.log(gang) == "step= path= attempt=1.\n"


def test_what_the_user_set_is_overruled(jobs: Jobs, old: Path) -> None:
    gang = go_on(jobs, (200, old), env={"GANGLION_RESUME_STEP": "7"})
    assert shown(jobs, gang).startswith("step=200 ")


def test_where_the_newest_is_gone_an_older_one_serves_and_an_alarm_says_so(
    jobs: Jobs, old: Path
) -> None:
    gang = go_on(jobs, (300, "/gone/300.pt"), (200, old))
    assert shown(jobs, gang) == f"step=200 path={old} attempt=2."
    assert alarms(jobs) == [
        f"{MISSING}: step 300 was saved in /gone/300.pt, which is not there any more:"
        " attempt 2 goes on from step 200"
    ]


def test_where_all_are_gone_it_starts_over_and_an_alarm_says_so(jobs: Jobs) -> None:
    gang = go_on(jobs, (300, "/gone/300.pt"), (200, "/gone/200.pt"))
    assert shown(jobs, gang) == "step= path= attempt=2."
    (alarm,) = alarms(jobs)
    assert alarm.endswith("nor is any older checkpoint: attempt 2 starts over")
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED


def test_where_all_are_gone_it_fails_if_it_must_not_start_over(jobs: Jobs) -> None:
    gang = go_on(jobs, (300, "/gone/300.pt"), checkpoint=Checkpoint(must_resume=True))
    end = jobs.end(gang)
    assert end.outcome is Outcome.FAILED
    assert end.message.startswith(
        "its checkpoints are missing: step 300 was saved in /gone/300.pt, which is not there"
    )
    assert jobs.log(gang, attempt=2) == ""


@pytest.mark.parametrize("path", ["s3://bucket/300", ""])
def test_what_only_the_program_can_look_for_is_handed_on(jobs: Jobs, path: str) -> None:
    gang = go_on(jobs, (300, path))
    assert shown(jobs, gang) == f"step=300 path={path} attempt=2."


def test_a_new_server_repeats_the_alarm(jobs: Jobs) -> None:
    gang = go_on(jobs, (300, "/gone/300.pt"))
    until(lambda: alarms(jobs))
    jobs.restart(running={gang: 2})
    until(lambda: alarms(jobs))
