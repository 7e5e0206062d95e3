"""The command that saves what a workspace wants saved before it goes; standard library only."""

import shutil
from pathlib import Path

from ganglion.worlds.local.run_files.records import Record
from ganglion.worlds.local.run_files.withheld import SecretsGone, credentials_of
from ganglion.worlds.local.supervision.children import Children
from ganglion.worlds.local.supervision.processes import Process, StartError

NAME = "hook"
"""What its log file is called, beside those of the ranks."""
NO_RANK = -1


class Hook:
    """Runs beside the ranks, with the environment of the first, within the grace of the stop.

    Ranks get their signal when it has ended, well or not, and are killed at the end of the
    grace whether it has ended or not.

    Args:
        spec: the decoded `spec.json`; without a hook nothing is ever run.
        children: what it is started by.
    """

    def __init__(self, spec: Record, children: Children) -> None:
        self._spec, self._children = spec, children
        self._process: Process | None = None

    @property
    def running(self) -> bool:
        """Whether it was begun and has not ended."""
        return self._process is not None and self._process.code is None

    def begin(self) -> bool:
        """Start it; False = there is none, or it cannot be started."""
        line = self._spec.get("hook")
        if not line or self._process:
            return False
        pod = self._spec["pods"][0]
        argv = [shutil.which("bash") or "/bin/sh", "-c", line]
        log, umask = Path(self._spec["log_dir"]) / f"{NAME}.log", self._spec.get("umask", -1)
        try:
            env = self._spec["env"] | credentials_of(self._spec) | pod["ranks"][0]["env"]
            self._process = Process(NO_RANK, argv, env, pod["workdir"], log, self._children, umask)
        except (StartError, SecretsGone, OSError) as error:
            log.with_suffix(".error").write_text(f"{error}\n", encoding="utf-8")
            return False
        return True

    def ended(self, pid: int, status: int) -> None:
        """A child of this process has ended; take notice if it was the hook."""
        if self._process and self._process.pid == pid:
            self._process.ended(status)
