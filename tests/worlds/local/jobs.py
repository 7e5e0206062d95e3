"""A local world in a temporary home, jobs to run in it, and patience with a deadline."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Event, GangEnded
from ganglion.model.fleet.node import Device, Node
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Plan, Resize, Start, Stop
from ganglion.model.workload import Checkpoint, Gang, PodSet, Run, Workload
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.worlds.local.run_files import paths
from ganglion.worlds.local.world import LocalWorld, Reconciled

PATIENCE_S = 30.0
NODES = tuple(
    Node(f"node-{i}", 64_000, 65_536, tuple(Device("H100", 81_920) for _ in range(4)))
    for i in range(2)
)


def until(true: Callable[[], Any], what: str = "it happens") -> Any:
    """Poll until the answer is true, and return it; fail after a while."""
    give_up = time.monotonic() + PATIENCE_S
    while not (answer := true()):
        assert time.monotonic() < give_up, f"waited {PATIENCE_S:g} s until {what}"
        time.sleep(0.01)
    return answer


def python(source: str) -> tuple[str, ...]:
    """The argument vector that runs Python source."""
    return (sys.executable, "-S", "-c", source)


def place(*indexes: int, gpus: int = 0) -> Placement:
    """Pods of these indexes, on the nodes in turn, each with the first GPUs of its node."""
    devices, milli = tuple(range(gpus)), 1000 if gpus else 0
    return Placement(
        tuple(PodPlacement("main", i, f"node-{i % 2}", devices, milli) for i in indexes)
    )


class Jobs:
    """A world under test, the jobs it was given and the facts it told."""

    nodes = NODES

    def __init__(self, home: Path) -> None:
        self.home = home
        self.starts: dict[str, Start] = {}
        self.workloads: dict[str, Workload] = {}
        self.facts: list[Event] = []
        self.world = LocalWorld(home, self.nodes, environ={"PATH": "/usr/bin:/bin"})
        self.reconcile()

    def reconcile(self, **believed: Any) -> Reconciled:
        """Start as a server does that believes this; workloads and nodes are known."""
        known: dict[str, Any] = {"placed": {}, "running": {}, "stopping": {}, "resized": {}}
        known |= {"workloads": self.workloads, "nodes": {n.name: n for n in self.nodes}}
        return self.world.reconcile(**known | believed)

    def restart(self, *, effects: Effects = SYSTEM, **believed: Any) -> Reconciled:
        """As if the server had died and come back, on a machine of which some calls may fail."""
        self.world.close()
        self.facts = []
        environ = {"PATH": "/usr/bin:/bin"}
        self.world = LocalWorld(self.home, self.nodes, environ=environ, effects=effects)
        return self.reconcile(**believed)

    def start_of(
        self,
        command: str | tuple[str, ...],
        *,
        name: str = "job",
        attempt: int = 1,
        pods: int = 1,
        procs: int = 1,
        gpus: int = 0,
        time_limit_ms: int = 0,
        checkpoint: Checkpoint | None = None,
        most: int = 0,
        **run: Any,
    ) -> Start:
        """A decided start, pods on the nodes in turn; elastic up to `most` pods if given."""
        shell = isinstance(command, str)
        argv = (command,) if isinstance(command, str) else command
        sets = (PodSet(count=most or pods, min_count=1 if most else 0, procs=procs),)
        run = {"workdir": str(self.home)} | run
        workload = Workload(name, pod_sets=sets, run=Run(argv, shell, **run))
        gang = Gang(
            f"{name}-1/0",
            f"{name}-1",
            "default",
            pod_sets=sets,
            time_limit_ms=time_limit_ms,
            checkpoint=checkpoint,
        )
        start = Start(gang, attempt, place(*range(pods), gpus=gpus))
        self.starts[gang.id], self.workloads[gang.workload] = start, workload
        return start

    def run(self, command: str | tuple[str, ...], **given: Any) -> str:
        """Start a job and return its gang id."""
        start = self.start_of(command, **given)
        self.execute(start)
        return start.gang.id

    def execute(self, *starts: Start, stops: tuple[Stop, ...] = ()) -> None:
        """Have the world carry out a plan."""
        self.world.execute(Plan(self.world.now(), list(starts), list(stops)), self.workloads)

    def resize(self, gang: str, *indexes: int, gpus: int = 0) -> Resize:
        """Have a gang run on its pods of these indexes."""
        start = self.starts[gang]
        resize = Resize(start.gang, start.attempt, place(*indexes, gpus=gpus))
        plan = Plan(self.world.now(), resizes=[resize])
        self.world.execute(plan, self.workloads)
        return resize

    def seen(self, kind: type) -> list[Event]:
        """Every fact of a kind so far."""
        return [fact for fact in self.look() if isinstance(fact, kind)]

    def look(self) -> list[Event]:
        """All facts so far."""
        self.facts += self.world.observe()
        return self.facts

    def ends(self, gang: str) -> list[GangEnded]:
        """Every end of a gang that was reported so far."""
        return [f for f in self.look() if isinstance(f, GangEnded) and f.gang == gang]

    def end(self, gang: str) -> GangEnded:
        """Wait for a gang's end."""
        until(lambda: self.ends(gang), f"{gang} ends")
        return self.ends(gang)[0]

    def log(self, gang: str, rank: int = 0, attempt: int = 1) -> str:
        """What a rank wrote; empty while there is no log."""
        path = paths.log_file(self.home, gang, attempt, rank)
        return path.read_text() if path.exists() else ""

    def says(self, gang: str, text: str, rank: int = 0) -> None:
        """Wait until a rank has written this."""
        until(lambda: self.look() is not None and text in self.log(gang, rank), f"it says {text}")

    def directory(self, gang: str, attempt: int = 1) -> Path:
        """The run directory of an attempt."""
        return paths.run_dir(self.home, gang, attempt)

    def stop_all(self) -> None:
        """Leave nothing behind."""
        for gang, start in self.starts.items():
            self.world.stop(gang, start.attempt, Cause(CauseKind.CANCELLED), force=True)
            self.end(gang)
        self.world.close()
