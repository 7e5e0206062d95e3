"""Jobs that say when a checkpoint is complete."""

import os

import pytest
from tests.worlds.local.jobs import Jobs, until

from ganglion.lifecycle.reports import hearing
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import CheckpointCommitted

SAVES = (
    "echo ready; while :; do "
    "[ -e save ] && rm save && echo 7 > $GANGLION_CHECKPOINT_FILE; sleep 0.02; done"
)


def saved(jobs: Jobs) -> list[CheckpointCommitted]:
    return [fact for fact in jobs.look() if isinstance(fact, CheckpointCommitted)]


def save(jobs: Jobs) -> None:
    (jobs.home / "save").touch()
    until(lambda: not (jobs.home / "save").exists())


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report every checkpoint, however short a time it is after the last one."""
    monkeypatch.setattr(hearing, "QUIET_MS", 0)


def test_a_job_that_saves_all_the_time_is_heard_now_and_then_and_at_its_end(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing, "QUIET_MS", 3_600_000)
    gang = jobs.run(SAVES)
    jobs.says(gang, "ready")
    for _ in range(3):
        save(jobs)
        until(lambda: saved(jobs))
    assert len(saved(jobs)) == 1
    jobs.world.stop(gang, 1, Cause(CauseKind.PREEMPTED, gang="urgent-3"))
    end = jobs.end(gang)
    first, last = saved(jobs)
    assert first.at < last.at <= end.at
    assert jobs.facts.index(last) < jobs.facts.index(end)


def test_every_complete_checkpoint_is_reported_once_with_its_time(jobs: Jobs) -> None:
    gang = jobs.run(SAVES)
    jobs.says(gang, "ready")
    assert not saved(jobs)
    begun = jobs.world.now()
    for times in (1, 2):
        save(jobs)
        until(lambda times=times: len(saved(jobs)) >= times, "it is reported")
        jobs.look()
    first, second = saved(jobs)
    assert (first.gang, first.attempt) == (gang, 1)
    assert begun - 1_000 <= first.at < second.at <= jobs.world.now()


def test_the_time_of_a_checkpoint_never_lies_ahead(jobs: Jobs) -> None:
    gang = jobs.run("echo ready; sleep 60")
    jobs.says(gang, "ready")
    note = jobs.directory(gang) / "checkpoint"
    note.touch()
    os.utime(note, (4_000_000_000, 4_000_000_000))
    (report,) = until(lambda: saved(jobs))
    assert report.at <= jobs.world.now()


def test_a_new_server_hears_of_the_last_checkpoint_again(jobs: Jobs) -> None:
    gang = jobs.run(SAVES)
    jobs.says(gang, "ready")
    save(jobs)
    (first,) = until(lambda: saved(jobs))
    jobs.restart(running={gang: 1})
    assert until(lambda: saved(jobs)) == [first]
