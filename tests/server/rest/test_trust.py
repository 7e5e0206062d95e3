"""Only the server gets the token, and only its user gets in."""

import json
import os
import resource
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import psutil
import pytest
from fastapi.testclient import TestClient

from ganglion.client import Client
from ganglion.client.home import Unreachable
from ganglion.server.rest.listening.home import Home
from ganglion.transport.hosts import Hosts
from ganglion.transport.http import Unproven
from tests.server.process import Nursery, until
from tests.transport.other_user import as_another_user, only_root

OPEN_DOOR = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


FILES = 4_000
"""Soft limit of open files that servers are started with here."""


@pytest.fixture
def few_files() -> Iterator[int]:
    """The hard limit, while the soft one is lower."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def nursery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    for name in ("GANGLION_URL", "GANGLION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GANGLION_HOME", str(tmp_path / "home"))
    made = Nursery(tmp_path / "home")
    made.start()
    until((tmp_path / "home" / "server.json").exists)
    yield made
    made.close()


def announced(home: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((home / "server.json").read_bytes())
    return found


@contextmanager
def thief(port: int, answer: Callable[[bytes], bytes]) -> Iterator[list[bytes]]:
    """Another program on a port; yields every byte it gets, one item for each connection."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", port)) as taken:

        def serve(connected: socket.socket) -> None:
            place = len(got)
            got.append(b"")
            with connected:
                while piece := connected.recv(65_536):
                    got[place] += piece
                    if got[place].endswith(b"\r\n\r\n"):
                        connected.sendall(answer(got[place]))

        def accept() -> None:
            while True:
                try:
                    connected, _ = taken.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(connected,), daemon=True).start()

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield got
        finally:
            taken.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def test_the_port_of_a_dead_server_yields_no_token(
    nursery: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the record that a killed server left, and by an address that a user wrote down."""
    record = announced(nursery.home)
    token = (nursery.home / "token").read_text().strip()
    nursery.end(9)
    url = str(record["url"])
    with thief(int(url.rpartition(":")[2]), lambda _: OPEN_DOOR) as got:
        with Client.from_home() as client, pytest.raises(Unreachable):
            client.nodes()
        assert got == []
        (nursery.home / "server.json").write_text(json.dumps({**record, "socket": ""}))
        with Client.from_home() as client, pytest.raises(Unproven, match="was not sent"):
            client.nodes()
        monkeypatch.setenv("GANGLION_URL", url)
        for given in ("", token):
            monkeypatch.setenv("GANGLION_TOKEN", given)
            with Client.from_home() as client, pytest.raises(Unproven, match="was not sent"):
                client.submit({"run": "true", "env": {"PASSWORD": "s3cret"}})
    assert len(got) == 3
    assert all(b"GET /api/v1/proof" in each for each in got)
    assert not any(token.encode() in each or b"s3cret" in each for each in got)


def test_the_answer_of_the_true_server_cannot_be_passed_on(nursery: Nursery) -> None:
    """The thief knows where the true server listens and lets it answer."""
    port = int(str(announced(nursery.home)["url"]).rpartition(":")[2])
    token = (nursery.home / "token").read_text().strip()

    def relay(asked: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", port)) as true:
            true.sendall(asked)
            said = b""
            while b"}" not in said:
                said += true.recv(65_536)
            return said

    def rewritten(asked: bytes) -> bytes:
        head, _, _ = asked.partition(b"Host:")
        return relay(head + f"Host: 127.0.0.1:{port}\r\n\r\n".encode())

    for answer in (relay, rewritten):
        with socket.create_server(("127.0.0.1", 0)) as free:
            other = free.getsockname()[1]
        with (
            thief(other, answer) as got,
            Client(f"http://127.0.0.1:{other}", token) as client,
            pytest.raises(Unproven),
        ):
            client.nodes()
        assert len(got) == 1
        assert token.encode() not in got[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_over_tcp_a_server_that_knows_the_token_is_sent_it(nursery: Nursery, host: str) -> None:
    port = str(announced(nursery.home)["url"]).rpartition(":")[2]
    token = (nursery.home / "token").read_text().strip()
    with Client(f"http://{host}:{port}", token) as client:
        assert len(client.nodes()) == 2
    with Client(f"http://{host}:{port}", token + "x") as client, pytest.raises(Unproven):
        client.nodes()


@pytest.mark.parametrize("over", ["unix", "tcp"])
def test_a_client_outlives_a_restart_and_the_token_does_not(
    nursery: Nursery, monkeypatch: pytest.MonkeyPatch, over: str
) -> None:
    record = announced(nursery.home)
    before = (nursery.home / "token").read_text().strip()
    if over == "tcp":
        monkeypatch.setenv("GANGLION_URL", str(record["url"]))
    with Client.from_home() as client:
        assert len(client.nodes()) == 2
        nursery.end(15)
        nursery.port = int(str(record["url"]).rpartition(":")[2])
        nursery.start()
        until((nursery.home / "server.json").exists)
        assert client.submit({"name": "a", "run": "true", "queue": "red"}).id == "a-1"
        assert (nursery.home / "token").read_text().strip() != before
    stale = {"Authorization": f"Bearer {before}"}
    assert httpx2.get(f"{record['url']}/api/v1/nodes", headers=stale).status_code == 401


def test_through_the_socket_no_token_is_needed_and_none_is_sent(nursery: Nursery) -> None:
    (nursery.home / "token").unlink()
    with Client.from_home() as client:
        assert len(client.nodes()) == 2


MODES = {"token": 0o644, "ledger.db": 0o644, "server.log": 0o640, "router.log": 0o666}


def test_a_home_that_was_open_is_closed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    deep = home / "runs" / "a-1-0" / "1"
    deep.mkdir(parents=True)
    logs = home / "logs" / "a-1"
    logs.mkdir(parents=True)
    for name, mode in MODES.items():
        (home / name).touch()
        (home / name).chmod(mode)
    for path in (deep / "spec.json", logs / "rank-0.log"):
        path.touch()
        path.chmod(0o644)
    (deep / "tool").touch()
    (deep / "tool").chmod(0o755)
    outside = tmp_path / "outside"
    outside.touch()
    outside.chmod(0o644)
    (home / "link").symlink_to(outside)
    for folder in (home, home / "runs", deep, logs):
        folder.chmod(0o755)
    Home(home)
    for path in (home, *home.rglob("*")):
        if not path.is_symlink():
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert stat.S_IMODE((deep / "tool").stat().st_mode) == 0o700
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_all_that_a_server_and_its_jobs_write_is_for_their_user_but_what_jobs_make(
    nursery: Nursery, tmp_path: Path
) -> None:
    """Jobs keep the umask that the server was started with."""
    umask = os.umask(0)
    os.umask(umask)
    made = tmp_path / "made-by-a-job"
    with Client.from_home() as client:
        client.submit({"name": "a", "run": f"touch {made}; echo hi", "queue": "red"})
        until(lambda: client.workload("a").over)
    assert stat.S_IMODE(made.stat().st_mode) == 0o666 & ~umask
    names = set[str]()
    for folder, inner, files in os.walk(nursery.home):
        for path in (Path(folder, name) for name in (*inner, *files)):
            with suppress(FileNotFoundError):  # the server removes what is over
                mode = path.lstat().st_mode
                assert stat.S_ISLNK(mode) or stat.S_IMODE(mode) & 0o077 == 0, path
                names.add(path.name)
    assert {"api.sock", "token", "ledger.db", "spec.json", "rank-0.log"} <= names


def test_the_server_may_open_all_files_and_jobs_as_many_as_before(
    few_files: int, nursery: Nursery, tmp_path: Path
) -> None:
    """Programs that use select(2) break with more."""
    limits = tmp_path / "limits"
    with Client.from_home() as client:
        client.submit({"name": "a", "run": f"ulimit -Sn > {limits}", "queue": "red"})
        until(lambda: client.workload("a").over)
    assert int(limits.read_text()) == FILES
    assert psutil.Process(nursery.pid).rlimit(psutil.RLIMIT_NOFILE) == (few_files, few_files)


@pytest.mark.parametrize(
    ("host", "answers"),
    [
        ("localhost", True),
        ("localhost:7077", True),
        ("127.0.0.1:7077", True),
        ("[::1]:7077", True),
        ("chat.localhost:7078", True),
        ("10.1.2.3:7077", True),
        ("gpu-box", True),
        ("GPU-BOX.:7077", True),
        ("far.example:80", True),
        ("far.example:81", False),
        ("10.1.2.4:7077", False),
        ("evil.example", False),
        ("evil.example:7077", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_only_names_that_were_given_are_answered(host: str, answers: bool) -> None:
    hosts = Hosts(["gpu-box", "far.example:80"])
    assert hosts.answers_to(host, ("10.1.2.3", 7077)) is answers


def test_a_page_whose_name_was_rebound_reads_nothing(client: TestClient) -> None:
    for path in ("/healthz", "/metrics", "/api/v1/nodes", "/api/v1/proof?nonce=0123456789abcdef"):
        answer = client.get(path, headers={"Host": "evil.example"})
        assert answer.status_code == 421
        assert answer.json()["code"] == "http.host"
        assert "--host-name" in answer.json()["hint"]


@only_root
def test_another_user_on_the_socket_is_cut_off(nursery: Nursery) -> None:
    """The mode of the socket keeps others out; the server looks all the same."""
    path = nursery.home / "api.sock"
    reachable = Path(tempfile.gettempdir()) / f"ganglion-test-{os.getpid()}"
    os.link(path, reachable)
    path.chmod(0o666)

    def is_cut_off() -> bool:
        with socket.socket(socket.AF_UNIX) as near:
            near.settimeout(10)
            near.connect(str(reachable))
            try:
                near.sendall(b"GET /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return near.recv(10) == b""
            except ConnectionError:
                return True

    try:
        assert as_another_user(is_cut_off)
    finally:
        reachable.unlink()
    until(lambda: "another user was refused" in (nursery.home / "server.log").read_text())
