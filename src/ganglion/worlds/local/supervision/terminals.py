"""Ranks that have a terminal; standard library only."""

import os
import subprocess
import sys
from pathlib import Path

from ganglion.transport import unix
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.supervision import pseudo
from ganglion.worlds.local.supervision.children import Children
from ganglion.worlds.local.supervision.processes import Process, StartError

HOLDER = (sys.executable, "-S", "-P", "-m", "ganglion.worlds.local.holding")


def with_terminal(
    rank: int,
    argv: list[str],
    env: dict[str, str],
    workdir: str,
    log: Path,
    children: Children,
    umask: int = -1,
) -> Process:
    """Start a rank with a terminal, and the process that holds it beside it.

    Args:
        rank: its rank in the gang.
        argv: argument vector.
        env: whole environment.
        workdir: directory to run in.
        log: file that what the terminal shows is appended to; the terminal's socket is made
            beside it.
        children: what the rank is started by.
        umask: of the rank; -1 = that of this process.

    Raises:
        StartError: the machine has no terminal or socket left, or the command cannot be run.
    """
    try:
        listener = unix.bind(log.parent / records.TERMINAL)
        listener.listen()
        master, slave = pseudo.opened()
    except OSError as error:
        said = f"there is no terminal for rank {rank}: {error}"
        raise StartError(said, 1, passing=True) from error
    try:
        env = {"TERM": pseudo.TERM} | env
        process = Process(rank, argv, env, workdir, log, children, umask, slave)
        holder = subprocess.Popen(
            [*HOLDER, str(log), str(master), str(listener.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=(master, listener.fileno()),
            start_new_session=True,
        )
        holder.returncode = 0  # its end is collected with that of all other children
    finally:
        os.close(master)
        os.close(slave)
        listener.close()
    return process
