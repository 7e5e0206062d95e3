"""What a supervisor starts programs by: as its own children, or through the root helper.

Standard library only.
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

from ganglion.helper import wire
from ganglion.transport.unix import peer_uid
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files.records import Record
from ganglion.worlds.local.supervision import pseudo

PR_SET_CHILD_SUBREAPER = 36
HELPER = "helper"
"""Key of a spec: what the helper has to know; absent = programs run as the server's account."""
ASK_S = 30.0
"""How long the helper may take for an answer."""
AWAIT_S, AGAIN_S = 20.0, 0.2
"""How long a helper that is not there is awaited, as it may be restarted, and how often tried."""


class NotStarted(Exception):
    """The helper starts nothing; the message says why.

    Args:
        message: for the user.
        passing: whether another attempt may go better.
    """

    def __init__(self, message: str, *, passing: bool) -> None:
        super().__init__(message)
        self.passing = passing


class Children:
    """Children of this process, which has the account that they have."""

    @property
    def sources(self) -> Sequence[socket.socket]:
        """What can be read when a child has ended of which no signal comes."""
        return ()

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        workdir: str,
        streams: tuple[int, int, int],
        *,
        umask: int,
        terminal: bool,
    ) -> int:
        """Start a program that leads a session and group of its own; returns its pid.

        Args:
            argv: argument vector.
            env: whole environment.
            workdir: directory to run in.
            streams: file descriptors of its standard streams.
            umask: of the program; -1 = that of this process.
            terminal: whether its standard input is a terminal, which becomes its own.

        Raises:
            OSError: the program or the directory is missing, or may not be used.
            NotStarted: the helper is gone, or refuses.
        """
        made = subprocess.Popen(
            argv,
            env=env,
            cwd=workdir,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            start_new_session=True,
            umask=umask,
            preexec_fn=pseudo.take if terminal else None,  # noqa: PLW1509 - there are no threads
        )
        made.returncode = 0  # its end is collected with that of all other children
        return made.pid

    def group_lives(self, leader: int, number: int = 0) -> bool:
        """Send a signal to the group of a program; whether any process of it is there."""
        try:
            os.killpg(leader, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def signal(self, pid: int, number: int) -> None:
        """Signal one child."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def reap(self) -> Iterator[tuple[int, int]]:
        """Take every child that has ended, adopted ones too: (pid, wait status)."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            yield pid, status

    def left(self) -> bool:
        """Whether any child is left."""
        return host.has_children()

    def all(self, mark: str = "") -> set[int]:
        """Children, adopted ones too; with a mark, those that have this `NAME=value`."""
        name, _, value = mark.encode().partition(b"=")
        found = {each.pid for each in host.tasks() if each.parent == os.getpid()}
        return {p for p in found if not mark or host.environment(p).get(name) == value}


class HelpedChildren(Children):
    """Programs of another user, which the helper starts and keeps.

    What this process starts by itself, as the holder of a terminal, is waited for as well.

    Args:
        asked: what the spec says for the helper.
        await_s: how long a helper that is not there is awaited.
    """

    def __init__(self, asked: Record, await_s: float = AWAIT_S) -> None:
        self._asked, self._await_s = asked, await_s
        self._connected: socket.socket | None = None
        self._alive = set[int]()
        self._ended: list[tuple[int, int]] = []

    @property
    def sources(self) -> Sequence[socket.socket]:
        """The connection to the helper."""
        return (self._connected,) if self._connected else ()

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        workdir: str,
        streams: tuple[int, int, int],
        *,
        umask: int,
        terminal: bool,
    ) -> int:
        """Start a program as the user."""
        if self._connected is None:
            self._open()
        order = {
            "op": "start",
            "argv": list(argv),
            "env": dict(env),
            "workdir": workdir,
            "umask": umask,
            "terminal": terminal,
            "folders": self._asked["folders"],
        }
        answer = self._ask(order, streams)
        if not answer:
            raise NotStarted("the helper has ended", passing=True)
        if "pid" not in answer:
            raise OSError(answer["errno"], os.strerror(answer["errno"]), answer["what"])
        pid: int = answer["pid"]
        self._alive.add(pid)
        return pid

    def group_lives(self, leader: int, number: int = 0) -> bool:
        """Send a signal to the group of a program, by the helper."""
        order = {"op": "signal", "pid": leader, "number": number, "group": True}
        return bool(self._asked_if_open(order).get("lives"))

    def signal(self, pid: int, number: int) -> None:
        """Signal a child, its own or one of the helper's."""
        if pid in super().all():
            super().signal(pid, number)
        else:
            self._asked_if_open({"op": "signal", "pid": pid, "number": number, "group": False})

    def reap(self) -> Iterator[tuple[int, int]]:
        """Take every child that has ended."""
        yield from super().reap()
        with contextlib.suppress(NotStarted):  # nothing of it runs then
            while self._connected and select.select([self._connected], [], [], 0)[0]:
                self._hear(self._connected)
        ended, self._ended = self._ended, []
        yield from ended

    def left(self) -> bool:
        """Whether any child is left."""
        return super().left() or bool(self.all())

    def all(self, mark: str = "") -> set[int]:
        """Children, adopted ones too."""
        theirs = self._asked_if_open({"op": "look", "mark": mark}).get("pids", [])
        return super().all(mark) | set(theirs)

    def _open(self) -> None:
        """Connect to the helper, and say whose programs will be started.

        Raises:
            NotStarted: it is not there, or refuses.
        """
        self._connected = _awaited(self._asked["socket"], self._await_s)
        order = {key: self._asked[key] for key in ("attempt", "uid", "devices")}
        missing = self._ask({"op": "open"} | order | self._asked["limits"]).get("unenforced")
        if missing:
            print(f"not enforced: {', '.join(missing)}", file=sys.stderr, flush=True)  # noqa: T201 - own log

    def _asked_if_open(self, order: Record) -> Record:
        if self._connected is None:
            return {}
        with contextlib.suppress(NotStarted):  # nothing of it runs then
            return self._ask(order)
        return {}

    def _ask(self, order: Record, files: Sequence[int] = ()) -> Record:
        """The answer to an order; what ended meanwhile is kept.

        Raises:
            NotStarted: the helper is gone, or refuses.
        """
        connected = self._connected
        if connected is None:
            raise NotStarted("the helper has ended", passing=True)
        try:
            wire.send(connected, order, files)
        except wire.BadMessage as error:
            raise NotStarted(str(error), passing=False) from None
        except OSError:
            pass  # what it said before is heard
        while True:
            answer = self._hear(connected)
            if answer is not None:
                return answer

    def _hear(self, connected: socket.socket) -> Record | None:
        """Take in one message; None = it says what has ended.

        Raises:
            NotStarted: the helper is gone, or refuses.
        """
        try:
            came = wire.receive(connected)
        except (OSError, wire.BadMessage) as error:
            return self._lost(f"the helper does not answer: {error}", passing=True)
        if came is None:
            return self._lost("the helper has ended", passing=True)
        message, _ = came
        for key in ("refused", "error"):
            if key in message:
                return self._lost(f"the helper refuses: {message[key]}", passing=False)
        if "ended" not in message:
            return message
        ended = [(pid, status) for pid, status in message["ended"]]
        self._alive -= {pid for pid, _ in ended}
        self._ended += ended
        return None

    def _lost(self, message: str, *, passing: bool) -> Record | None:
        """Without a keeper nothing of the attempt runs: it dies with all it had."""
        if self._connected:
            self._connected.close()
        self._connected = None
        alive, self._alive = self._alive, set()
        self._ended += [(pid, int(signal.SIGKILL)) for pid in sorted(alive)]
        if alive:
            return {}
        raise NotStarted(message, passing=passing)


def _awaited(path: str, seconds: float) -> socket.socket:
    """A connection to the helper, also if it comes back within some seconds.

    Raises:
        NotStarted: it does not.
    """
    give_up = time.monotonic() + seconds
    while True:
        try:
            return connected_to(path)
        except NotStarted as error:
            if not error.passing or time.monotonic() >= give_up:
                raise
        time.sleep(AGAIN_S)


def connected_to(path: str, patience_s: float = ASK_S) -> socket.socket:
    """A connection to the helper, which has to be root's.

    Args:
        path: its socket.
        patience_s: how long it may take for an answer.

    Raises:
        NotStarted: it is not there.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(patience_s)
    try:
        made.connect(path)
        found = peer_uid(made)
    except OSError as error:
        made.close()
        raise NotStarted(f"the helper is not at {path}: {error.strerror}", passing=True) from None
    if found != 0:
        made.close()
        raise NotStarted(f"what listens at {path} is not root's", passing=False)
    return made


def asked_once(path: str, order: Record, patience_s: float = ASK_S) -> Record:
    """The answer to an order that needs no connection of its own; arguments as before.

    Raises:
        NotStarted: the helper is not there, or refuses.
    """
    with connected_to(path, patience_s) as connected:
        try:
            wire.send(connected, order)
            came = wire.receive(connected)
        except (OSError, wire.BadMessage) as error:
            raise NotStarted(f"the helper does not answer: {error}", passing=True) from None
    answer = came[0] if came else {"error": "it has ended"}
    for key in ("refused", "error"):
        if key in answer:
            raise NotStarted(f"the helper refuses: {answer[key]}", passing=key == "error")
    return answer


def run_as_user(asked: Record, argv: Sequence[str], patience_s: float) -> None:
    """Run a program as the user of an attempt, without output; what is left of it is killed.

    Args:
        asked: what the spec says for the helper, with a name of its own.
        argv: argument vector.
        patience_s: how long it may take.

    Raises:
        NotStarted: the helper is not there, or refuses.
        OSError: there is no such program.
    """
    children = HelpedChildren(asked, 0.0)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        env = {"PATH": os.defpath}
        pid = children.start(argv, env, "/", (nothing,) * 3, umask=-1, terminal=False)
        select.select(children.sources, [], [], patience_s)
        children.signal(pid, signal.SIGKILL)
    finally:
        os.close(nothing)
        for each in children.sources:
            each.close()


def children_of(asked: Record | None) -> Children:
    """By what the programs of a spec are started.

    Args:
        asked: what the spec says for the helper; None = it needs none.
    """
    return HelpedChildren(asked) if asked else Children()


def adopt_orphans() -> None:
    """Make this process the parent of every orphan below it, where the system can (Linux).

    A grandchild that leaves its group (a daemon) then still cannot outlive the attempt.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
