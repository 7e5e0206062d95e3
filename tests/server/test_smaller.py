"""A machine comes back with fewer GPUs than its running jobs hold: the server comes up."""

import json
from collections.abc import Iterator
from pathlib import Path
from signal import SIGTERM
from typing import Any

import pytest

from tests.server.process import Api, Nursery, until

CLUSTER = """
nodes:
  - {{name: n0, cpus: 16, memory: 16GB, gpus: "H100:80GB:{gpus}"}}
queues:
  - {{name: red}}
"""
WAITS = "while [ ! -e {} ]; do sleep 0.02; done"


class Place:
    """A server of one node."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.nursery, self.api = Nursery(self.home), Api(self.home)

    def start(self, gpus: int) -> None:
        (self.folder / "cluster.yaml").write_text(CLUSTER.format(gpus=gpus))
        self.nursery.start()

    def submit(self, name: str) -> None:
        run = WAITS.format(self.folder / name)
        body = {"name": name, "queue": "red", "run": run, "resources": {"gpus": 2}}
        self.api.patiently("POST", "/workloads", json=body, headers={"Idempotency-Key": name})

    def state(self, name: str) -> str:
        return str(self.api.patiently("GET", f"/workloads/{name}")["state"])

    def told(self) -> str:
        """Why the first gang that had to go was stopped; empty = none was."""
        for each in self.events():
            if each["type"] == "gang_stopping" or each.get("outcome") == "node_lost":
                return str(each.get("cause") or each["message"])
        return ""

    def events(self) -> list[Any]:
        text = self.api.call("GET", "/events?follow=false").text
        data = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in data]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for name in "ab":
        (tmp_path / name).touch()
    made.api.close()
    made.nursery.close()


def test_whoever_holds_what_is_gone_waits_again_and_the_other_runs_on(place: Place) -> None:
    place.start(4)
    for name in "ab":
        place.submit(name)
        until(lambda name=name: place.state(name) == "RUNNING")
    assert place.nursery.end(SIGTERM) == 0
    place.start(2)
    until(lambda: place.state("b") == "QUEUED")
    assert place.state("a") == "RUNNING"
    # Engine and world both see it; either may be first. The stream may be a moment late.
    assert until(place.told) in {
        "lost GPU 2, 3 of n0: the node came back without what it held",
        "its node is described otherwise now",
    }
    (place.folder / "a").touch()
    until(lambda: place.state("b") == "RUNNING")
    (place.folder / "b").touch()
    until(lambda: (place.state("a"), place.state("b")) == ("SUCCEEDED", "SUCCEEDED"))
