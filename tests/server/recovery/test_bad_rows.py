"""A home opens whatever lies in a row of the table of workloads, names it, and goes on."""

import sqlite3
from pathlib import Path
from random import Random

import pytest

from ganglion.server.recovery import written
from ganglion.server.views.workloads import filed_detail, filed_view, history_item
from tests import effort
from tests.server.conftest import Rig
from tests.server.recovery.test_bad_events import Isolated, flaws, reopened, running


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Isolated(tmp_path / "home")


def told(rig: Rig) -> str:
    with rig.service.read() as mind:
        return "; ".join(flaw.problem for flaw in mind.book.flaws.values())


NONSENSE = "UPDATE workloads SET body = ? WHERE id = ?"


def test_a_row_is_rebuilt_from_the_last_checkpoint(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, other = rig.submit("a", run="sleep 9"), running(rig, "b")
    monkeypatch.setattr(written, "SNAPSHOT", 1)
    rig.turn(2)
    reopened(rig, "DELETE FROM workloads WHERE id = ?", job)
    assert flaws(rig) == {-1: "workload"}
    assert "is gone; it was rebuilt as the last checkpoint has it" in told(rig)
    with rig.service.read() as mind:
        assert mind.book.entries[job].workload.run.command
    assert rig.state(job) == rig.state(other) == "RUNNING"
    rig.crash()
    assert flaws(rig) == {}, "the row was written again"
    rig.machine.end(f"{job}/0")
    rig.turn(2)
    assert rig.state(job) == "SUCCEEDED"
    assert rig.submit("c") == "c-3"


def test_a_row_is_rebuilt_from_the_workload_file_in_it(rig: Rig) -> None:
    job = rig.submit("a", run="sleep 9", resources={"gpus": 2}, retry={"limit": 3})
    rig.turn(2)
    with rig.service.read() as mind:
        before = mind.book.entries[job].workload
    reopened(rig, NONSENSE, b'{"name"', job)
    assert "it was rebuilt from its workload file" in told(rig)
    with rig.service.read() as mind:
        assert mind.book.entries[job].workload == before
    assert rig.state(job) == "RUNNING"


def test_what_cannot_be_rebuilt_goes_on_and_waits_for_a_person(rig: Rig) -> None:
    job, other = running(rig), running(rig, "b")
    reopened(rig, "UPDATE workloads SET body = '', document = '\\' WHERE id = ?", job)
    assert flaws(rig) == {-1: "workload"}
    assert "cannot be rebuilt" in told(rig)
    with rig.service.read() as mind:
        assert "cannot be rebuilt" in mind.state.gangs.records[f"{job}/0"].fault
    assert rig.state(job) == rig.state(other) == "RUNNING"
    rig.machine.end(f"{job}/0")
    rig.turn(2)
    assert rig.state(job) == "SUCCEEDED"
    assert rig.service.trouble == ""


def test_a_damaged_row_of_an_ended_workload_is_shown_as_far_as_it_goes(rig: Rig) -> None:
    jobs = [running(rig, name) for name in "ab"]
    for job in jobs:
        rig.machine.end(f"{job}/0")
    rig.turn(2)
    reopened(rig, "UPDATE workloads SET body = X'FF', detail = '{\"id\"' WHERE id = ?", jobs[0])
    assert flaws(rig) == {}
    found = rig.ledger.history.ended(below=99, limit=9)
    lines = {each.id: filed_view(each) for each in found}
    assert [lines[job].state for job in jobs] == ["SUCCEEDED"] * 2
    assert "damaged" in lines[jobs[0]].message
    assert {history_item(each).id for each in found} == set(jobs)
    assert {filed_detail(each).name for each in found} == {"a", "b"}


COLUMNS = ("id", "name", "at", "user", "queue", "kind", "document", "body", "state", "number")


@pytest.mark.parametrize("seed", range(effort.examples(30)))
def test_any_damage_of_rows_leaves_a_home_that_opens_and_works(rig: Rig, seed: int) -> None:
    rng = Random(seed)
    jobs = [rig.submit(f"w{n}", resources={"gpus": rng.randint(1, 8)}) for n in range(5)]
    rig.turn(2)
    if rng.random() < 0.5:
        rig.machine.end(sorted(rig.machine.live)[0][0])
        rig.turn()
    rig.ledger.close()
    with sqlite3.connect(rig.home.ledger) as raw:
        for job in rng.sample(jobs, 2):
            _damage(raw, rng, job)
    raw.close()
    rig.start()
    rig.turn(3)
    assert rig.service.trouble == ""
    for job in jobs:
        if f"{job}/0" in {gang for gang, _ in rig.machine.live}:
            assert rig.state(job) == "RUNNING"
    rig.ledger.history.ended(below=1 << 60, limit=99)
    after = rig.submit("after")
    rig.turn(2)
    assert rig.state(after) in ("RUNNING", "QUEUED")
    rig.crash()
    assert rig.service.trouble == ""


def _damage(raw: sqlite3.Connection, rng: Random, job: str) -> None:
    if rng.random() < 0.2:
        raw.execute("DELETE FROM workloads WHERE id = ?", (job,))
        return
    column = rng.choice(COLUMNS)
    (value,) = raw.execute(f"SELECT {column} FROM workloads WHERE id = ?", (job,)).fetchone()
    broken: object = rng.randrange(1 << 40) if column == "number" else b"\xff"
    if isinstance(value, bytes) and value:
        flipped = bytearray(value)
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        broken = rng.choice([bytes(flipped), b"", b"null", b"{}", bytes(flipped[:20])])
    elif isinstance(value, str):
        broken = rng.choice(["", "x", f"{value}x"])
    raw.execute(f"UPDATE workloads SET {column} = ? WHERE id = ?", (broken, job))
