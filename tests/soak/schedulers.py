"""Two schedulers as processes that want one Lease: killed, stopped, started anew, and measured."""

import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import httpx2
import psutil
from msgspec import Struct, field

from benchmarks.controlplane.programs import Process
from tests.controlplane.proxy import Proxy

EVERY_S = 5.0
WARM_S = 60.0
"""From its start; what a process takes until then is no growth."""
SETTINGS = """\
timers: {assemble: 10s, replace: 5s, backoff: 0.5s, quarantine: 10s}
devices: {agent: true}
"""


class Sample(Struct, frozen=True):
    """A process at one moment.

    Attributes:
        age_s: since its start, in seconds.
        rss_mib: memory that it holds.
        fds: file descriptors that are open.
        threads: how many.
    """

    age_s: float
    rss_mib: float
    fds: int
    threads: int


class Life(Struct):
    """One process from its start to its end."""

    name: str
    began_s: float
    samples: list[Sample] = field(default_factory=list)

    def growth(self) -> dict[str, float]:
        """What it held after `WARM_S`, and at the end; medians of a minute each."""
        warm = [each for each in self.samples if each.age_s >= WARM_S]
        if not warm:
            return {}
        count = max(1, min(int(WARM_S / EVERY_S), len(warm) // 2))
        found: dict[str, float] = {"seconds": round(self.samples[-1].age_s)}
        for name, part in (("first", warm[:count]), ("last", warm[-count:])):
            found[f"rss_mib_{name}"] = round(median(each.rss_mib for each in part), 1)
            found[f"fds_{name}"] = median(each.fds for each in part)
            found[f"threads_{name}"] = median(each.threads for each in part)
        return found


class Schedulers:
    """Keeps two of them at work, as a Deployment does.

    Args:
        proxies: one before each, by the name of the scheduler.
        folder: for settings and logs.

    Attributes:
        lives: every process there was.
        ended: how often one ended by itself, as after it lost the lead.
    """

    def __init__(self, proxies: Mapping[str, Proxy], folder: Path) -> None:
        self.proxies, self._folder = proxies, folder
        self._settings = folder / "settings.yaml"
        self._settings.write_text(SETTINGS)
        self._running: dict[str, Process] = {}
        self._lives: dict[str, Life] = {}
        self._resting: dict[str, float] = {}
        self._over = threading.Event()
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self._keep, daemon=True, name="keeper")
        self.lives: list[Life] = []
        self.ended = 0

    def start(self) -> None:
        """Start both."""
        for name in self.proxies:
            self._begin(name)
        self._thread.start()

    def stop(self) -> None:
        """End both."""
        self._over.set()
        self._thread.join()
        for each in self._running.values():
            each.kill()

    def kill(self, name: str, rest_s: float) -> None:
        """kill -9; it is started again after `rest_s` seconds."""
        with self._lock:
            self._resting[name] = time.monotonic() + rest_s
            self._running[name].kill()

    def freeze(self, name: str) -> None:
        """Let it stand still, as on a machine that swaps."""
        self._signal(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let it go on where it stood."""
        self._signal(name, signal.SIGCONT)

    def logs(self) -> dict[str, Path]:
        """Where each writes."""
        return {name: self._folder / f"{name}.log" for name in self.proxies}

    def figures(self) -> dict[str, dict[str, float]]:
        """Metrics of each that answers, by name with labels."""
        found = {}
        for name in self.proxies:
            if port := self._port(name):
                try:
                    page = httpx2.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
                except httpx2.TransportError:
                    continue
                lines = (line.rpartition(" ") for line in page.splitlines() if line[:1] != "#")
                found[name] = {key: float(value) for key, _, value in lines}
        return found

    def _begin(self, name: str) -> None:
        config = self.proxies[name].kubeconfig()
        command = [sys.executable, "-m", "ganglion", "scheduler", "--kubeconfig", str(config)]
        command += ["--listen", "127.0.0.1:0", "--identity", name, "--namespace", "default"]
        command += ["--settings", str(self._settings)]
        self._running[name] = Process(name, command, self._folder).start()
        self._lives[name] = Life(name, time.monotonic())
        self.lives.append(self._lives[name])

    def _port(self, name: str) -> int:
        pid = self._running[name].pid
        if not pid:
            return 0
        try:
            listening = psutil.Process(pid).net_connections("tcp")
        except psutil.Error:
            return 0
        return next((each.laddr.port for each in listening if each.status == "LISTEN"), 0)

    def _signal(self, name: str, number: signal.Signals) -> None:
        with self._lock:
            if self._running[name].runs():
                os.kill(self._running[name].pid, number)

    def _keep(self) -> None:
        due = time.monotonic()
        while not self._over.wait(0.1):
            with self._lock:
                for name in self.proxies:
                    self._tend(name)
                if time.monotonic() >= due:
                    due += EVERY_S
                    self._measure()

    def _tend(self, name: str) -> None:
        if self._running[name].runs():
            return
        if name not in self._resting:  # it ended by itself
            self.ended += 1
            self._resting[name] = time.monotonic() + 0.5
        elif time.monotonic() >= self._resting[name]:
            del self._resting[name]
            self._begin(name)

    def _measure(self) -> None:
        for name, process in self._running.items():
            if not process.runs():
                continue
            seen, life = psutil.Process(process.pid), self._lives[name]
            with seen.oneshot():
                sample = Sample(
                    time.monotonic() - life.began_s,
                    seen.memory_info().rss / 2**20,
                    seen.num_fds(),
                    seen.num_threads(),
                )
            life.samples.append(sample)
