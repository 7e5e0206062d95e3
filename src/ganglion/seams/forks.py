"""Processes that are a copy of this one, and processes that end with whom they work for.

No timer and no signal of the kernel tells a process that its parent has ended: the end of a pipe
does, for which it does not matter who ended when.
"""

import os
import select
import threading
from collections.abc import Callable
from typing import NoReturn

from ganglion.seams.processes import SYSTEM_PROCESSES

ORPHANED = 3
"""Exit code of a process whose answer no process reads any more."""


def end_with_reader(descriptor: int) -> None:
    """End this process at once when the last reader of a pipe is gone, however that has ended.

    Args:
        descriptor: the end of the pipe that this process writes to; for what is no pipe, nothing
            happens.
    """
    threading.Thread(target=_watch, args=(descriptor,), name="reader", daemon=True).start()


def _watch(descriptor: int) -> None:
    watched = select.poll()
    watched.register(descriptor, 0)  # errors are reported always, and nothing else is asked for
    watched.poll()
    SYSTEM_PROCESSES.exit(ORPHANED)


def computed_beside(work: Callable[[], bytes]) -> Callable[[], bytes]:
    """Compute something in a copy of this process, beside what this one goes on with.

    The copy ends when this process does. It has only the calling thread.

    Args:
        work: what is computed; an error that it raises is printed, as one that nothing catches.

    Returns:
        waits for the result; raises OSError where the copy has ended without one.

    Raises:
        OSError: the machine cannot start another process.
    """
    reader, writer = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    if pid == 0:
        os.close(reader)
        _compute(work, writer)
    os.close(writer)

    def result() -> bytes:
        with os.fdopen(reader, "rb") as pipe:
            found = pipe.read()
        _, status = os.waitpid(pid, 0)
        if status:
            code = os.waitstatus_to_exitcode(status)
            raise ChildProcessError(f"a process that computed a part has ended with {code}")
        return found

    return result


def _compute(work: Callable[[], bytes], writer: int) -> NoReturn:
    code = 1
    try:
        end_with_reader(writer)
        silent = os.open(os.devnull, os.O_RDWR)
        os.dup2(silent, 0)
        os.dup2(silent, 1)  # else a reader of what the parent writes would wait for the copy
        # Open until this process ends: were it closed, the watching thread would end the process.
        with os.fdopen(writer, "wb", closefd=False) as pipe:
            pipe.write(work())
        code = 0
    finally:
        if code:
            import traceback  # noqa: PLC0415 - only where something is wrong

            traceback.print_exc()
        os._exit(code)
