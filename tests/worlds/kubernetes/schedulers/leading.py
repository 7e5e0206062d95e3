"""One of several schedulers, as a process, with a Lease that tests can wait for.

Run as `python -m tests.worlds.kubernetes.schedulers.leading KUBECONFIG IDENTITY`.
"""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Self
from unittest.mock import patch

from ganglion.server.cluster import scheduling
from ganglion.worlds.kubernetes.leader_election.lead import Lead
from ganglion.worlds.kubernetes.sign_in.config import load

LEASE_S, RENEW_S, RETRY_S = 6.0, 5.0, 0.5
"""Long enough that a machine with much else to do confirms in time; each attempt has 2.5 s."""


class Candidate:
    """A scheduler that decides while it holds the Lease.

    Args:
        kubeconfig: of the cluster.
        identity: its name.
    """

    def __init__(self, kubeconfig: Path, identity: str) -> None:
        self._command = [sys.executable, "-m", __name__, str(kubeconfig), identity]
        self._log = kubeconfig.with_name(f"{identity}.log")

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        return self

    def __exit__(self, _kind: object, failed: BaseException | None, _trace: object) -> None:
        self._process.kill()
        self._process.wait()
        if failed:
            failed.add_note(f"{self._log.name}: {self.log}")

    @property
    def log(self) -> str:
        """What it wrote."""
        return self._log.read_text()[-2000:]

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self._process.pid, number)

    def wait_dead(self, limit_s: float = 20.0) -> int:
        """Wait until it has ended; its exit code."""
        return self._process.wait(limit_s)


def main(kubeconfig: str, identity: str) -> None:
    """Schedule until told to stop."""
    quick = partial(Lead, lease_s=LEASE_S, renew_s=RENEW_S, retry_s=RETRY_S)
    wish = scheduling.SchedulerRun("default", "ganglion", identity, port=0)
    with patch.object(scheduling, "Lead", quick):
        scheduling.schedule({"": load(Path(kubeconfig))}, wish)


if __name__ == "__main__":
    main(*sys.argv[1:])
