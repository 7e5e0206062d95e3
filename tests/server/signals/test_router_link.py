"""The door keeps one router in step with all keepers, and believes only what is about that."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ganglion.model.errors import EnvironmentFault
from ganglion.router import launch, record
from ganglion.router.balancing.stats import ReplicaStats, ServiceStats, Stats
from ganglion.router.balancing.table import ReplicaEndpoint, RoutedService, RoutingState
from ganglion.router.link import RoleDecider, RouterReading
from ganglion.router.port import bind
from ganglion.router.record import RouterRecord
from ganglion.seams.processes import SystemProcesses
from ganglion.server.signals import router_link as module
from ganglion.server.signals.router_link import STALE_MS, Door
from ganglion.server.signals.router_loads import load_view
from ganglion.server.signals.router_place import RouterPlace, unreached
from tests.server.process import until


class FakeLink:
    """A router that follows a table on request."""

    def __init__(self, refusals: int = 0) -> None:
        self.url, self.refusals, self.taken = "", refusals, ""
        self.stats, self.age_ms = Stats("boot", 7), 0
        self.version = 7
        self.wanted: tuple[RoutedService, ...] = ()
        self.stopped: list[bool] = []

    def blocked(self) -> str:
        return self.taken

    def start(self) -> str:
        if self.refusals:
            self.refusals -= 1
            raise EnvironmentFault("port 7078 is in use")
        self.url = "http://127.0.0.1:7078"
        return self.url

    def stop(self, *, router: bool = False) -> None:
        self.stopped.append(router)

    def publish(self, services: Sequence[RoutedService]) -> int:
        self.wanted = tuple(services)
        self.version += 1
        return self.version

    def decide_by(self, decide: RoleDecider) -> None:
        """No caller is decided about here."""

    def reading(self) -> RouterReading:
        return RouterReading(self.stats, self.age_ms)

    def follow(self, running: int = 0) -> None:
        """The table is in force; every replica has this number of requests."""
        self.stats = Stats(
            "boot",
            self.version,
            services=tuple(
                ServiceStats(
                    each.name,
                    replicas=tuple(
                        ReplicaStats(e.replica, e.state is not RoutingState.DRAINING, running)
                        for e in each.endpoints
                    ),
                )
                for each in self.wanted
            ),
        )


@pytest.fixture
def link() -> FakeLink:
    return FakeLink()


@pytest.fixture
def door(link: FakeLink) -> Iterator[Door]:
    made = Door(lambda: link)
    yield made
    made.close()


def _chat(state: RoutingState = RoutingState.STARTING) -> RoutedService:
    return RoutedService("chat", (ReplicaEndpoint("chat-1/0", "127.0.0.1:9", state),))


def _open(door: Door, link: FakeLink, service: RoutedService) -> None:
    door.publish("services", [service])
    until(lambda: link.wanted)


def test_no_router_is_started_before_it_is_needed(door: Door, link: FakeLink) -> None:
    door.publish("services", [])
    assert (door.url, link.version) == ("", 7)
    assert not door.heard().fresh
    assert not [each for each in threading.enumerate() if each.name == "door"]


def test_before_a_service_needs_it_the_port_is_tried(door: Door, link: FakeLink) -> None:
    assert door.blocked() == ""
    link.taken = "port 7078 is in use"
    assert (door.blocked(), door.trouble) == (link.taken, "")
    _open(door, link, _chat())
    until(lambda: door.url)
    assert door.blocked() == ""


@pytest.mark.parametrize(
    ("port", "holder", "said"),
    [
        (None, "python (pid 7)", "in use (python (pid 7)); it is the one after --port."),
        (7078, "", "have no address: in use. They get one once it is free"),
    ],
)
def test_a_person_who_starts_the_server_reads_what_does_not_work_and_what_to_change(
    door: Door, link: FakeLink, port: int | None, holder: str, said: str
) -> None:
    class Known(SystemProcesses):
        def listener(self, port: int) -> str:
            assert port == 7078
            return holder

    place = RouterPlace(Path("/nowhere"), "127.0.0.1", 7077, port)
    assert unreached(place, door, Known()) == ""
    link.taken = "in use"
    found = unreached(place, door, Known())
    assert said in found
    assert found.endswith("another port: ganglion up --services-port PORT")


def test_a_port_is_free_taken_or_of_the_own_router(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        said = launch.blocked(tmp_path, "127.0.0.1", port)
        assert said == f"port {port}, where the router listens, is in use by another program"
        own = RouterRecord(1, "0", "127.0.0.1", port, "http://127.0.0.1", "http://none", "t")
        record.write(tmp_path, own)
        monkeypatch.setattr(launch, "answers", lambda _home, found: found == own)
        assert launch.blocked(tmp_path, "127.0.0.1", port) == ""
    assert launch.blocked(tmp_path / "other", "127.0.0.1", 0) == ""
    assert "cannot listen on 192.0.2.1:9" in launch.blocked(tmp_path, "192.0.2.1", 9)


def test_services_of_all_keepers_are_routed_together(door: Door, link: FakeLink) -> None:
    _open(door, link, _chat())
    door.publish("workspaces", [RoutedService("nb")])
    assert [each.name for each in link.wanted] == ["chat", "nb"]
    door.publish("services", [])
    assert [each.name for each in link.wanted] == ["nb"]
    version = link.version
    door.publish("workspaces", [RoutedService("nb")])
    assert link.version == version


def test_a_replica_is_done_once_the_newest_table_is_in_force_and_it_has_nothing(
    door: Door, link: FakeLink
) -> None:
    _open(door, link, _chat())
    link.follow()
    assert door.heard().ready("chat") == {"chat-1/0"}
    assert door.heard().busy("chat", "chat-1/0") is None
    door.publish("services", [_chat(RoutingState.DRAINING)])
    assert door.heard().busy("chat", "chat-1/0") is None
    link.follow(running=1)
    assert door.heard().busy("chat", "chat-1/0") is True
    link.follow(running=0)
    assert door.heard().busy("chat", "chat-1/0") is False
    link.age_ms = 60_000
    assert door.heard().busy("chat", "chat-1/0") is None


def test_an_earlier_service_of_the_same_name_is_not_taken_for_this_one(
    door: Door, link: FakeLink
) -> None:
    _open(door, link, _chat())
    link.follow(running=5)
    assert "chat" in door.heard().services
    door.publish("services", [])
    door.publish("services", [RoutedService("chat")])
    assert "chat" not in door.heard().services
    link.follow()
    assert "chat" in door.heard().services


def test_before_it_has_said_anything_an_adopted_router_tells_nothing(link: FakeLink) -> None:
    link.stats = Stats("boot", 7, services=(ServiceStats("chat", running=3),))
    door = Door(lambda: link)
    door.publish("services", [RoutedService("other")])
    until(lambda: link.wanted)
    assert (door.heard().services, door.heard().settled) == ({}, False)
    door.close()


def test_a_router_that_cannot_start_is_tried_again(
    link: FakeLink, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.2)
    link.refusals = 1
    door.publish("services", [_chat()])
    until(lambda: door.trouble == "port 7078 is in use")
    until(lambda: door.url)
    assert (door.trouble, [each.name for each in link.wanted]) == ("", ["chat"])


@pytest.mark.parametrize("services", [[_chat()], []])
def test_the_router_ends_with_the_last_service_not_with_the_server(
    link: FakeLink, services: list[RoutedService]
) -> None:
    door = Door(lambda: link)
    _open(door, link, _chat())
    door.publish("services", services)
    door.close()
    assert link.stopped == [not services]


def test_people_see_the_load_of_a_service_only_while_the_report_is_of_now(
    door: Door, link: FakeLink
) -> None:
    assert load_view(door.heard(), "chat") is None
    _open(door, link, _chat(RoutingState.READY))
    link.follow(running=3)
    found = load_view(door.heard(), "chat")
    assert found is not None
    assert (found.ready, found.replicas, found.whole_p90_ms) == (1, {"chat-1/0": 3}, None)
    link.age_ms = STALE_MS
    assert load_view(door.heard(), "chat") is None
