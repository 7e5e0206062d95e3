"""The wall clock is set an hour forward and three back: durations do not notice."""

from pathlib import Path

import pytest
from tests.faults.clock import SetClock
from tests.worlds.local.jobs import Jobs, until

from ganglion.model.events import GangEnded, GangStarted
from ganglion.seams.effects import SYSTEM
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import clock, records
from ganglion.worlds.local.run_files.clock import SteadyClock

MINUTE, HOUR = 60_000, 3_600_000
NOON = 1_800_000_000_000


class Clocks:
    """The two clocks of a machine."""

    def __init__(self) -> None:
        self.up, self.ahead = 5 * MINUTE, NOON - 5 * MINUTE

    def wall(self) -> int:
        return self.up + self.ahead

    def uptime(self) -> int:
        return self.up

    def steady(self, home: Path, least: int = 0) -> SteadyClock:
        return SteadyClock(home, least, wall=self.wall, uptime=self.uptime)


@pytest.mark.parametrize("step", [HOUR, -3 * HOUR])
def test_a_step_changes_a_duration_by_a_twentieth_at_most(tmp_path: Path, step: int) -> None:
    clocks = Clocks()
    steady = clocks.steady(tmp_path)
    before = steady()
    assert before == NOON
    clocks.ahead += step
    assert steady() == before
    clocks.up += 10 * MINUTE
    passed = steady() - before
    assert 9.5 * MINUTE <= passed <= 10.5 * MINUTE
    assert steady.wall() == NOON + 10 * MINUTE + step


@pytest.mark.parametrize("step", [HOUR, -3 * HOUR, 300])
def test_it_comes_to_the_wall_clock_again_and_never_goes_back(tmp_path: Path, step: int) -> None:
    clocks = Clocks()
    steady = clocks.steady(tmp_path)
    clocks.ahead += step
    last = steady()
    for _ in range(61 * 60):
        clocks.up += MINUTE
        now = steady()
        assert now > last
        last = now
    assert last == clocks.wall()


def test_a_new_server_goes_on_with_the_same_time(tmp_path: Path) -> None:
    clocks = Clocks()
    steady = clocks.steady(tmp_path)
    clocks.ahead -= 3 * HOUR
    clocks.up += MINUTE
    at = steady()
    assert clocks.steady(tmp_path)() == pytest.approx(at, abs=clock.KEEP_MS * 4)


def test_after_a_restart_of_the_machine_the_wall_clock_counts_unless_the_ledger_is_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = Clocks()
    clocks.steady(tmp_path)
    monkeypatch.setattr(host, "boot_id", lambda: "another")
    clocks.up, clocks.ahead = 1_000, NOON - HOUR
    assert clocks.steady(tmp_path)() == clocks.wall()
    assert clocks.steady(tmp_path, least=NOON)() == NOON


@pytest.mark.parametrize("step", [HOUR, -3 * HOUR])
def test_a_job_that_runs_while_the_clock_is_set_ends_after_it_started(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """What supervisors record is taken by the time since boot."""
    gang = jobs.run("echo ready; while [ ! -e go ]; do sleep 0.02; done; exit 3")
    jobs.says(gang, "ready")
    until(lambda: jobs.seen(GangStarted), "it has started")
    before = jobs.world.now()
    (jobs.home / "go").touch()
    end_file = jobs.directory(gang) / records.EXIT
    end = until(lambda: records.read(end_file))
    records.write(end_file, end | {"at": end["at"] + step})  # as a clock that was set has it
    jobs.end(gang)
    [started] = jobs.seen(GangStarted)
    [ended] = jobs.seen(GangEnded)
    assert started.at - 20 <= before <= ended.at + 20 <= jobs.world.now() + 20
    assert ended.at - started.at < MINUTE


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_world_tells_both_times_by_the_seam_and_an_hour_moves_only_that_of_the_wall(
    jobs: Jobs, step: int
) -> None:
    set_clock = SetClock()
    jobs.restart(effects=SYSTEM._replace(clock=set_clock))
    gang = jobs.run("echo ready; read line; exit 7", name="w")
    before, wall = jobs.world.now(), jobs.world.wall()
    set_clock.ahead_ms += step
    assert abs(jobs.world.wall() - wall - step) < MINUTE
    assert 0 <= jobs.world.now() - before < MINUTE
    end = jobs.end(gang)
    (started,) = jobs.seen(GangStarted)
    assert started.at <= end.at < started.at + MINUTE
