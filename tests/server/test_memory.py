"""A server that has run many jobs holds no more memory than one that has run some.

The service, its keepers, the ledger and the feed are the real ones; the machine is not, so that
jobs take no time: GANGLION_JOBS=100000 python -m pytest -s tests/server/test_memory.py
"""

import gc
import os
import sys
from pathlib import Path

from ganglion.model.events import MetricReported, Outcome
from ganglion.server.commands.schedules import SchedulesKeeper
from ganglion.server.controllers.controller import Controller
from ganglion.server.controllers.failures import FailuresController
from ganglion.server.controllers.sweeps import SweepsController
from tests.effort import examples
from tests.server.conftest import Rig

JOBS = int(os.environ.get("GANGLION_JOBS") or examples(1_000, nightly=1_500))
AT_ONCE = 12
"""Jobs that are submitted in one turn; 16 GPUs run as many at once."""
SAMPLES = 10
MOST_BYTES, MOST_OF_EACH = 2 << 20, 50
"""Growth that is allowed over the second half, and for each job of it.

Allocators and bounded tables take the first; a short run shows leaks of some KB for each job.
"""


def keepers() -> list[Controller]:
    return [SchedulesKeeper(), FailuresController(), SweepsController()]


def test_memory_does_not_grow_with_the_jobs_that_have_ended(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "home", keepers)
    samples = list[tuple[int, int]]()
    done = 0
    while done < JOBS:
        done += some_jobs(rig, done)
        if done * SAMPLES // JOBS > len(samples):
            gc.collect()
            samples.append((done, resident()))
            sys.stdout.write(f"{done} jobs, {rig.ledger.head} events: {samples[-1][1] >> 10} KiB\n")
    assert rig.service.trouble == ""
    rig.ledger.close()
    (early, before), (late, after) = samples[len(samples) // 2], samples[-1]
    jobs, growth = late - early, after - before
    sys.stdout.write(f"from {early} to {late} jobs: {growth // jobs} bytes a job\n")
    assert growth < MOST_BYTES + jobs * MOST_OF_EACH, samples


def some_jobs(rig: Rig, number: int) -> int:
    """Jobs run and end, most of them well; each reports once."""
    for each in range(AT_ONCE):
        rig.submit(f"job{number + each}", labels={"number": str(number + each)})
    rig.turn(2)
    running = sorted(rig.machine.live)
    rig.world.facts = [
        MetricReported(rig.machine.time, gang, attempt, "loss", 1, 0.5) for gang, attempt in running
    ]
    rig.turn()
    for index, (gang, _) in enumerate(running):
        rig.machine.time += 50
        rig.machine.end(gang, *((Outcome.FAILED, 1) if index == 5 else (Outcome.SUCCEEDED, 0)))
    rig.turn()
    forgotten(rig)
    return AT_ONCE


def forgotten(rig: Rig) -> None:
    """The machine in memory remembers every attempt; a real one has no such list."""
    machine, world = rig.machine, rig.world
    for each in (machine.began, machine.ended, machine.workloads, machine.pods, machine.limits):
        each.clear()
    for known in (world.known, world.told):
        known.clear()


def resident() -> int:
    """Resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
