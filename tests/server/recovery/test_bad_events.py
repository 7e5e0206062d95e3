"""A home opens whatever an event of its ledger does to the engine, and names the event."""

import sqlite3
from collections import Counter
from pathlib import Path
from random import Random

import msgspec
import pytest

from ganglion.ledger.records import Batch
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import (
    Event,
    GangEnded,
    GangPlaced,
    GangStopping,
    GangUpdated,
    Outcome,
)
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement, PodPlacement
from tests.server.conftest import Rig


class Isolated(Rig):
    isolate = True


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Isolated(tmp_path / "home")


def reopened(rig: Rig, statement: str = "", *values: object) -> None:
    """Edit the ledger while no server runs."""
    rig.ledger.close()
    if statement:
        with sqlite3.connect(rig.home.ledger) as raw:
            assert raw.execute(statement, values).rowcount == 1
        raw.close()
    rig.start()
    rig.turn(2)


def flaws(rig: Rig) -> dict[int, str]:
    with rig.service.read() as mind:
        mind.state.validate()
        return {seq: flaw.kind for seq, flaw in mind.book.flaws.items()}


def seq_of(rig: Rig, kind: str) -> int:
    return next(entry.seq for entry in rig.ledger.events() if entry.kind == kind)


def running(rig: Rig, name: str = "a") -> str:
    job = rig.submit(name)
    rig.turn(2)
    assert rig.state(job) == "RUNNING"
    return job


NOWHERE = Placement((PodPlacement("main", 0, "nowhere", (0,), 1000),), Level.NODE, "nowhere")
SENSELESS: list[Event] = [
    GangStopping(5, "ghost-1/0", 1, Cause(CauseKind.OTHER, text="x")),
    GangEnded(5, "ghost-1/0", 1, Outcome.SUCCEEDED),
    GangPlaced(5, "ghost-1/0", 1, NOWHERE),
    GangUpdated(5, "ghost-1/0", priority=3),
]


@pytest.mark.parametrize("event", SENSELESS, ids=lambda event: type(event).__name__)
def test_an_event_about_a_gang_that_nobody_knows_is_named(rig: Rig, event: Event) -> None:
    job = running(rig)
    (entry,) = rig.ledger.append(Batch(5, [event]))
    reopened(rig)
    assert flaws(rig) == {entry.seq: entry.kind}
    assert rig.state(job) == "RUNNING"
    assert rig.service.trouble == ""
    assert rig.state(running(rig, "b")) == "RUNNING"


def test_a_gang_whose_placement_cannot_be_read_waits_for_a_person_and_its_gpu_is_not_lost(
    rig: Rig,
) -> None:
    job = running(rig)
    seq = seq_of(rig, "gang_placed")
    reopened(rig, "UPDATE events SET body = substr(body, 1, 60) WHERE seq = ?", seq)
    assert flaws(rig)[seq] == "gang_placed"
    with rig.service.read() as mind:
        record = mind.state.gangs.records[f"{job}/0"]
        assert record.placement is None
        assert "of the ledger" in record.fault
    assert rig.machine.began == [(f"{job}/0", 1)]
    wide = [running(rig, f"w{i}") for i in range(2)]
    assert [rig.state(each) for each in wide] == ["RUNNING"] * 2


def test_an_attempt_whose_placement_is_passed_over_is_never_begun_again(rig: Rig) -> None:
    job = running(rig)
    seq = seq_of(rig, "gang_placed")
    body = next(entry.body for entry in rig.ledger.events() if entry.seq == seq)
    document = msgspec.json.decode(body)
    document["placement"]["pods"] = "gone"
    changed = msgspec.json.encode(document)
    reopened(rig, "UPDATE events SET body = ? WHERE seq = ?", changed, seq)
    with rig.service.read() as mind:
        assert mind.state.gangs.records[f"{job}/0"].attempt == 1
    rig.do(lambda draft: draft.apply(GangUpdated(draft.now, f"{job}/0", priority=60)))
    rig.turn(2)
    assert rig.machine.began == [(f"{job}/0", 1), (f"{job}/0", 2)]


def test_an_end_that_cannot_be_read_is_reported_anew_by_the_world(rig: Rig) -> None:
    job = running(rig)
    rig.machine.end(f"{job}/0")
    rig.turn()
    seq = seq_of(rig, "gang_ended")
    reopened(rig, "UPDATE events SET body = ? WHERE seq = ?", b"\xff", seq)
    assert flaws(rig)[seq] == "gang_ended"
    assert rig.service.trouble == ""


def test_a_workload_whose_gangs_are_gone_is_named(rig: Rig) -> None:
    job = running(rig)
    other = running(rig, "b")
    reopened(rig, "DELETE FROM events WHERE seq = ?", seq_of(rig, "gang_submitted"))
    found = flaws(rig)
    assert "" in found.values()
    assert found[-1] == "workload"
    assert rig.state(other) == "RUNNING"
    assert rig.state(job) == ""


@pytest.mark.parametrize("seed", range(40))
def test_any_damage_leaves_a_home_that_opens_and_works(rig: Rig, seed: int) -> None:
    rng = Random(seed)
    for number in range(6):
        job = rig.submit(f"w{number}", resources={"gpus": rng.randint(1, 8)})
        rig.turn(2)
        if rng.random() < 0.5 and rig.machine.live:
            rig.machine.end(sorted(rig.machine.live)[0][0])
            rig.turn()
    damaged = rng.sample(range(1, rig.ledger.head + 1), 3)
    rig.ledger.close()
    with sqlite3.connect(rig.home.ledger) as raw:
        for seq in damaged:
            (body,) = raw.execute("SELECT body FROM events WHERE seq = ?", (seq,)).fetchone()
            broken = bytearray(body)
            broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
            change = rng.choice([bytes(broken), b"", b"null", b"{}", bytes(broken[:20])])
            raw.execute("UPDATE events SET body = ? WHERE seq = ?", (change, seq))
    raw.close()
    rig.start()
    rig.turn(3)
    assert rig.service.trouble == ""
    with rig.service.read() as mind:
        held = Counter(
            (pod.node, device)
            for record in mind.state.gangs.records.values()
            for pod in (record.placement.pods if record.placement else ())
            for device in pod.devices
        )
    assert set(held.values()) <= {1}
    job = rig.submit("after", queue="default", resources={"gpus": 1})
    rig.turn(2)
    assert rig.state(job) in ("RUNNING", "QUEUED")
