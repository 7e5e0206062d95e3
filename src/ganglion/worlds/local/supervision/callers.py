"""Clients that run something in an attempt's pods, as its supervisor serves them.

Standard library only.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from ganglion.transport import unix
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.records import Record
from ganglion.worlds.local.supervision.children import HELPER, Children
from ganglion.worlds.local.supervision.frames import HEAD, MOST
from ganglion.worlds.local.supervision.members import Members
from ganglion.worlds.local.supervision.processes import StartError
from ganglion.worlds.local.supervision.wakeups import Wakeups

ASK_S = 1.0
"""How long a caller may take to say what it wants; the server says it at once."""
PYTHON = (sys.executable, "-S", "-P", "-m")
MODULE = "ganglion.worlds.local.executing"


class RefusedSession(Exception):
    """What is asked cannot be done; the message says why."""


class SessionCallers:
    """Takes callers and gives each a process of its own.

    Args:
        run: the run directory, in which the socket is made.
        members: the pods.
        spec: the decoded `spec.json`.
        children: what the pods were started by.
    """

    def __init__(self, run: Path, members: Members, spec: Record, children: Children) -> None:
        self._members, self._spec, self._children = members, spec, children
        self._path = run / records.CALLERS
        self._listener: socket.socket | None = None
        with contextlib.suppress(OSError):  # a job runs without it too; a caller gets the error
            self._listener = unix.bind(self._path)
            self._listener.listen()
            self._listener.setblocking(False)

    def wait(self, wakeups: Wakeups, seconds: float) -> set[int]:
        """Wait for signals, at most `seconds`, and return their numbers; take callers meanwhile."""
        listeners = [self._listener] if self._listener else []
        listened = [*listeners, *self._children.sources]
        woken, ready, _ = wakeups.select(seconds, listened, ())
        for listener in [each for each in listeners if each in ready]:
            with contextlib.suppress(OSError):
                connected, _ = listener.accept()
                with connected:
                    self._serve(connected)
        return woken

    def _serve(self, connected: socket.socket) -> None:
        if not unix.may_call(unix.peer_uid(connected)):
            return
        connected.settimeout(ASK_S)
        try:
            asked = json.loads(_received(connected))
            plan, pod = self._plan(asked), int(asked["pod"])
        except (RefusedSession, StartError, ValueError, KeyError, TypeError) as error:
            known = isinstance(error, RefusedSession | StartError)
            said = str(error) if known else f"not understood: {error!r}"
            plan, pod = {"error": said}, 0
        self._start(connected, plan, pod)

    def _plan(self, asked: Record) -> Record:
        place = self._members.place(asked["pod"], asked["rank"])
        if place is None:
            raise RefusedSession(f"pod {asked['pod']} does not run, or has no such rank")
        env, workdir = place
        term = {"TERM": str(asked["term"])} if asked["tty"] else {}
        return {
            "argv": [str(word) for word in asked["command"]],
            "env": env | term,
            "workdir": workdir,
            "tty": bool(asked["tty"]),
            "rows": int(asked["rows"]),
            "columns": int(asked["columns"]),
            "umask": self._spec.get("umask", -1),
            "run": str(self._path.parent),
            HELPER: self._spec.get(HELPER),
        }

    def _start(self, connected: socket.socket, plan: dict[str, Any], pod: int) -> None:
        """Start the process that serves a caller; the environment shows whose pod it is in.

        A pod that leaves takes with it what has its number in the environment.
        """
        connected.settimeout(None)
        with _nameless() as file:
            file.write(json.dumps(plan).encode("utf-8", "surrogateescape"))
            file.seek(0)
            subprocess.Popen(
                [*PYTHON, MODULE, str(file.fileno())],
                stdin=connected.fileno(),
                pass_fds=(file.fileno(),),
                start_new_session=True,
                env=os.environ | {"GANGLION_NODE_RANK": str(pod)},
            ).returncode = 0  # its end is collected with that of all other children

    def close(self) -> None:
        """Take no more."""
        if self._listener:
            self._listener.close()
            with contextlib.suppress(OSError):
                self._path.unlink()


def _nameless() -> IO[bytes]:
    """A file that has no name, and where the system can (Linux) is in memory: it holds secrets."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("plan"), "w+b")
    return tempfile.TemporaryFile()


def _received(connected: socket.socket) -> bytes:
    """Read one message of at most `MOST` bytes."""
    (size,) = HEAD.unpack(_exactly(connected, HEAD.size))
    if size > MOST:
        raise RefusedSession(f"more than {MOST:,} bytes")
    return _exactly(connected, size)


def _exactly(connected: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        chunk = connected.recv(size - len(found))
        if not chunk:
            raise RefusedSession("the caller left")
        found += chunk
    return found
