"""`ganglion scheduler` as a process of its own, to be killed."""

import subprocess
from pathlib import Path
from typing import Self

from tests.forking import Forked

IMPORTED = ("ganglion.cli.server.scheduler", "ganglion.server.cluster.scheduling")


class SchedulerProcess:
    """One scheduler.

    Args:
        kubeconfig: of the cluster.
        arguments: further ones.
    """

    def __init__(self, kubeconfig: Path, *arguments: str) -> None:
        self._args = ["scheduler", "--kubeconfig", str(kubeconfig), "--listen", "127.0.0.1:0"]
        self._args += arguments or ["--no-lease"]
        self._log = kubeconfig.with_name(f"{kubeconfig.name}.scheduler.log")

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self.process = Forked("ganglion.cli.main", self._args, log.fileno(), beside=IMPORTED)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def wait_dead(self, limit_s: float) -> bool:
        """Wait until it has ended; False = it has not."""
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def log(self) -> str:
        """What it wrote."""
        return self._log.read_text()
