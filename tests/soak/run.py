"""One soak from its start to its figures."""

import json
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct, to_builtins

from benchmarks.controlplane.control_plane import ControlPlane
from benchmarks.controlplane.programs import Programs
from tests.controlplane import manifests
from tests.controlplane.amounts import amounts
from tests.controlplane.build import programs
from tests.controlplane.cluster import Cluster, line_of
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.manifests import Object
from tests.controlplane.proxy import Proxy
from tests.soak.crowd import JOBS, URGENT, Crowd
from tests.soak.mirror import VICTIM_OF, Books, Mirror, gang_of, is_bound
from tests.soak.schedulers import Schedulers
from tests.soak.trouble import Trouble
from tests.worlds.kubernetes.troubled import priority

NODES, GPUS, CORES = 8, 4, "16"
LABELS = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}
PART_S = 360.0
"""Every so often everything is at rest for a moment, and looked at."""
WITH_KILLS = 0.6
"""In this part of the time processes are killed too; then the same live to the end."""
LOOK_S, JOBS_S = 0.2, 1.0
REST_S, CALM_S = 120.0, 3.0
"""Longest time until nothing is half, once nothing goes wrong; and how long that has to last."""
DRAIN_S = 360.0
"""Longest time until what waits at the end has run: several rounds of the longest work."""
LOAD = 0.7
"""Part of the GPUs that all pods would use if they came evenly and nothing ever failed."""
MEAN_GPUS = 1.7
WAVE = 40
"""Pods that come at once."""
SUSPENDED_FOR = "ganglion.dev/suspended-for"
SCHEDULERS = ("first", "second")


class Figures(Struct):
    """What a soak has found; docs/benchmarks/churn.md says what each means."""

    seconds: float = 0.0
    pods: int = 0
    replaced: int = 0
    resized: int = 0
    bound: int = 0
    marked: int = 0
    revisions: int = 0
    gaps: int = 0
    faults: dict[str, int] = {}
    starts: int = 0
    over_allocated: int = 0
    over: list[str] = []
    refused: dict[str, str] = {}
    rests: int = 0
    half_gangs: int = 0
    halves: list[str] = []
    longest_half_s: float = 0.0
    leaks: list[str] = []
    lives: list[dict[str, float]] = []

    def promises_kept(self) -> bool:
        """Whether nothing was over-allocated, torn or left."""
        return not (self.over_allocated or self.refused or self.half_gangs or self.leaks)


class Soak:
    """A cluster, its users, its troubles and its two schedulers.

    Args:
        plane: the control plane.
        folder: for what the schedulers write.
        seconds: how long pods are made.
        pods: how many, evenly over that time.
        seed: of everything that is drawn.
    """

    def __init__(
        self, plane: ControlPlane, folder: Path, seconds: float, pods: int, seed: int
    ) -> None:
        self._plane, self._seconds, self._most = plane, seconds, pods
        self._cluster = Cluster(plane)
        made = [
            manifests.node(f"node-{i}", gpus=GPUS, cpu=CORES, labels=LABELS) for i in range(NODES)
        ]
        self._nodes: dict[str, Object] = {each["metadata"]["name"]: each for each in made}
        rooms = {name: amounts(each["status"]["allocatable"]) for name, each in self._nodes.items()}
        self.mirror = Mirror(plane, Books(rooms))
        self._kubelets = Kubelets(plane, leases=True)
        self._proxies = {name: Proxy(plane) for name in SCHEDULERS}
        self.schedulers = Schedulers(self._proxies, folder)
        usual_s = LOAD * NODES * GPUS / MEAN_GPUS * seconds / pods
        self.crowd = Crowd(self._cluster, Random(seed), pods, usual_s, self.mirror.books.resized)
        self._trouble = Trouble(
            self._cluster,
            self._proxies,
            self.schedulers,
            self._kubelets,
            self._nodes,
            Random(seed + 1),
        )
        self.found = Figures()
        self._jobs_due = 0.0

    def run(self) -> Figures:
        """Run it; returns what was found."""
        with self._at_work():
            begun = time.monotonic()
            parts = max(1, round(self._seconds / PART_S))
            for part in range(parts):
                self._trouble.begin(processes=part < WITH_KILLS * parts)
                try:
                    end = begun + self._seconds * (part + 1) / parts
                    while (now := time.monotonic()) < end:
                        self._step(self._wanted(now - begun))
                finally:
                    self._trouble.rest()
                self._rest()
                self._tell(begun)
            self._finish()
            self.found.seconds = round(time.monotonic() - begun, 1)
        self._collect()
        return self.found

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with ExitStack() as left:
            left.callback(self._cluster.close)
            self._cluster.create(priority(URGENT, 1000))
            self._cluster.create(*self._nodes.values())
            self._plane.launch("kube-controller-manager")
            left.callback(self._plane.end, "kube-controller-manager")
            for proxy in self._proxies.values():
                proxy.start()
                left.callback(proxy.stop)
            self._kubelets.start()
            left.callback(self._kubelets.stop)
            self.mirror.start()
            left.callback(self.mirror.stop)
            self.schedulers.start()
            left.callback(self.schedulers.stop)
            yield

    def _wanted(self, passed_s: float) -> int:
        """How many pods should have been made by now: they come in waves."""
        return int(self._most * passed_s / self._seconds / WAVE + 1) * WAVE

    def _step(self, wanted: int) -> None:
        """Users do something."""
        self.crowd.go_on(self.mirror.pods(), wanted)
        if time.monotonic() >= self._jobs_due:
            self._jobs_due = time.monotonic() + JOBS_S
            self.crowd.look_after_jobs()
        time.sleep(LOOK_S)

    def _rest(self) -> None:
        """Nothing goes wrong and nothing is begun: soon no gang is half, no mark is stale."""
        end, calm = time.monotonic() + REST_S, time.monotonic()
        while (now := time.monotonic()) < end and now - calm < CALM_S:
            self._step(0)
            if self.mirror.halves() or self._stale():
                calm = time.monotonic()
        self.found.rests += 1
        halves = self.mirror.halves() if time.monotonic() >= end else {}
        self.found.half_gangs += len(halves)
        self.found.halves += [f"{gang}: {names} have no node" for gang, names in halves.items()]
        if time.monotonic() >= end:
            self.found.leaks += self._stale()

    def _stale(self) -> list[str]:
        """Marks and suspensions for the sake of a gang that runs or is gone."""
        waits = {
            name
            for pod in self.mirror.pods()
            if not is_bound(pod)
            for name in (gang_of(pod), pod["metadata"]["name"])
        }
        found = []
        for pod in self.mirror.pods():
            asker = (pod["metadata"].get("annotations") or {}).get(VICTIM_OF, "")
            if asker and not _is_one_of(asker, waits):
                found.append(f"pod {pod['metadata']['name']} is marked for {asker}")
        for job in self._cluster.list(JOBS):
            asker = (job["metadata"].get("annotations") or {}).get(SUSPENDED_FOR, "")
            if asker and job["spec"].get("suspend") and not _is_one_of(asker, waits):
                found.append(f"job {job['metadata']['name']} is suspended for {asker}")
        return found

    def _finish(self) -> None:
        """Everything ends, and nothing may be left."""
        self.crowd.most = self.crowd.made
        self._await(lambda: not self._unfinished(), "work that never ends", DRAIN_S)
        self.crowd.end()
        self._await(lambda: not self.mirror.pods(), "pods that stay")
        self._await(lambda: not self._cluster.list(JOBS), "jobs that stay")
        self._await(lambda: not self._remembered(), "gangs that schedulers remember")

    def _unfinished(self) -> bool:
        self._step(0)
        return bool(self.crowd.live)

    def _remembered(self) -> list[str]:
        """Gangs and GPUs in use by the metrics of schedulers."""
        kinds = ("ganglion_queue_gangs{", "ganglion_queue_gpus_used{", "ganglion_queue_gpus_asked{")
        return [
            f"{name} {key} {value:g}"
            for name, page in self.schedulers.figures().items()
            for key, value in page.items()
            if key.startswith(kinds) and value
        ]

    def _await(self, is_so: Any, what: str, longest_s: float = REST_S) -> None:
        end = time.monotonic() + longest_s
        while not is_so():
            if time.monotonic() > end:
                lines = [*self.crowd.live, *map(line_of, self.mirror.pods())]
                self.found.leaks.append(f"{what}: {lines[:20]} {self._remembered()}")
                return
            time.sleep(LOOK_S)

    def _tell(self, begun: float) -> None:
        crowd, books = self.crowd, self.mirror.books
        said = {
            "s": round(time.monotonic() - begun),
            "made": crowd.made,
            "bound": len(books.bound),
            "replaced": crowd.replaced,
            "failed": crowd.failed,
            "resized": len(books.resized),
            "faults": sum(self._trouble.counts.values()),
            "starts": len(self.schedulers.lives),
            "marked": len(books.marked),
            "over": books.overs,
            "half": self.found.half_gangs,
            "longest half": f"{books.longest_half_s:.1f} s ({books.longest_half})",
            "leaks": self.found.leaks,
        }
        _say(", ".join(f"{name} {value}" for name, value in said.items()))

    def _collect(self) -> None:
        found, books, crowd = self.found, self.mirror.books, self.crowd
        found.pods, found.replaced, found.bound = crowd.made, crowd.replaced, len(books.bound)
        found.marked, found.resized = len(books.marked), len(books.resized)
        found.revisions, found.gaps = books.looked, self.mirror.gaps
        found.faults = dict(sorted(self._trouble.counts.items()))
        found.starts = len(self.schedulers.lives)
        found.over_allocated, found.over = books.overs, books.over
        found.refused = self._kubelets.refused
        found.longest_half_s = round(books.longest_half_s, 1)
        grown = [each.growth() for each in self.schedulers.lives]
        found.lives = [each for each in grown if each.get("seconds", 0) >= PART_S / 2]
        for each in found.lives:
            if each["seconds"] < LONG_S:
                continue
            for name in ("fds", "threads"):
                if each[f"{name}_last"] > each[f"{name}_first"] + SLACK[name]:
                    found.leaks.append(f"{name} of a scheduler: {each}")


LONG_S = 600.0
"""Connections are opened while the API server fails; who lives longer has closed them again."""
SLACK = {"fds": 24, "threads": 2}
"""By how much a process may have more of them in the end; connections come and go."""


def _is_one_of(asker: str, names: set[str]) -> bool:
    """Whether the key of a gang, as `default/Job/NAME/UID`, is that of one of these."""
    return not names.isdisjoint(asker.split("/"))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def soak(binaries: Programs, seconds: float, pods: int, seed: int, logs: Path) -> Figures:
    """Run one on a control plane of its own.

    Args:
        binaries: of the control plane.
        seconds: how long pods are made.
        pods: how many.
        seed: of everything that is drawn.
        logs: folder for what the schedulers write.
    """
    with ControlPlane(binaries) as plane:
        return Soak(plane, logs, seconds, pods, seed).run()


def main() -> int:
    """Run the command; returns 1 where a promise was broken."""
    parser = ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--logs", type=Path, help="folder for the logs of the schedulers")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logs = given.logs or Path(folder)
        logs.mkdir(parents=True, exist_ok=True)
        found = soak(programs(_say), given.seconds, given.pods, given.seed, logs)
    text = json.dumps(to_builtins(found), indent=1)
    if given.json:
        given.json.write_text(f"{text}\n", "utf-8")
    sys.stdout.write(f"{text}\n")
    return 0 if found.promises_kept() else 1
