"""A person's terminal, joined with one far away."""

import contextlib
import os
import select
import shutil
import signal
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ganglion.client.calls.terminals import STDERR, SessionStatus, Size, TerminalSession

if TYPE_CHECKING:
    from types import FrameType

DETACH = b"\x10\x11"
"""Ctrl-P Ctrl-Q, as Docker has it."""
PIECE = 1 << 15


class Detached(Exception):
    """The person has pressed the keys that detach."""


def size() -> Size:
    """Return the size of the person's terminal, whatever $LINES and $COLUMNS say."""
    try:
        found = os.get_terminal_size(sys.stdin.fileno())
    except (OSError, ValueError):  # no terminal, or a standard input that is no file
        found = shutil.get_terminal_size()
    return Size(found.lines, found.columns)


def join(
    session: TerminalSession, *, terminal: bool, typing: bool, detach: bool = False
) -> SessionStatus:
    """Copy output to this process's streams, and its input to the session, until it ends.

    Args:
        session: the open session.
        terminal: whether the far side is a terminal: keys go there one by one, unseen here.
        typing: whether input is copied.
        detach: whether Ctrl-P Ctrl-Q ends this.

    Returns:
        how it ended.

    Raises:
        Detached: the keys were pressed.
        EnvironmentFault: the connection broke.
    """
    keys = KeyboardCopier(session, detach=detach)
    with contextlib.ExitStack() as stack:
        if terminal and sys.stdin.isatty():
            stack.enter_context(_raw())
            stack.enter_context(_resizing(session))
        if typing:
            stack.enter_context(keys.copied())
        else:
            session.close_input()
        return _copied(session, keys)


def _copied(session: TerminalSession, keys: "KeyboardCopier") -> SessionStatus:
    """Write what arrives; the keys that detach may interrupt at any point."""
    try:
        while not isinstance(found := session.receive(), SessionStatus):
            channel, data = found
            out = sys.stderr.buffer if channel == STDERR else sys.stdout.buffer
            out.write(data)
            out.flush()
    except KeyboardInterrupt:
        if keys.pressed:
            raise Detached from None
        raise
    return found


class KeyboardCopier:
    """Copies what is typed, in a thread of its own.

    Args:
        session: where it goes.
        detach: whether the keys that detach are looked for.

    Attributes:
        pressed: whether they were pressed.
    """

    def __init__(self, session: TerminalSession, *, detach: bool) -> None:
        self._session, self._detach = session, detach
        self._held = b""
        self.pressed = False

    @contextlib.contextmanager
    def copied(self) -> Iterator[None]:
        """Copy for as long as this lasts."""
        ending, end = os.pipe()
        thread = threading.Thread(target=self._run, args=(ending,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            os.close(end)
            thread.join()
            os.close(ending)

    def _run(self, ending: int) -> None:
        source = sys.stdin.fileno()
        while True:
            ready, _, _ = select.select([source, ending], [], [])
            if ending in ready:
                return
            data = os.read(source, PIECE)
            try:
                if not data:
                    self._session.close_input()
                    return
                self._typed(data)
            except Exception:
                return
            if self.pressed:
                wake()
                return

    def _typed(self, data: bytes) -> None:
        """Send keys; the first of the two that detach is held back until the next is known."""
        if not self._detach:
            self._session.send(data)
            return
        data, self._held = self._held + data, b""
        before, found, _ = data.partition(DETACH)
        self.pressed = bool(found)
        if not found and data.endswith(DETACH[:1]):
            before, self._held = data[:-1], DETACH[:1]
        self._session.send(before)


def wake() -> None:
    """Interrupt the main thread, which waits for output."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@contextlib.contextmanager
def _raw() -> Iterator[None]:
    """Keys come one by one, Ctrl-C among them."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor, termios.TCSADRAIN)  # what was typed ahead is kept
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _resizing(session: TerminalSession) -> Iterator[None]:
    """Report every change of the size of the person's terminal to the far side."""

    def tell(_number: int, _frame: "FrameType | None") -> None:
        session.resize(size())

    session.resize(size())
    before: Callable[..., object] | int | None = signal.signal(signal.SIGWINCH, tell)
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
