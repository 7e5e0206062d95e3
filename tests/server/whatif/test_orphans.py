"""What answers a question ends with the server, also with one that is killed."""

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ganglion.seams.forks import computed_beside
from ganglion.server.whatif.answering import WhatIfTask
from ganglion.whatif.changes import WhatIfChange

PATIENCE_S = 30.0
SERVER = """
import sys
from ganglion.seams.processes import SYSTEM_PROCESSES
from ganglion.server.whatif.questions import NICE

argv = (*NICE, sys.executable, "-m", "ganglion.server.whatif")
SYSTEM_PROCESSES.run(argv, sys.argv[1].encode(), {}, 600)
"""
COMPUTES = """
import socket, sys, time
from ganglion.seams.forks import computed_beside, end_with_reader

def work() -> bytes:
    connected = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connected.sendall(b"x")
    return connected.recv(1)

end_with_reader(sys.stdout.fileno())
print("ready", flush=True)
computed_beside(work)()
"""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """What a process connects to that is watched: the connection ends when the process does."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(PATIENCE_S)
        yield made


def connected(listener: socket.socket) -> socket.socket:
    found, _ = listener.accept()
    found.settimeout(PATIENCE_S)
    assert found.recv(1)
    return found


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side ends, before the patience does."""
    while connection.recv(1_000):
        pass
    return True


def test_a_worker_ends_when_its_server_is_killed(listener: socket.socket) -> None:
    # a database that takes the connection, and answers nothing
    url = f"postgresql://eve@127.0.0.1:{listener.getsockname()[1]}/x?sslmode=disable"
    task = msgspec.json.encode(WhatIfTask(url, 0, 1, WhatIfChange())).decode()
    with subprocess.Popen([sys.executable, "-c", SERVER, task]) as server:
        worker = connected(listener)
        server.send_signal(signal.SIGKILL)
        assert server.wait(PATIENCE_S) == -signal.SIGKILL
        with worker:
            assert is_closed(worker)


def test_a_part_that_is_computed_beside_ends_with_its_worker(listener: socket.socket) -> None:
    port = str(listener.getsockname()[1])
    with subprocess.Popen([sys.executable, "-c", COMPUTES, port], stdout=subprocess.PIPE) as worker:
        assert worker.stdout
        assert worker.stdout.readline() == b"ready\n"
        with connected(listener) as part:
            worker.stdout.close()
            assert is_closed(part)
        assert worker.wait(PATIENCE_S) == 3


def test_a_part_that_fails_is_an_error_of_the_worker(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert computed_beside(lambda: b"x" * 100_000)() == b"x" * 100_000
    missing = computed_beside(lambda: bytes([1 // len(Path().parts)]))
    with pytest.raises(ChildProcessError, match="has ended with 1"):
        missing()
    assert "ZeroDivisionError" in capfd.readouterr().err
    assert "reader" not in {each.name for each in threading.enumerate()}
