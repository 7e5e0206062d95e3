"""Who entered a pod is in the ledger before anything is carried, and costs no decision."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from fastapi.testclient import TestClient
from msgspec.structs import replace
from starlette.testclient import WebSocketDenialResponse, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

from ganglion.api.events import EventView
from ganglion.cli.output.event_lines import line_of
from ganglion.model.errors import EnvironmentFault
from ganglion.model.events.access import PodAccess, SessionStage, Verb
from ganglion.model.policy import Policy
from ganglion.seams.effects import SYSTEM
from ganglion.server.loop import turn
from ganglion.server.recovery import checkpoint
from ganglion.server.recovery.recover import replayed
from ganglion.server.recovery.verify import facts, verified
from ganglion.server.requests.context import ServerContext
from ganglion.server.requests.pod_sessions import KILLED, close_all
from ganglion.server.requests.terminals import Ending, relay
from ganglion.server.state.visits import SHOWN
from ganglion.worlds.local.run_files import paths, records
from ganglion.worlds.local.run_files.secret_store import ATTEMPTS, attempt_key
from ganglion.worlds.local.supervision.frames import HEAD, STATUS, framed, status
from tests.faults.clock import HOUR_MS, SetClock
from tests.server.conftest import Rig
from tests.server.loop.test_refused_writes import full_disk
from tests.server.process import until


class Supervisor:
    """The socket of an attempt: tells each caller how its command ended once `done` is set.

    Attributes:
        asked: what callers wanted to run.
    """

    def __init__(self, rig: Rig, gang: str) -> None:
        run = paths.run_dir(rig.home.root, gang, 1)
        run.mkdir(parents=True)
        self.asked: list[dict[str, object]] = []
        self.done = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(run / records.CALLERS))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connected, _ = self._listener.accept()
            except OSError:
                return
            with connected, connected.makefile("rb") as stream:
                (size,) = HEAD.unpack(stream.read(HEAD.size))
                self.asked.append(json.loads(stream.read(size)))
                self.done.wait(30)
                connected.sendall(framed(b"\x01out") + status(exit_code=3))

    def close(self) -> None:
        self._listener.close()


ON_BOTH = pytest.mark.parametrize("rig", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def rig(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Rig]:
    """A server over two nodes of 8 GPUs, with its ledger in a file unless PostgreSQL is named."""
    elsewhere = getattr(request, "param", "sqlite") == "postgresql"
    made = Rig(tmp_path / "home", database=request.getfixturevalue("database") if elsewhere else "")
    yield made
    made.ledger.close()


@pytest.fixture
def job(rig: Rig) -> str:
    """A job that runs; the service takes its own turns from then on."""
    found = rig.submit("a")
    rig.turn()
    return found


@pytest.fixture
def pod(rig: Rig, job: str) -> Iterator[Supervisor]:
    made = Supervisor(rig, f"{job}/0")
    yield made
    made.close()


def accesses(rig: Rig) -> list[PodAccess]:
    return [each for each in rig.ledger.replay() if isinstance(each, PodAccess)]


@contextmanager
def full(rig: Rig) -> Iterator[None]:
    """The disk is full, of a service that takes turns in its own thread."""
    disk = full_disk(rig.ledger)
    with rig.service.read():
        disk.__enter__()
    yield
    with rig.service.read():
        disk.__exit__(None, None, None)


def opened(client: TestClient, path: str) -> WebSocketTestSession:
    return client.websocket_connect(f"ws://localhost/api/v1/workloads/{path}")


def denied(client: TestClient, path: str) -> str:
    """Be refused; returns why."""
    with pytest.raises(WebSocketDenialResponse) as refused, opened(client, path):
        pass
    return str(refused.value.json()["detail"])


def to_the_end(there: WebSocketTestSession) -> list[bytes]:
    """Frames until the server ends the session: a caller that leaves before cuts its end short."""
    found: list[bytes] = []
    with pytest.raises(WebSocketDisconnect):
        while True:
            found.append(there.receive_bytes())
    return found


def ran(client: TestClient, job: str, *words: str, **more: object) -> dict[str, object]:
    """Run a command; returns its status."""
    with opened(client, f"{job}/exec") as there:
        there.send_text(json.dumps({"command": words, **more}))
        last = next(frame for frame in to_the_end(there) if frame[0] == STATUS)
        found: dict[str, object] = json.loads(last[1:])
        return found


@ON_BOTH
def test_a_session_is_recorded_with_who_what_and_how_it_ended(
    rig: Rig, job: str, pod: Supervisor, client: TestClient
) -> None:
    pod.done.set()
    assert ran(client, job, "ls", "-l") == {"exit_code": 3}
    begun, ended = until(lambda: accesses(rig)[1:] and accesses(rig))
    assert (begun.gang, begun.attempt, begun.pod, begun.verb) == (f"{job}/0", 1, 0, Verb.EXEC)
    assert (begun.stage, begun.user, begun.command) == (SessionStage.BEGUN, "ada", ("ls", "-l"))
    assert (ended.stage, ended.session, ended.exit_code) == (SessionStage.ENDED, begun.session, 3)
    assert ended.request == begun.request != ""
    assert ended.duration_ms is not None
    assert ended.command == ()
    text = b"".join(entry.body for entry in rig.ledger.events(0, 100))
    assert b"out" not in text.replace(b"without", b"")


def test_a_caller_who_leaves_with_the_exit_code_before_the_pod_closes_leaves_it_in_the_record() -> (
    None
):
    class Caller:
        """Leaves as soon as it has the status."""

        def __init__(self) -> None:
            self.told = asyncio.Event()

        async def send_bytes(self, body: bytes) -> None:
            if body[0] == STATUS:
                self.told.set()

        async def receive(self) -> dict[str, str]:
            await self.told.wait()
            return {"type": "websocket.disconnect"}

        async def close(self) -> None:
            pass

    async def ending() -> Ending:
        reader, writer = asyncio.StreamReader(), AsyncMock(spec=asyncio.StreamWriter)
        reader.feed_data(framed(b"\x01out") + status(exit_code=3))  # and no end
        caller: Any = Caller()
        return await relay(caller, (reader, writer))

    assert asyncio.run(ending()).exit_code == 3


def test_a_copy_is_recorded_with_its_path(
    rig: Rig, job: str, pod: Supervisor, client: TestClient
) -> None:
    pod.done.set()
    ran(client, job, "tar", "-cf", "-", path="out/model.pt")
    begun = accesses(rig)[0]
    assert (begun.verb, begun.path) == (Verb.CP, "out/model.pt")
    assert begun.command == ("tar", "-cf", "-")


def test_credentials_and_secrets_of_the_attempt_are_not_recorded(
    rig: Rig, job: str, pod: Supervisor, client: TestClient
) -> None:
    rig.service.secrets.keep(ATTEMPTS, attempt_key(f"{job}/0", 1), {"WORD": "hushhush"})
    pod.done.set()
    said = "curl -H 'X-Api-Key: k1' https://ada:pw@host; API_TOKEN=t1 run --password p1 hushhush"
    ran(client, job, "sh", "-c", said, "--token", "t2", "hf_" + "a" * 20)
    (body,) = (e.body for e in rig.ledger.events(0, 100) if b'"begun"' in e.body)
    for secret in (b"k1", b"pw@", b"t1", b"p1", b"t2", b"hf_", b"hushhush"):
        assert secret not in body, secret
    assert body.count(b"<redacted>") == 7
    assert pod.asked[0]["command"][2] == said  # type: ignore[index]  # what runs is what was asked


def test_a_ledger_that_cannot_be_written_refuses_the_session_before_it_begins(
    rig: Rig, job: str, pod: Supervisor, client: TestClient
) -> None:
    with full(rig):
        # Pages that are free already have room for some events.
        said: dict[str, object] = {}
        for _ in range(50):
            before = len(pod.asked)
            pod.done.set()
            said = ran(client, job, "echo", "x" * 4_000)
            if "error" in said:
                break
        assert "the disk is full" in str(said["error"])
        assert len(pod.asked) == before
        until(lambda: "the disk is full" in denied(client, f"{job}/attach"))


def test_a_running_session_ends_well_on_a_full_disk_and_its_end_is_recorded_later(
    rig: Rig, job: str, pod: Supervisor, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(client, f"{job}/exec") as there:
        there.send_text(json.dumps({"command": ["ls"]}))
        until(lambda: pod.asked)
        append = rig.ledger.append

        def refuse(_batch: object) -> None:
            raise EnvironmentFault("the disk is full")

        monkeypatch.setattr(rig.ledger, "append", refuse)
        pod.done.set()
        out, last = to_the_end(there)
        assert (out, json.loads(last[1:])) == (b"\x01out", {"exit_code": 3})
    assert [each.stage for each in accesses(rig)] == [SessionStage.BEGUN]
    monkeypatch.setattr(rig.ledger, "append", append)
    until(lambda: len(accesses(rig)) == 2)
    assert accesses(rig)[1].exit_code == 3


@ON_BOTH
def test_who_is_refused_is_recorded_where_the_workload_exists(
    rig: Rig, job: str, client: TestClient
) -> None:
    held = client.post(
        "/api/v1/workloads",
        json={"name": "b", "run": "true", "resources": {"gpus": 1}, "hold": True},
    ).json()["id"]
    for path in (f"{job}/exec?pod=7", f"{held}/attach", f"{held}/port-forward?port=80", "no/exec"):
        denied(client, path)
    denied(client, f"{job}/attach")  # it has no terminal
    until(lambda: len(accesses(rig)) == 5)
    found = [(e.gang, e.attempt, e.pod, e.verb.value, e.stage.value) for e in accesses(rig)]
    assert found == [
        (f"{job}/0", 1, 7, "exec", "refused"),
        (f"{held}/0", 0, 0, "attach", "refused"),
        (f"{held}/0", 0, 0, "port-forward", "refused"),
        (f"{job}/0", 1, 0, "attach", "begun"),
        (f"{job}/0", 1, 0, "attach", "refused"),
    ]
    assert accesses(rig)[2].port == 80
    assert accesses(rig)[4].reason == f"{job}/0 has no terminal"
    assert "has no pod 7" in accesses(rig)[0].reason


@ON_BOTH
def test_a_session_costs_no_cycle_and_a_replay_gives_the_same(
    rig: Rig, job: str, pod: Supervisor, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    decide = turn.cycle  # type: ignore[attr-defined]

    def counted(*args: object, **how: object) -> object:
        asked.append(args)
        return decide(*args, **how)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(turn, "cycle", counted)
    undone: list[object] = []
    monkeypatch.setattr(rig.service, "_undone", lambda: undone.append(1))
    pod.done.set()
    ran(client, job, "ls")
    until(lambda: len(accesses(rig)) == 2)
    assert (asked, undone) == ([], [])
    with rig.service.read() as mind:
        assert facts(mind) == facts(replayed(rig.ledger, Policy()))


@ON_BOTH
def test_what_a_killed_server_left_open_is_ended_by_the_next_one_and_the_ledger_is_sound(
    rig: Rig, job: str
) -> None:
    begun = PodAccess(1, f"{job}/0", 1, 0, Verb.ATTACH, SessionStage.BEGUN, "s1", "ada", 1000)
    rig.do(lambda draft: draft.record(begun))
    with rig.service.read() as mind:
        kept = checkpoint.read(checkpoint.written(mind, {}))
        assert kept.mind(mind.state.config.plugins).book.sessions == mind.book.sessions != {}
    rig.crash()
    rig.do(close_all)
    last = accesses(rig)[-1]
    assert (last.session, last.stage, last.reason) == ("s1", SessionStage.ENDED, KILLED)
    rig.do(close_all)
    assert len(accesses(rig)) == 2
    with rig.ledger.still() as reader:
        assert verified(reader).flaws == []


@pytest.fixture
def clock(rig: Rig, context: ServerContext, monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """The clock of the server; a test sets its wall clock."""
    made = SetClock()
    monkeypatch.setattr(rig.service, "_clock", made)
    monkeypatch.setattr(context, "effects", SYSTEM._replace(clock=made))
    return made


def put(rig: Rig, clock: SetClock, ahead_ms: int) -> None:
    """Set the wall clock."""
    with rig.service.read():
        clock.ahead_ms = rig.machine.ahead_ms = ahead_ms


STEPS = pytest.mark.parametrize("ahead_ms", [HOUR_MS, -HOUR_MS])


@STEPS
def test_a_wall_clock_that_is_set_within_a_session_changes_neither_its_length_nor_its_end(
    rig: Rig, job: str, pod: Supervisor, clock: SetClock, client: TestClient, ahead_ms: int
) -> None:
    began = time.monotonic()
    with opened(client, f"{job}/exec") as there:
        there.send_text(json.dumps({"command": ["ls"]}))
        until(lambda: accesses(rig))
        put(rig, clock, ahead_ms)
        pod.done.set()
        assert to_the_end(there)[-1][0] == STATUS
    until(lambda: len(accesses(rig)) > 1)
    most = (time.monotonic() - began) * 1000 + 1
    assert ran(client, job, "ls") == {"exit_code": 3}  # nothing hangs afterwards
    begun, ended, *_ = until(lambda: accesses(rig)[3:] and accesses(rig))
    assert [each.stage for each in accesses(rig)] == 2 * [SessionStage.BEGUN, SessionStage.ENDED]
    assert ended.session == begun.session
    assert 0 <= (ended.duration_ms or 0) <= most
    assert begun.at <= ended.at < begun.at + HOUR_MS
    times = [entry.at for entry in rig.ledger.events(0, 100)]
    assert times == sorted(times)


@STEPS
def test_a_session_that_a_killed_server_left_open_ends_once_whichever_way_the_clock_was_set(
    rig: Rig, job: str, pod: Supervisor, ahead_ms: int
) -> None:
    access = PodAccess(0, f"{job}/0", 1, 0, Verb.EXEC, SessionStage.BEGUN, "x1", "ada", 1000)
    rig.do(lambda draft: draft.record(replace(access, at=draft.now)))
    rig.machine.ahead_ms = ahead_ms
    for _ in range(2):
        rig.crash()
        rig.do(close_all)
    begun, ended = accesses(rig)
    assert (ended.stage, ended.reason, ended.session) == (SessionStage.ENDED, KILLED, "x1")
    assert begun.at <= ended.at < begun.at + HOUR_MS
    assert (ended.duration_ms or 0) >= 0


@ON_BOTH
def test_the_last_sessions_of_a_workload_are_shown_with_it_and_stay_when_it_has_ended(
    rig: Rig, job: str, pod: Supervisor, client: TestClient
) -> None:
    pod.done.set()
    for number in range(SHOWN):
        ran(client, job, "echo", str(number))
    denied(client, f"{job}/attach")  # it has no terminal

    def sessions() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = client.get(f"/api/v1/workloads/{job}").json()["sessions"]
        return found if all(each["duration_ms"] is not None for each in found) else []

    shown = until(sessions)
    assert [(each["verb"], each["stage"], each["command"]) for each in shown] == [
        ("attach", "refused", []),
        *(("exec", "ended", ["echo", str(number)]) for number in reversed(range(1, SHOWN))),
    ]
    assert (shown[1]["user"], shown[1]["exit_code"], shown[1]["gang"]) == ("ada", 3, f"{job}/0")
    with rig.service.read() as mind:
        kept = checkpoint.read(checkpoint.written(mind, {})).mind(mind.state.config.plugins).book
        assert kept.visits == replayed(rig.ledger, Policy()).book.visits == mind.book.visits
    rig.machine.end(f"{job}/0")
    until(lambda: rig.state(job) == "SUCCEEDED")
    assert sessions() == shown
    with rig.service.read() as mind:
        assert mind.book.visits == {}


def test_a_line_about_a_session_does_nothing_to_a_terminal() -> None:
    event = {
        **{"type": "pod_access", "at": 1, "gang": "a-1/0", "attempt": 1, "pod": 2, "verb": "exec"},
        **{"stage": "begun", "session": "s", "user": "ada", "uid": 1000},
        "command": ["echo", "two words", "\x1b[2J"],
    }
    line = line_of(EventView(7, event))
    assert line.endswith("exec begun by ada (uid 1000) in pod 2: echo 'two words' '\\x1b[2J'")
    over = {**event, "stage": "ended", "command": [], "exit_code": 0, "duration_ms": 65_000}
    assert line_of(EventView(8, over)).endswith("pod 2: exit code 0, after 1m05s")
