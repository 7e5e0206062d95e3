"""The programs of a Kubernetes control plane: where they are, and one of them as a process.

Two forms are understood: one binary that takes the name of the program as its first argument
(`python -m tests.controlplane.build` in a checkout makes it), and a folder with one file per
program, as Kubernetes' own test tools use it (`$KUBEBUILDER_ASSETS`).
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import psutil
from msgspec import Struct

from ganglion.model.errors import EnvironmentFault

BINARY = "GANGLION_CONTROL_PLANE"
"""Environment variable: path of the one binary."""
ASSETS = "KUBEBUILDER_ASSETS"
"""Environment variable: folder with one file per program."""
CACHE = Path.home() / ".cache" / "ganglion"
"""Where built binaries are kept, named `controlplane-HASH`."""
HINT = (
    "build it in a checkout with `python -m tests.controlplane.build` (needs Go),"
    f" or set {ASSETS} to a folder with etcd and kube-apiserver"
)


class Programs(Struct, frozen=True):
    """Where the programs are.

    Attributes:
        path: one binary for all of them, or a folder with one file for each.
    """

    path: Path

    def has(self, name: str) -> bool:
        """Whether there is a program of that name, as `kube-scheduler`."""
        return self.path.is_file() or (self.path / name).is_file()

    def command(self, name: str) -> list[str]:
        """How to start it, without flags.

        Raises:
            EnvironmentFault: the folder does not have it.
        """
        if not self.has(name):
            raise EnvironmentFault(f"{self.path} has no {name}", HINT)
        return [str(self.path), name] if self.path.is_file() else [str(self.path / name)]


def find() -> Programs:
    """The programs of this machine: by environment variable, else the newest of the cache.

    Raises:
        EnvironmentFault: there are none, or a variable names what does not exist.
    """
    for variable in (BINARY, ASSETS):
        if text := os.environ.get(variable):
            return _named(variable, Path(text))
    built = sorted(CACHE.glob("controlplane-*"), key=lambda file: file.stat().st_mtime)
    if not built:
        raise EnvironmentFault("no Kubernetes control plane on this machine", HINT)
    return Programs(built[-1])


def _named(variable: str, path: Path) -> Programs:
    programs = Programs(path)
    if not programs.has("etcd") or not programs.has("kube-apiserver"):
        raise EnvironmentFault(f"{variable}: no etcd and kube-apiserver in {path}", HINT)
    return programs


class Process:
    """One program as a process of its own, which ends when this one does.

    Args:
        name: what it is called in messages, and its log file.
        command: program and arguments.
        folder: where its log goes.
    """

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name = name
        self._command = list(command)
        self.log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start it; what it writes is appended to its log."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=os.environ | {"EXIT_WITH_STDIN": "1"},
                start_new_session=True,
            )
        return self

    @property
    def pid(self) -> int:
        """Process id; 0 when it was not started."""
        return self._process.pid if self._process else 0

    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def kill(self, how: signal.Signals = signal.SIGKILL, wait_s: float = 15.0) -> None:
        """End it and wait for that; nothing happens when it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin:
            process.stdin.close()

    def wait_until(self, ready: Callable[[], bool], limit_s: float) -> None:
        """Wait until `ready` says so.

        Raises:
            EnvironmentFault: it ended before, or took longer than `limit_s` seconds.
        """
        end = time.monotonic() + limit_s
        while not ready():
            if not self.runs():
                raise EnvironmentFault(f"{self.name} ended at once", self.last_lines())
            if time.monotonic() > end:
                raise EnvironmentFault(f"{self.name} is not ready", self.last_lines())
            time.sleep(0.05)

    def last_lines(self, count: int = 5) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:])

    def cpu_s(self) -> float:
        """CPU seconds it has used, user and system."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)

    def rss_mib(self) -> int:
        """Memory that it holds now, in MiB."""
        return int(psutil.Process(self.pid).memory_info().rss) >> 20
