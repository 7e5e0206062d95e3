"""Real training that is preempted: what it lost, and whether all sources say the same."""

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ganglion.cli.output.formats import preempted
from ganglion.ledger.ledger import Ledger
from ganglion.model.events import (
    AlarmSet,
    CheckpointCommitted,
    Event,
    GangEnded,
    GangStarted,
    Outcome,
)
from tests.forking import ganglion
from tests.server.failures.trainer import STEP_S
from tests.server.process import Api, Nursery, until

TRAINER = Path(__file__).with_name("trainer.py")
GPUS, GRACE_MS, EVERY, ENDLESS = 4, 1_000, 25, 1_000_000


class Mark(NamedTuple):
    """One step that one rank did."""

    attempt: int
    rank: int
    step: int
    at: int


class Place:
    """A server with two nodes of 4 GPUs each."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.nursery, self.api = Nursery(self.home), Api(self.home)
        self.nursery.start()

    def fill(self) -> None:
        """Take one of the nodes until `free` exists."""
        run = f"while [ ! -e {self.folder}/free ]; do sleep 0.02; done"
        self.submit("filler", run, priority=95)

    def submit(self, name: str, run: str, **document: Any) -> str:
        body = {"name": name, "queue": "red", "run": run, "resources": {"gpus": GPUS}} | document
        answer = self.api.patiently(
            "POST", "/workloads", json=body, headers={"Idempotency-Key": name}
        )
        return str(answer["id"])

    def train(self, manner: str, steps: int = ENDLESS, **document: Any) -> str:
        command = f"{sys.executable} {TRAINER} {self.folder}/marks {steps} {EVERY} {manner}"
        given = {"priority": 10, "procs_per_node": 2, "checkpoint": {"grace": f"{GRACE_MS}ms"}}
        source = {"env": {"PYTHONPATH": os.pathsep.join(sys.path)}}
        return self.submit("train", command, **given | source | document)

    def marks(self, attempt: int) -> list[Mark]:
        path = self.folder / "marks"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        whole = (Mark(*map(int, line.split())) for line in lines if line.endswith("\n"))
        return [mark for mark in whole if mark.attempt == attempt]

    def preempt(self, victim: str, attempt: int = 1) -> str:
        """Have an urgent job take the place of the victim, once that has saved a few times."""
        until(lambda: any(mark.step > 3 * EVERY + 5 for mark in self.marks(attempt)), 60)
        urgent = self.submit(
            "urgent", f"while [ ! -e {self.folder}/done ]; do sleep 0.02; done", priority=90
        )
        until(lambda: self.view(urgent)["state"] == "RUNNING")
        return urgent

    def view(self, workload: str) -> Any:
        return self.api.patiently("GET", f"/workloads/{workload}")

    def nodes(self, workload: str) -> set[str]:
        (gang,) = self.view(workload)["gangs"]
        return {pod["node"] for pod in gang["placement"]["pods"]}

    def ganglion(self, *words: str) -> str:
        done = ganglion(*words, environ=os.environ | {"GANGLION_HOME": str(self.home)})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def events(self, gang: str) -> list[Event]:
        """What the ledger says of a gang, read from a copy, as the server holds the ledger."""
        copy = self.folder / "copy.db"
        with (
            closing(sqlite3.connect(f"file:{self.home}/ledger.db?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
        ledger = Ledger.open(copy)
        try:
            return [
                event
                for event in ledger.replay()
                if gang in (getattr(event, "gang", ""), getattr(event, "subject", ""))
            ]
        finally:
            ledger.close()

    def end_all(self) -> None:
        for each in self.api.patiently("GET", "/workloads")["items"]:
            self.api.patiently("POST", f"/workloads/{each['id']}/cancel", json={"force": True})
        until(
            lambda: all(each["ended"] for each in self.api.patiently("GET", "/workloads")["items"])
        )


@pytest.fixture
def place(tmp_path: Path) -> Any:
    made = Place(tmp_path)
    try:
        made.fill()
        yield made
        made.end_all()
    finally:
        made.api.close()
        made.nursery.close()


def of(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("manner", ["polite", "deaf"])
def test_no_more_is_lost_than_since_the_last_checkpoint_and_all_tell_the_same_figure(
    place: Place, manner: str
) -> None:
    train = place.train(manner)
    where = place.nodes(train) or until(lambda: place.nodes(train))
    place.preempt(train)
    (place.folder / "free").touch()
    until(lambda: place.marks(2), 60)
    assert place.nodes(train).isdisjoint(where)

    until(lambda: len(of(place.events(f"{train}/0"), GangStarted)) > 1)
    events = place.events(f"{train}/0")
    end, saved = of(events, GangEnded)[0], of(events, CheckpointCommitted)
    last = [each for each in saved if each.attempt == 1][-1]
    assert (end.outcome, end.requeue, end.killed) == (Outcome.PREEMPTED, True, manner == "deaf")
    assert end.lost_gpu_ms == GPUS * (end.at - last.at) > 0

    # It went on from that very step, and what it did twice is what the figure says.
    before, after = place.marks(1), place.marks(2)
    assert {mark.step for mark in after if mark.step <= last.step} == set()
    assert min(mark.step for mark in after) == last.step + 1
    twice = [mark for mark in before if mark.step > last.step and mark.rank == 0]
    assert all(last.at - 1_000 * STEP_S <= mark.at <= end.at for mark in twice)
    started = of(events, GangStarted)[1].at
    assert min(after[0].at, started) >= end.at
    if manner == "polite":
        assert twice == []
    else:
        assert end.at - last.at >= GRACE_MS - 100  # it may save at the moment of the order

    why = place.api.patiently("GET", f"/workloads/{train}/why")["explanations"][0]
    view = place.view(train)
    shown = {one["lost_gpu_ms"] for one in (why, view, view["gangs"][0])}
    assert shown == {end.lost_gpu_ms}
    line = preempted(1, end.lost_gpu_ms)
    assert line in place.ganglion("describe", train)
    assert line in place.ganglion("why", train)


def test_a_checkpoint_that_is_gone_is_told_and_an_older_one_serves(place: Place) -> None:
    train = place.train("polite")
    place.preempt(train)
    folder = place.home / "checkpoints" / f"{train}/0"
    view = until(lambda: place.view(train)["gangs"][0])
    until(lambda: place.view(train)["state"] == "QUEUED")
    newest = place.view(train)["gangs"][0]["saved"]
    Path(newest["path"]).unlink()
    (place.folder / "free").touch()
    begun = min(mark.step for mark in until(lambda: place.marks(2), 60))
    assert view["attempt"] == 1
    assert begun < newest["step"]
    assert (folder / f"{begun - 1}.json").exists()
    (alarm,) = until(lambda: of(place.events(f"{train}/0"), AlarmSet))
    assert alarm.alarm == "checkpoint.missing"
    assert f"goes on from step {begun - 1}" in alarm.message


def test_a_server_that_is_killed_forgets_neither_checkpoint_nor_cost(place: Place) -> None:
    train = place.train("deaf")
    place.preempt(train)
    until(lambda: place.view(train)["state"] == "QUEUED")
    before = place.view(train)
    place.nursery.end(9)
    place.nursery.start()
    after = until(lambda: place.view(train))
    assert after["lost_gpu_ms"] == before["lost_gpu_ms"] > 0
    assert after["gangs"][0]["saved"] == before["gangs"][0]["saved"]
    (place.folder / "free").touch()
    begun = min(mark.step for mark in until(lambda: place.marks(2), 60))
    assert begun == before["gangs"][0]["saved"]["step"] + 1
