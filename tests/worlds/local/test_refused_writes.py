"""A local world on a disk that refuses some reads and writes, from a seed."""

import errno
from pathlib import Path

import pytest
from tests.effort import examples
from tests.faults.files import FaultyFiles
from tests.faults.plan import FaultPlan, Nth, at_every_call
from tests.worlds.local.jobs import Jobs, until

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangStarted, Outcome, PodsLeft
from ganglion.model.plan import Stop
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records

RATES = {"open": 0.1, "write": 0.1, "rename": 0.1, "mkdir": 0.05, "lock": 0.05}
"""Of the calls that one who writes makes."""


@pytest.mark.parametrize("seed", range(examples(4)))
def test_every_attempt_ends_once_and_leaves_no_process_whatever_the_disk_refuses(
    seed: int, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = FaultPlan(seed, 0.0, **RATES)
    disk = FaultyFiles(plan, (errno.ENOSPC, errno.EIO)[seed % 2])
    monkeypatch.setattr(host, "files", disk)
    quick = [jobs.run("true", name=f"quick{n}") for n in range(4)]
    slow = [jobs.run("sleep 600", name=f"slow{n}") for n in range(3)]
    until(lambda: all(map(jobs.ends, quick)), "quick jobs end")
    cause = Cause(CauseKind.CANCELLED)
    jobs.execute(stops=tuple(Stop(gang, 1, cause) for gang in slow))
    until(lambda: all(map(jobs.ends, slow)), "slow jobs end")
    assert plan.struck.total()
    plan.calm = True
    for gang, good in [(each, Outcome.SUCCEEDED) for each in quick] + [
        (each, Outcome.CANCELLED) for each in slow
    ]:
        (end,) = jobs.ends(gang)
        assert end.outcome in (good, Outcome.START_FAILED), end
        assert not records.is_held(jobs.directory(gang))
    found = jobs.restart()
    assert (found.adopted, found.killed) == ((), ())
    assert jobs.look() == []


@pytest.mark.parametrize("seed", range(examples(3)))
def test_no_fact_is_lost_while_records_cannot_be_read(
    seed: int, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = FaultPlan(seed, 0.0, read=0.3, stat=0.2)
    plan.calm = True
    monkeypatch.setattr(host, "files", FaultyFiles(plan, errno.EIO))
    gangs = [jobs.run("sleep 600", name=f"g{n}", pods=2, most=2) for n in range(4)]
    plan.calm = False
    until(lambda: {each.gang for each in jobs.seen(GangStarted)} == {*gangs}, "all have started")
    plan.calm = True
    for gang in gangs:
        jobs.resize(gang, 0)
    plan.calm = False
    until(lambda: {each.gang for each in jobs.seen(PodsLeft)} == {*gangs}, "pods have left")
    plan.calm = True
    assert len(jobs.seen(GangStarted)) == len(jobs.seen(PodsLeft)) == len(gangs)
    assert plan.struck["read"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("durable", [False, True])
def test_a_record_is_as_it_was_or_as_it_shall_be_and_nothing_is_left_beside_it(
    number: int, durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "exit.json"

    def story(plan: Nth) -> None:
        monkeypatch.setattr(host, "files", host.SYSTEM_FILES)  # type: ignore[attr-defined]
        records.write(path, {"before": 1})
        monkeypatch.setattr(host, "files", FaultyFiles(plan, number))
        try:
            records.write(path, {"after": 2}, durable=durable)
        except OSError:
            assert records.read(path) == {"before": 1}
        else:
            assert records.read(path) == {"after": 2}
        assert [each.name for each in tmp_path.iterdir()] == ["exit.json"]

    calls = ("open", "write", "sync", "rename")
    assert at_every_call(story, *calls) >= (4 if durable else 3)
