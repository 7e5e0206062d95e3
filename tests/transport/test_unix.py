"""Sockets in a home: only its owner connects, only its owner answers, however long the path is."""

import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from ganglion.transport import unix
from ganglion.transport.http import Unproven, unix_transport
from tests.transport.other_user import UID, as_another_user, only_root

pytestmark = pytest.mark.skipif(not unix.SUPPORTED, reason="needs SO_PEERCRED and /proc")

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


@contextmanager
def answering(path: Path) -> Iterator[list[bytes]]:
    """A server on a Unix socket that answers once; yields what it got."""
    got: list[bytes] = []
    with unix.bind(path) as taken:
        taken.listen()

        def serve() -> None:
            connected, _ = taken.accept()
            with connected:
                got.append(connected.recv(65_536))
                if got[0]:
                    connected.sendall(ANSWER)

        thread = threading.Thread(target=serve)
        thread.start()
        yield got
        thread.join(10)
        assert not thread.is_alive()


def ask(path: Path) -> str:
    with httpx2.Client(transport=unix_transport(path), timeout=10) as client:
        return client.get("http://localhost/").text


@pytest.mark.parametrize("depth", [0, 6])
def test_a_home_may_lie_as_deep_as_it_likes(tmp_path: Path, depth: int) -> None:
    folder = tmp_path.joinpath(*["a-folder-with-a-long-name-of-its-own"] * depth)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "api.sock"
    with answering(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert ask(path) == "hi"
    assert (len(str(path)) > 107) == bool(depth)


def test_a_socket_left_by_a_dead_server_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    unix.bind(path).close()
    with answering(path):
        assert ask(path) == "hi"


def test_nobody_listening_is_no_connection(tmp_path: Path) -> None:
    unix.bind(tmp_path / "dead.sock").close()
    for path in (tmp_path / "dead.sock", tmp_path / "none.sock", tmp_path / "no" / ("x" * 110)):
        with pytest.raises(httpx2.ConnectError):
            ask(path)


def test_another_users_server_is_sent_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "api.sock"
    with answering(path) as got:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(Unproven, match="belongs to a process of user"):
            ask(path)
    assert got == [b""]


def test_the_kernel_tells_who_connected(tmp_path: Path) -> None:
    with unix.bind(tmp_path / "s") as taken, socket.socket(socket.AF_UNIX) as near:
        taken.listen()
        near.connect(str(tmp_path / "s"))
        far, _ = taken.accept()
        with far:
            assert unix.peer_uid(far) == unix.peer_uid(near) == os.geteuid()
            assert unix.may_call(os.geteuid())
            assert not unix.may_call(os.geteuid() + 1)


@only_root
@pytest.mark.parametrize(("mode", "gets_in"), [(0o600, False), (0o666, True)])
def test_another_user_cannot_connect_and_is_recognised_if_the_mode_were_wrong(
    mode: int, gets_in: bool
) -> None:
    path = Path("/tmp") / f"ganglion-test-{os.getpid()}.sock"

    def connect() -> bool:
        with socket.socket(socket.AF_UNIX) as near:
            try:
                near.connect(str(path))
            except PermissionError:
                return not gets_in
            return gets_in

    try:
        with unix.bind(path) as taken:
            path.chmod(mode)
            taken.listen()
            assert as_another_user(connect)
            if gets_in:
                taken.settimeout(10)
                far, _ = taken.accept()
                with far:
                    assert unix.peer_uid(far) == UID
                    assert not unix.may_call(UID)
    finally:
        path.unlink(missing_ok=True)
