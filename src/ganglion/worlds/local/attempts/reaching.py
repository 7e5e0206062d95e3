"""How a server reaches the terminals of an attempt: through sockets in its run directory."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ganglion.model.errors import Conflict, EnvironmentFault
from ganglion.transport import unix
from ganglion.worlds.local.run_files import paths, records
from ganglion.worlds.local.supervision.frames import HEAD, MOST, framed

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NoTerminal(Conflict):
    """The attempt has no terminal."""

    code = "state.no_terminal"


async def execute(home: Path, gang: str, attempt: int, asked: Mapping[str, Any]) -> Ends:
    """Have a supervisor run a command in a pod; returns the two ends of its messages.

    Args:
        home: Ganglion's home directory.
        gang: gang id.
        attempt: number of the attempt.
        asked: `pod`, `rank`, `command`, `tty`, `term`, `rows`, `columns`.

    Raises:
        Conflict: the attempt takes no callers.
    """
    run = paths.run_dir(home, gang, attempt)
    try:
        reader, writer = await _connected(run / records.CALLERS)
    except (FileNotFoundError, ConnectionRefusedError):
        raise Conflict(
            f"{gang} takes no commands: it is about to end, or an earlier version of Ganglion"
            " started it",
            f"see: ganglion describe {gang}",
        ) from None
    writer.write(framed(json.dumps(asked).encode()))
    return reader, writer


async def terminal(home: Path, gang: str, attempt: int) -> Ends:
    """Reach the terminal of rank 0; returns the two ends of its messages.

    Raises:
        NoTerminal: it has none, or it is closed.
    """
    run = paths.run_dir(home, gang, attempt)
    try:
        return await _connected(run / records.TERMINAL)
    except (FileNotFoundError, ConnectionRefusedError):
        raise NoTerminal(
            f"{gang} has no terminal", "submit it with `tty: true`, or: ganglion run --pty"
        ) from None


async def _connected(path: Path) -> Ends:
    try:
        with unix.address(path) as name:
            return await asyncio.open_unix_connection(name, limit=MOST)
    except (FileNotFoundError, ConnectionRefusedError):
        raise
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be reached: {error}") from error


async def receive(reader: asyncio.StreamReader) -> bytes:
    """Read one message; empty = the other side has closed."""
    try:
        (size,) = HEAD.unpack(await reader.readexactly(HEAD.size))
        return await reader.readexactly(size)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
