"""A server reduced to its order of steps, killed at random by `test_crashes`.

Imports once, then forks one server per line on standard input and prints its pid. Its ledger
is a file of JSON lines: what is not in it when the process dies never happened for it.
"""

import os
import sys
import time
from pathlib import Path

import msgspec
from tests.worlds.local.jobs import NODES

from ganglion.model.events import Event, GangEnded, GangPlaced, GangStarted
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Plan, Start
from ganglion.model.workload import Gang, PodSet, Run, Workload
from ganglion.worlds.local.world import LocalWorld

COMMAND = (
    'echo "$GANGLION_GANG $RANK" >> begun; '
    "for i in $(seq 30); do echo line $i; sleep 0.02; done; exit $CODE"
)


def job(number: int) -> tuple[Workload, Start]:
    """The job of this number: two pods, and every third one fails with code 3."""
    sets = (PodSet(count=2),)
    run = Run((COMMAND,), shell=True, workdir=os.environ["WORKDIR"], env={"CODE": code(number)})
    workload = Workload("job", pod_sets=sets, run=run)
    gang = Gang(f"job-{number}/0", f"job-{number}", "default", pod_sets=sets)
    pods = (PodPlacement("main", 0, "node-0"), PodPlacement("main", 1, "node-1"))
    return workload, Start(gang, 1, Placement(pods))


def code(number: int) -> str:
    """Exit code of the job of this number, as text."""
    return "3" if number % 3 == 0 else "0"


class Ledger:
    """Events in a file; what `add` returned from is there for ever."""

    def __init__(self, path: Path) -> None:
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        decode = msgspec.json.Decoder(Event).decode
        self.events = [decode(line) for line in whole.splitlines()]
        self._file = path.open("ab")
        self._file.truncate(len(whole))

    def add(self, events: list[Event]) -> None:
        """Append in one write."""
        self._file.write(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
        self._file.flush()
        self.events += events

    def gangs(self, kind: type[GangPlaced | GangStarted | GangEnded]) -> set[str]:
        """Ids of gangs of which such an event is known."""
        return {event.gang for event in self.events if isinstance(event, kind)}


def serve(home: Path, most: int) -> None:
    """Place a job whenever fewer than two live, until killed."""
    ledger = Ledger(home.parent / "ledger")
    workloads = {f"job-{n}": job(n)[0] for n in range(1, most + 1)}
    starts = {start.gang.id: start for n in range(1, most + 1) for start in [job(n)[1]]}
    placed, started, ended = (ledger.gangs(k) for k in (GangPlaced, GangStarted, GangEnded))
    world = LocalWorld(home, NODES)
    world.reconcile(
        placed={gang: starts[gang] for gang in placed - started - ended},
        running=dict.fromkeys(started - ended, 1),
        stopping={},
        resized={},
        workloads=workloads,
        nodes={node.name: node for node in NODES},
    )
    while True:
        time.sleep(0.005)
        known = ledger.gangs(GangStarted) | ledger.gangs(GangEnded)
        ledger.add([e for e in world.observe() if isinstance(e, GangEnded) or e.gang not in known])
        live = ledger.gangs(GangPlaced) - ledger.gangs(GangEnded)
        waiting = [gang for gang in starts if gang not in ledger.gangs(GangPlaced)]
        if len(live) < 2 and waiting:
            start = starts[waiting[0]]
            ledger.add([GangPlaced(world.now(), start.gang.id, 1, start.placement)])
            world.execute(Plan(world.now(), [start]), workloads)


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            serve(Path(sys.argv[1]), int(sys.argv[2]))
        say(str(child))
        os.waitpid(child, 0)
        say("dead")
