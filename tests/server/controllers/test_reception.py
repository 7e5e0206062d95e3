"""Workspaces are reached through the router, and one that sleeps is woken by being opened."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ganglion.model.policy import Policy
from ganglion.router.balancing.stats import ServiceStats
from ganglion.router.balancing.table import (
    CallerAccess,
    ReplicaEndpoint,
    RoutedService,
    RoutingState,
)
from ganglion.server.commands import workspaces
from ganglion.server.controllers.reception import Reception
from ganglion.server.controllers.workspaces import WorkspacesController
from ganglion.server.signals.router_link import Heard
from ganglion.server.state.eyes import Eyes
from tests.server.conftest import Rig


class FakeDoor:
    """Remembers what is published, and says who waits."""

    def __init__(self) -> None:
        self.table: dict[str, RoutedService] = {}
        self.waiting: dict[str, int] = {}
        self.silent = False

    def publish(self, owner: str, services: Sequence[RoutedService]) -> None:
        assert owner == "workspaces"
        self.table = {each.name: each for each in services}

    def heard(self) -> Heard:
        found = {name: ServiceStats(name, waiting=n) for name, n in self.waiting.items()}
        return Heard("boot", 60_000 if self.silent else 0, True, found)


@pytest.fixture
def door() -> FakeDoor:
    return FakeDoor()


@pytest.fixture
def rig(tmp_path: Path, door: FakeDoor) -> Iterator[Rig]:
    made = Rig(tmp_path / "home", lambda: [WorkspacesController(Eyes(), reception=Reception(door))])
    yield made
    made.ledger.close()


def opened(rig: Rig, name: str = "lab", **document: Any) -> str:
    data = {"kind": "workspace", "port": 8888, **document}
    found = rig.submit(name, **data)
    rig.turn(4)
    return found


def suspend(rig: Rig, ref: str) -> None:
    rig.do(lambda draft: workspaces.suspend(draft, ref, "ada"))
    rig.turn(3)


def test_one_that_runs_is_reached_and_one_that_sleeps_waits_to_be_opened(
    rig: Rig, door: FakeDoor
) -> None:
    found = opened(rig)
    rig.machine.time += 1_000
    rig.turn()
    address = ReplicaEndpoint(f"{found}/0", "127.0.0.1:9", RoutingState.STARTING)
    mine = CallerAccess(found, (os.geteuid(),), workload=found)
    assert door.table["lab"] == RoutedService("lab", (address,), access=mine)
    suspend(rig, "lab")
    assert door.table["lab"] == RoutedService("lab", sleeps=True, access=mine)


def test_whoever_opens_one_that_sleeps_wakes_it(rig: Rig, door: FakeDoor) -> None:
    found = opened(rig)
    suspend(rig, "lab")
    rig.machine.time += 1_000
    rig.turn()
    assert rig.state(found) == "SUSPENDED"
    door.waiting["lab"] = 1
    rig.machine.time += 1_000
    rig.turn(4)
    assert rig.state(found) == "RUNNING"


def test_old_news_of_the_router_wakes_nobody(rig: Rig, door: FakeDoor) -> None:
    found = opened(rig)
    suspend(rig, "lab")
    door.waiting["lab"], door.silent = 1, True
    rig.machine.time += 1_000
    rig.turn(4)
    assert rig.state(found) == "SUSPENDED"


def test_opening_one_does_not_go_beyond_what_its_user_may_have(rig: Rig, door: FakeDoor) -> None:
    with rig.service.read() as mind:
        mind.state.config.policy = Policy(workspaces_per_user=1)
    first = opened(rig, "a")
    suspend(rig, "a")
    second = opened(rig, "b")
    door.waiting["a"] = 1
    rig.machine.time += 1_000
    rig.turn(4)
    assert (rig.state(first), rig.state(second)) == ("SUSPENDED", "RUNNING")
    suspend(rig, "b")
    rig.machine.time += 1_000
    rig.turn(4)
    assert rig.state(first) == "RUNNING"


def test_one_without_a_port_is_not_reached_and_one_under_its_name_keeps_it(
    rig: Rig, door: FakeDoor
) -> None:
    opened(rig, "shell", port=None)
    opened(rig, "lab", env={"JUPYTER_BASE_URL": "/lab/"})
    rig.turn()
    assert list(door.table) == ["lab"]
    assert door.table["lab"].keep_prefix
