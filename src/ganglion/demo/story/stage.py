"""The stage: a server of its own, in a temporary home, with a pretend cluster."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from ganglion.client import Client
from ganglion.client.home import read_server
from ganglion.model.errors import EnvironmentFault, GanglionError

CLUSTER = ("--cluster", str(files("ganglion.demo") / "cluster.yaml"))
START_S = 60.0
STOP_S = 20.0


class DemoServer(NamedTuple):
    """A running server.

    Attributes:
        home: its home directory.
        client: a connection to it.
    """

    home: Path
    client: Client


@contextmanager
def stage(*, keep: bool) -> Iterator[DemoServer]:
    """Start a server with four nodes of eight pretend GPUs in two racks.

    Args:
        keep: leave the server and its home as they are at the end.

    Raises:
        EnvironmentFault: it did not come up; the message holds the end of its log.
    """
    home = Path(tempfile.mkdtemp(prefix="ganglion-demo-"))
    log = home / "up.log"
    process = _start(home, log)
    kept = False
    try:
        with _connect(home, process, log) as client:
            try:
                yield DemoServer(home, client)
                kept = keep
            finally:
                if not kept:
                    with _undisturbed():
                        _ask_to_stop(client)
    finally:
        if not kept:
            with _undisturbed():
                _end(process)
                shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let a second Ctrl-C not end the cleaning up, which takes seconds at most."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start(home: Path, log: Path) -> subprocess.Popen[bytes]:
    # Jobs say `python`: they get the one that has Ganglion. Their arrays are tiny, so threads
    # inside numpy would only fight over the cores.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    alone = {"GANGLION_HOME": str(home), "PATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "ganglion", "up", "--foreground", "--port", "0", *CLUSTER]
    with log.open("wb") as out:
        return subprocess.Popen(
            command,
            env=os.environ | alone | {"OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the demo, which then stops the server
        )


def _connect(home: Path, process: subprocess.Popen[bytes], log: Path) -> Client:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        record = read_server(home)
        if record is not None:
            client = Client.of_home(home)
            if client.healthy():
                return client
            client.close()
        time.sleep(0.1)
    last = "\n".join(log.read_text("utf-8", errors="replace").splitlines()[-5:])
    raise EnvironmentFault(f"the demo's server did not start: {last or 'it printed nothing'}")


def _ask_to_stop(client: Client) -> None:
    """Cancel what runs and stop the server; one that is gone already needs no asking."""
    try:
        client.shutdown(cancel=True)
    except GanglionError as error:
        print(f"note: {error.message}", file=sys.stderr)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
