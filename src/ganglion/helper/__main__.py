"""`ganglion helper`: listens for the server of this machine, and starts programs as their users.

Run as `python -S -P -m ganglion.helper [POLICY]` by root.
"""

import contextlib
import fcntl
import os
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import NoReturn

from ganglion.helper import cgroups, wire
from ganglion.helper.keeper import Keeper
from ganglion.helper.orders import CheckOrder, EndOrder, OpenOrder, first_order
from ganglion.helper.policy import (
    PATH,
    BadPolicy,
    HelperPolicy,
    NotAllowed,
    allowed,
    check_root,
    check_roots,
    read_policy,
)
from ganglion.transport.unix import peer_uid

ASK_S = 5.0
"""How long a caller may take for its first order."""
WAITING = 1024


def check_own_code() -> None:
    """Check that no user can change what root runs here.

    Raises:
        BadPolicy: one can.
    """
    loaded = (each.__dict__.get("__file__") for each in list(sys.modules.values()))
    files = [Path(each).resolve() for each in (sys.executable, *loaded) if each]
    try:
        for folder in {file.parent for file in files}:
            check_roots(folder)
        for file in files:
            check_root(os.lstat(file), file, stat.S_ISREG)
    except OSError as error:
        raise BadPolicy(str(error)) from None


def listening(policy: HelperPolicy) -> socket.socket:
    """The socket that only the server may connect to, in a folder of root.

    Raises:
        BadPolicy: another user could have made the folder.
        OSError: the machine refuses.
    """
    folder = policy.socket.parent
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o755)  # the server has to get through
    check_roots(folder)
    (folder / "attempts").mkdir(mode=0o700, exist_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    policy.socket.unlink(missing_ok=True)
    made.bind(str(policy.socket))
    policy.socket.chmod(0o600)
    os.chown(policy.socket, policy.server, -1, follow_symlinks=False)
    made.listen(WAITING)
    return made


def serve(path: Path) -> NoReturn:
    """Take callers until root ends it; what runs goes on."""
    policy = read_policy(path)
    os.umask(0o077)
    listener = listening(policy)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing asks how keepers ended
    say(f"listens at {policy.socket} for uid {policy.server}")
    missing = cgroups.unenforced()
    if missing:
        say(f"this machine does not let it enforce: {', '.join(missing)}")
    while True:
        connected, _ = listener.accept()
        with connected:
            uid = peer_uid(connected)
            if uid != policy.server:
                say(f"uid {uid} was refused: it is not the server")
                continue
            if os.fork() == 0:
                listener.close()
                _served(connected, path)


def _served(connected: socket.socket, path: Path) -> NoReturn:
    """Serve one caller in a process of its own."""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        connected.settimeout(ASK_S)
        _answer(connected, path)
    except (wire.BadMessage, BadPolicy, NotAllowed) as error:
        say(f"refused: {error}")
        with contextlib.suppress(OSError):
            wire.send(connected, {"refused": str(error)})
    except OSError as error:
        say(f"failed: {error}")
    finally:
        os._exit(0)


def _answer(connected: socket.socket, path: Path) -> None:
    came = wire.receive(connected)
    if came is None:
        return
    message, files = came
    for each in files:
        os.close(each)
    order, policy = first_order(message), read_policy(path)
    locks = policy.socket.parent / "attempts"
    if isinstance(order, EndOrder):
        group = cgroups.group_name(policy.socket, order.attempt)
        wire.send(connected, {"left": not _ended(locks / order.attempt, group)})
        return
    account = allowed(order.uid, policy)
    if isinstance(order, CheckOrder):
        wire.send(connected, {"unenforced": cgroups.unenforced()})
        return
    with contextlib.ExitStack() as stack:
        held = _held(locks, order)
        stack.callback(os.close, held)
        connected.settimeout(None)
        group = cgroups.group_name(policy.socket, order.attempt)
        Keeper(connected, order, account, group).keep()
        with contextlib.suppress(OSError):  # another one keeps a session of the attempt
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (locks / order.attempt).unlink()


def _held(locks: Path, order: OpenOrder) -> int:
    """A lock that shows that the attempt, or a session in it, is kept."""
    opened = os.open(locks / order.attempt, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    fcntl.flock(opened, fcntl.LOCK_SH)
    return opened


def _ended(lock: Path, group: str) -> bool:
    """Whether nothing is left of an attempt without a supervisor; what no keeper has is killed."""
    try:
        opened = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return cgroups.end(group)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return cgroups.end(group)
    except BlockingIOError:
        return False  # its keeper is about to end it
    finally:
        os.close(opened)


def say(line: str) -> None:
    """Write a line for the journal."""
    print(f"ganglion helper: {line}", file=sys.stderr, flush=True)  # noqa: T201 - its own log


def main(argv: list[str]) -> int:
    """Serve; returns the exit code where that cannot begin."""
    path = Path(argv[0]) if argv else PATH
    if os.geteuid() != 0:
        say("it needs the rights of root: it starts programs as other users")
        return 4
    try:
        check_own_code()
        serve(path)
    except (BadPolicy, OSError) as error:
        say(str(error))
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
