"""Runs and logs are kept by age and by size, and those of live attempts always."""

import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.clock import HandClock
from tests.faults.files import FaultyFiles
from tests.faults.plan import Nth, at_every_call
from tests.worlds.local.jobs import Jobs

from ganglion.model.errors import EnvironmentFault
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import logs, paths, records
from ganglion.worlds.local.run_files.retention import (
    DAY_MS,
    MB,
    Retention,
    RetentionRule,
    pruned,
    rule_of,
    sweep,
    tidy,
)

NOW = 1_800_000_000_000


def ran(home: Path, gang: str, days_ago: float, size: int = 10, *, attempt: int = 1) -> None:
    """An attempt that ended this time ago and wrote this number of bytes."""
    run = paths.run_dir(home, gang, attempt)
    run.mkdir(parents=True)
    records.write(run / records.SPEC, {})
    records.write(run / records.EXIT, {"at": NOW - int(days_ago * DAY_MS)})
    (run / "rank-0.log").write_bytes(b"x" * size)


def ran_of_old(home: Path, gang: str, days_ago: float) -> None:
    """The same in the layout of older versions."""
    run, log = home / "runs" / gang / "1", home / "logs" / gang / "1"
    for folder in (run, log):
        folder.mkdir(parents=True)
    records.write(run / records.EXIT, {"at": NOW - int(days_ago * DAY_MS)})
    (log / "rank-0.log").write_text("old\n")


def left(home: Path) -> list[str]:
    return [gang for gang, _ in paths.attempts_on_disk(home)]


def test_what_is_too_old_goes_and_says_by_which_rule(tmp_path: Path) -> None:
    ran(tmp_path, "old-1/0", 31)
    ran(tmp_path, "young-2/0", 29)
    ran_of_old(tmp_path, "older-3/0", 40)
    found = sweep(tmp_path, RetentionRule(days=30), (), NOW)
    assert found.attempts == {("old-1/0", 1): "age", ("older-3/0", 1): "age"}
    assert left(tmp_path) == ["young-2/0"]
    assert pruned(tmp_path, "old-1/0", 1) == (
        "attempt 1 of old-1/0 was removed by age: runs are kept for 30 days"
    )
    assert pruned(tmp_path, "young-2/0", 1) == pruned(tmp_path, "never-4/0", 1) == ""
    assert not (tmp_path / "runs" / "older-3").exists()
    assert not (tmp_path / "logs" / "older-3").exists()


def test_of_what_is_too_large_the_oldest_goes_first(tmp_path: Path) -> None:
    for number in range(5):
        ran(tmp_path, f"w-{number}/0", number, MB)
    found = sweep(tmp_path, RetentionRule(days=0, megabytes=3), (), NOW)
    assert set(found.attempts.values()) == {"size"}
    assert left(tmp_path) == ["w-0/0", "w-1/0"]
    assert found.freed > 3 * MB
    assert "removed by size: runs are kept for 10000 MB in all" in pruned(tmp_path, "w-4/0", 1)


def test_live_attempts_and_those_without_an_end_stay_whatever_their_age_and_size(
    tmp_path: Path,
) -> None:
    ran(tmp_path, "live-1/0", 99, MB)
    ran(tmp_path, "runs-2/0", 99, MB)
    (paths.run_dir(tmp_path, "runs-2/0", 1) / records.EXIT).unlink()
    assert not sweep(tmp_path, RetentionRule(days=1, megabytes=1), {("live-1/0", 1)}, NOW).attempts


def test_limits_of_0_keep_everything(tmp_path: Path) -> None:
    ran(tmp_path, "w-1/0", 9_999, 2 * MB)
    assert not sweep(tmp_path, RetentionRule(days=0, megabytes=0), (), NOW).attempts


def test_the_rule_is_read_from_the_home_and_a_wrong_one_removes_nothing(tmp_path: Path) -> None:
    assert rule_of(tmp_path) == RetentionRule(30, 10_000)
    (tmp_path / "retention.json").write_text(json.dumps({"days": 90}))
    assert rule_of(tmp_path) == RetentionRule(90, 10_000)
    for wrong in ("{", '{"day": 3}', '{"days": "3"}', '{"days": -1}'):
        (tmp_path / "retention.json").write_text(wrong)
        with pytest.raises(EnvironmentFault, match=r"retention\.json"):
            rule_of(tmp_path)


def test_one_folder_and_three_files_are_left_of_a_job(jobs: Jobs) -> None:
    gang = jobs.run("echo said; sleep 0.01")
    jobs.end(gang)
    jobs.world.tidy(gang, 1)
    kept = {path.relative_to(jobs.home / "runs") for path in jobs.directory(gang).rglob("*")}
    assert {path.name for path in kept} == {"spec.json", "exit.json", "rank-0.log"}
    assert jobs.directory(gang).parent == jobs.home / "runs"
    assert not (jobs.home / "logs").exists()
    assert not (jobs.home / "checkpoints" / "job-1").exists()
    assert jobs.log(gang) == "said\n"
    jobs.restart(running={gang: 1})
    assert jobs.end(gang).exit_code == 0, "a ledger that was put back still finds the end"


def test_checkpoints_and_files_of_the_job_are_left_alone(jobs: Jobs) -> None:
    gang = jobs.run('echo 1 > "$GANGLION_CHECKPOINT_DIR/step"; echo 2 > "$GANGLION_RUN_DIR/mine"')
    jobs.end(gang)
    jobs.world.tidy(gang, 1)
    assert (jobs.home / "checkpoints" / gang / "step").read_text() == "1\n"
    assert (jobs.directory(gang) / "mine").read_text() == "2\n"


def test_a_live_attempt_is_not_tidied(jobs: Jobs) -> None:
    gang = jobs.run("echo ready; sleep 60")
    jobs.says(gang, "ready")
    jobs.world.tidy(gang, 1)
    tidy(jobs.home, gang, 1)
    assert records.is_held(jobs.directory(gang))


def test_the_older_layout_is_still_read(tmp_path: Path) -> None:
    ran_of_old(tmp_path, "w-1/0", 1)
    assert logs.attempts(tmp_path, "w-1/0") == (1,)
    assert logs.ranks(tmp_path, "w-1/0", 1) == (0,)
    assert paths.attempts_on_disk(tmp_path) == [("w-1/0", 1)]
    assert paths.logged_gangs(tmp_path) == ["w-1/0"]


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes calls fail from now on: those of some names, for paths that have a part."""

    def breaks(among: str, *calls: str, plan: Nth | None = None) -> None:
        files = FaultyFiles(plan or Nth(1, *calls, stays=True), errno.EACCES, among=among)
        monkeypatch.setattr(host, "files", files)

    return breaks


@pytest.mark.parametrize("call", ["names", "stat", "read", "unlink", "remove_tree"])
def test_an_attempt_that_cannot_be_removed_is_named_and_keeps_no_other(
    tmp_path: Path, disk: Callable[..., None], call: str
) -> None:
    for number in range(3):
        ran(tmp_path, f"w-{number}/0", 40)
    run = paths.run_dir(tmp_path, "w-1/0", 1)
    disk(str(run), call)
    found = sweep(tmp_path, RetentionRule(days=30), (), NOW)
    disk("", plan=Nth(0))
    assert set(found.attempts) == {("w-0/0", 1), ("w-2/0", 1)}
    assert set(found.refused) == {("w-1/0", 1)}
    assert str(run) in found.refused["w-1/0", 1]
    assert left(tmp_path) == ["w-1/0"]
    assert pruned(tmp_path, "w-1/0", 1) == ""
    assert "removed by age" in pruned(tmp_path, "w-0/0", 1)
    again = sweep(tmp_path, RetentionRule(days=30), (), NOW)
    assert (set(again.attempts), again.refused) == ({("w-1/0", 1)}, {})
    assert left(tmp_path) == []


def test_whatever_is_refused_on_the_way_an_attempt_is_removed_by_the_next_sweep(
    tmp_path: Path, disk: Callable[..., None]
) -> None:
    calls = ("names", "stat", "read", "unlink", "remove_tree", "rmdir")

    def story(plan: Nth) -> None:
        disk("", plan=Nth(0))
        ran(tmp_path, "w-1/0", 40)
        (paths.run_dir(tmp_path, "w-1/0", 1) / "reports").mkdir()
        ran_of_old(tmp_path, "old-2/0", 40)
        disk("w-1", plan=plan)
        sweep(tmp_path, RetentionRule(days=30), (), NOW)
        disk("", plan=Nth(0))
        sweep(tmp_path, RetentionRule(days=30), (), NOW)
        assert left(tmp_path) == []

    assert at_every_call(story, *calls) > 10


def test_an_attempt_that_cannot_be_tidied_keeps_no_other_from_being_tidied_or_removed(
    tmp_path: Path, disk: Callable[..., None]
) -> None:
    for number in range(3):
        ran(tmp_path, f"w-{number}/0", 40)
        records.write(paths.run_dir(tmp_path, f"w-{number}/0", 1) / records.STOP, {})
    (tmp_path / "retention.json").write_text(json.dumps({"days": 0, "megabytes": 0}))
    stops = [paths.run_dir(tmp_path, f"w-{n}/0", 1) / records.STOP for n in range(3)]
    retention = Retention(tmp_path, tuple, HandClock(NOW))
    disk(str(stops[1]), "unlink")
    retention.sweep()
    assert [stop.exists() for stop in stops] == [False, True, False]
    (tmp_path / "retention.json").write_text(json.dumps({"days": 30}))
    retention.sweep()
    assert left(tmp_path) == ["w-1/0"]
    disk("", plan=Nth(0))
    (tmp_path / "retention.json").write_text("{")  # nothing is removed, what is over is tidied
    retention.sweep()
    assert left(tmp_path) == ["w-1/0"]
    assert not stops[1].exists()


def test_an_end_that_says_no_time_is_left_alone_and_keeps_no_other(tmp_path: Path) -> None:
    ran(tmp_path, "w-0/0", 40)
    ran(tmp_path, "w-1/0", 40)
    records.write(paths.run_dir(tmp_path, "w-0/0", 1) / records.EXIT, {"outcome": "failed"})
    assert set(sweep(tmp_path, RetentionRule(days=30), (), NOW).attempts) == {("w-1/0", 1)}
