"""One process per connection: starts the programs of an attempt, and ends with its supervisor.

It stays root, in a session of its own, so that the user cannot signal it and it outlives the
helper. Every process that the programs leave behind becomes its child. When its supervisor
closes the connection or dies, it kills all of them.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import select
import signal
import socket
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from ganglion.helper import cgroups, wire
from ganglion.helper.orders import (
    LookOrder,
    OpenOrder,
    SignalOrder,
    StartOrder,
    next_order,
)
from ganglion.helper.policy import Account

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
SETTLE_S = 0.02
FAILED = 126


class Insecure(Exception):
    """The process still has rights that it must not have; it is not started."""


class Keeper:
    """What an attempt, or one session in its pods, runs.

    Args:
        connected: to its supervisor.
        order: what it began with.
        account: the user.
        group: name of the control group.
    """

    def __init__(
        self, connected: socket.socket, order: OpenOrder, account: Account, group: str
    ) -> None:
        self._connected, self._order, self._account = connected, order, account
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._wakeup, writer = os.pipe()
        for each in (self._wakeup, writer):
            os.set_blocking(each, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # the helper may be restarted meanwhile
        self._libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._group = cgroups.joined(group, order.limits, order.devices)
        self._foreign = frozenset(_children())
        self._groups = set[int]()

    def keep(self) -> None:
        """Serve until the supervisor leaves; nothing of the attempt is left then."""
        try:
            wire.send(self._connected, {"unenforced": list(self._group.unenforced)})
            while self._step():
                pass
        except (wire.BadMessage, OSError) as error:
            with contextlib.suppress(OSError, wire.BadMessage):
                wire.send(self._connected, {"error": str(error)})
        finally:
            self._end_all()
            self._group.remove()

    def _step(self) -> bool:
        conversation = self._connected.fileno()
        ready, _, _ = select.select([conversation, self._wakeup], [], [])
        if self._wakeup in ready:
            os.read(self._wakeup, 4096)
        ended = list(self._reap())
        if ended:
            wire.send(self._connected, {"ended": ended})
        if conversation not in ready:
            return True
        came = wire.receive(self._connected)
        if came is None:
            return False
        message, files = came
        try:
            order = next_order(message)
            if isinstance(order, StartOrder):
                answer = self._start(order, files)
            elif isinstance(order, SignalOrder):
                answer = self._signal(order)
            else:
                answer = self._look(order)
        finally:
            for each in files:
                os.close(each)
        wire.send(self._connected, answer)
        return True

    # --- start ----------------------------------------------------------------------------

    def _start(self, order: StartOrder, files: list[int]) -> wire.Message:
        if len(files) != wire.MOST_FILES:
            raise wire.BadMessage("start: three files should come along")
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            self._become(order, files, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            said = pipe.read()
        if said:
            os.waitpid(pid, 0)
            number, _, what = said.decode("utf-8", "surrogateescape").partition(" ")
            return {"errno": int(number), "what": what}
        self._groups.add(pid)
        return {"pid": pid}

    def _become(self, order: StartOrder, files: list[int], writer: int) -> NoReturn:
        """The new process: give up every right, then be the program."""
        what = "the rights of the user"
        try:
            os.setsid()
            self._group.enter()
            self._give_up_rights()
            what = order.workdir
            os.umask(order.umask if order.umask >= 0 else 0o077)
            for each in order.folders:
                what = each
                Path(each).mkdir(parents=True, exist_ok=True)
            what = order.workdir
            os.chdir(order.workdir)
            what = order.argv[0]
            # Above the three numbers that they get, so that none overwrites another.
            writer = fcntl.fcntl(writer, fcntl.F_DUPFD_CLOEXEC, 16)
            high = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 16) for each in files]
            for stream, opened in enumerate(high):
                os.dup2(opened, stream)
            if order.terminal:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            os.closerange(3, writer)
            os.closerange(writer + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            self._limit_files()
            _usual_signals()
            os.execvpe(order.argv[0], list(order.argv), dict(order.env))
        except (OSError, Insecure, ValueError) as error:
            number = getattr(error, "errno", None) or errno.EPERM
            said = f"{number} {what}" + ("" if isinstance(error, OSError) else f": {error}")
            os.write(writer, said.encode("utf-8", "surrogateescape"))
        finally:
            os._exit(FAILED)

    def _give_up_rights(self) -> None:
        """Become the user for good, and see that it is so.

        Raises:
            OSError: the kernel refuses.
            Insecure: it says yes, and it is not so (CVE-2012-3490 was such a case).
        """
        name, uid, gid = self._account
        os.initgroups(name, gid)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        if os.getresuid() != (uid, uid, uid) or os.getresgid() != (gid, gid, gid):
            raise Insecure("uid or gid is another one")
        if 0 in os.getgroups():
            raise Insecure("it is in the group of root")
        for again in (os.setuid, os.setgid):
            with contextlib.suppress(PermissionError):
                again(0)
                raise Insecure("it can become root again")
        if self._libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise Insecure("programs with the bit setuid could give it rights")
        self._libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def _limit_files(self) -> None:
        most = self._order.limits.open_files
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most and (hard == resource.RLIM_INFINITY or most <= hard):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))

    # --- what runs ------------------------------------------------------------------------

    def _signal(self, order: SignalOrder) -> wire.Message:
        """Signal what belongs to this attempt; whether it was there."""
        children = self._present()
        if not order.group:
            # A child keeps its number until it is reaped here: no other process is hit.
            for pid in children if order.pid == 0 else children & {order.pid}:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, order.number)
            return {"lives": bool(children)}
        if order.pid not in self._groups:
            return {"lives": False}
        if order.number and self._lives(order.pid):
            self._as_user(order.pid, order.number)
        lives = self._lives(order.pid)
        if not lives and order.pid not in children:
            self._groups.discard(order.pid)  # its number may become that of another group
        return {"lives": lives}

    def _as_user(self, group: int, number: int) -> None:
        """Signal a group with no more rights than its user has."""
        pid = os.fork()
        if pid == 0:
            try:
                self._give_up_rights()
                os.killpg(group, number)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)

    def _lives(self, group: int) -> bool:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        return True

    def _look(self, order: LookOrder) -> wire.Message:
        name, _, value = order.mark.encode("utf-8", "surrogateescape").partition(b"=")
        found = list[int]()
        for pid in self._present():
            try:
                variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if not name or name + b"=" + value in variables:
                found.append(pid)
        return {"pids": found}

    def _present(self) -> set[int]:
        return set(_children()) - self._foreign

    def _reap(self) -> Iterator[tuple[int, int]]:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid not in self._foreign:
                yield pid, status

    def _end_all(self) -> None:
        """Kill until nothing is left: what a child leaves behind becomes a child."""
        while present := self._present():
            for pid in present:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            list(self._reap())
            select.select([self._wakeup], [], [], SETTLE_S)


def _usual_signals() -> None:
    """Give the program the signals that programs expect."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):  # those that the C library keeps
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _children() -> Iterator[int]:
    """Children of this process, zombies too."""
    own = os.getpid()
    for each in Path(f"/proc/{own}/task").iterdir():
        with contextlib.suppress(OSError):
            yield from map(int, (each / "children").read_text().split())
