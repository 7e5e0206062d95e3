"""A supervisor on a machine where anything asked for may vanish, be cut short or be unknown.

Run as `python -m tests.worlds.local.faulty RUN_DIRECTORY`. The seed is the
number in the name of the job.
"""

import contextlib
import errno
import os
import random
import sys
from pathlib import Path

from ganglion.seams.files import SystemFiles, Where
from ganglion.worlds.local import supervisor
from ganglion.worlds.local.machine import host


class Faulty(SystemFiles):
    """Every third call about processes goes wrong in some way; every tenth about other files,
    writes among them.

    Args:
        seed: of the faults.
    """

    UNTOLD = (errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM, errno.EINTR, errno.ENOSPC)

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._mine = f"/proc/{os.getpid()}/"
        self.faults = 0

    def _fails(self, path: str) -> None:
        of_processes = path.startswith("/proc/") and not path.startswith(self._mine)
        if self._chance.random() < (0.33 if of_processes else 0.1):
            self.faults += 1
            gone = (errno.ENOENT, errno.ESRCH) if of_processes else ()
            number = self._chance.choice((*gone, *self.UNTOLD))
            raise OSError(number, os.strerror(number), path)

    def read(self, path: Where) -> bytes:
        self._fails(str(path))
        found = super().read(path)
        cut = str(path).endswith("/stat") and self._chance.random() < 0.1
        return found[: self._chance.randrange(len(found))] if cut else found

    def names(self, path: Where) -> list[str]:
        self._fails(str(path))
        return super().names(path)

    def stat(self, path: Where, *, follow: bool = True) -> os.stat_result:
        self._fails(str(path))
        return super().stat(path, follow=follow)

    def write(self, descriptor: int, content: bytes) -> None:
        self._fails("what is written")
        super().write(descriptor, content)

    def rename(self, path: Where, to: Where) -> None:
        self._fails(str(path))
        super().rename(path, to)


def main(run: Path) -> None:
    """Supervise; the faults begin once it has begun, as before that it is just started again."""
    attempt = supervisor.JobAttempt.carry_out

    def carry_out(self: supervisor.JobAttempt) -> supervisor.JobEnd:
        host.files = Faulty(int(run.name.split("-")[1]))
        return attempt(self)

    supervisor.JobAttempt.carry_out = carry_out  # type: ignore[method-assign]  # this process only
    supervisor.supervise(run)


if __name__ == "__main__":
    with contextlib.suppress(OSError):
        os.setsid()
    main(Path(sys.argv[1]))
