"""Makes a large ledger out of real cycles, repeated: python -m tools.big_ledger PATH EVENTS.

The engine schedules a day of jobs on eight nodes. What it decided is written again and again, with
other ids and later times, until the ledger has as many events.
"""

import re
import sqlite3
import sys
from pathlib import Path
from random import Random

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.ledger.chain import link
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch, Ended, Submitted
from ganglion.model.events import (
    Event,
    GangEnded,
    GangStarted,
    GangSubmitted,
    NodeAdded,
    Outcome,
    QueueSet,
)
from ganglion.model.fleet.node import Device, Node
from ganglion.model.queue import Queue
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet, Workload

JOBS = 400
"""Jobs of one day."""
DAY_MS = 86_400_000
_TIMES = re.compile(rb'("(?:at|submitted|start_ms|end_ms|p50_ms|p90_ms|until)":)(\d{6,})')
_JOB = re.compile(rb"job-(\d{9})")


def fleet() -> list[Event]:
    """The events that the ledger begins with."""
    devices = (Device("H100", 81_920),) * 8
    nodes = [Node(f"n{i}", 128_000, 1 << 20, devices) for i in range(8)]
    return [*(NodeAdded(DAY_MS, each) for each in nodes), QueueSet(DAY_MS, Queue("default"))]


def day(seed: int = 0) -> list[Batch]:
    """The cycles of one day; every job of it has ended."""
    rng, state, found = Random(seed), ClusterState(), list[Batch]()
    for event in fleet():
        state.apply(event)
    now, jobs, ends = DAY_MS, iter(range(JOBS)), list[tuple[int, str]]()
    submitted = 0
    while submitted < JOBS or ends:
        now += rng.randint(1_000, 60_000)
        batch = Batch(now)
        for at, gang in sorted(ends):
            if at <= now:
                ends.remove((at, gang))
                batch.incoming.append(GangEnded(now, gang, 1, Outcome.SUCCEEDED, exit_code=0))
        for _ in range(rng.randint(0, 4)):
            number = next(jobs, None)
            if number is not None:
                submitted += 1
                batch.incoming.append(GangSubmitted(now, _gang(number, now, rng)))
        for event in batch.incoming:
            state.apply(event)
        plan = cycle(state, (), now)
        batch.decisions = plan.decisions
        started = [GangStarted(now, start.gang.id, start.attempt) for start in plan.starts]
        for each in started:
            state.apply(each)
            ends.append((now + rng.randint(60_000, 3_600_000), each.gang))
        found += [batch, Batch(now, [*started])] if started else [batch]
    return [batch for batch in found if batch]


def _gang(number: int, now: int, rng: Random) -> Gang:
    gpu = GpuRequest(count=rng.choice((1, 1, 2, 4, 8)))
    request = PodRequest(cpu_milli=1_000, memory_mib=1_024, gpu=gpu)
    user = f"user{number % 7}"
    return Gang(
        f"job-{number:09}/0",
        f"job-{number:09}",
        "default",
        name="job",
        user=user,
        pod_sets=(PodSet(request=request),),
        time_limit_ms=7_200_000,
        submitted=now,
    )


def fill(path: Path, events: int, *, live: int = 0) -> None:
    """Make a ledger.

    Args:
        path: of a SQLite file that is not there yet.
        events: least number to write.
        live: jobs that wait at the end.
    """
    ledger = Ledger.open(path)
    ledger.append(Batch(DAY_MS, fleet()))
    begun = ledger.head
    for batch in day():
        for event in batch.incoming:
            if isinstance(event, GangSubmitted):
                batch.submitted.append(_filed(event.gang, event.at, ledger.next_number()))
            elif isinstance(event, GangEnded):
                batch.ended.append(Ended(event.gang[:-2], event.at, "SUCCEEDED", b"{}"))
        ledger.append(batch)
    ledger.close()
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA synchronous=OFF")  # to make it is no test of the disk
        _repeat(raw, begun, events)
    raw.close()
    if live:
        ledger = Ledger.open(path)
        (last,) = ledger.events(ledger.head - 1)
        ledger.append(_waiting(ledger, live, last.at))
        ledger.close()


def _repeat(raw: sqlite3.Connection, begun: int, events: int) -> None:
    """Write the same day again and again."""
    query = "SELECT seq, at, cycle, kind, body FROM events WHERE seq > ? ORDER BY seq"
    rows = raw.execute(query, (begun,)).fetchall()
    cycles = raw.execute("SELECT cycle, at, incoming FROM cycles WHERE cycle > 1").fetchall()
    jobs = raw.execute("SELECT * FROM workloads").fetchall()
    (checksum,) = raw.execute(
        "SELECT checksum FROM events WHERE seq = ?", (rows[-1][0],)
    ).fetchone()
    length, turns, repeat = len(rows), len(cycles), 0
    while begun + length * (repeat + 1) < events:
        repeat += 1
        days, again = repeat * DAY_MS, _Again(repeat)
        heads = {c + repeat * turns: (at + days, incoming) for c, at, incoming in cycles}
        made = []
        for seq, at, turn, kind, body in rows:
            row = (seq + repeat * length, at + days, turn + repeat * turns, kind, again.body(body))
            checksum = link(checksum, row, *heads[row[2]])
            made.append((*row, checksum))
        raw.executemany("INSERT INTO cycles VALUES (?, ?, ?)", [(c, *h) for c, h in heads.items()])
        raw.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", made)
        marks = ", ".join("?" * len(jobs[0]))
        filed = [(job[0] + repeat * JOBS, again.text(job[1]), *job[2:]) for job in jobs]
        raw.executemany(f"INSERT INTO workloads VALUES ({marks})", filed)


class _Again:
    """Makes other events of those of a day.

    Args:
        repeat: how many days later.
    """

    def __init__(self, repeat: int) -> None:
        self._repeat = repeat

    def body(self, body: bytes) -> bytes:
        """An event with another gang, and later."""
        return _TIMES.sub(self._later, _JOB.sub(self._renamed, body))

    def text(self, job: str) -> str:
        """The id of another job."""
        return _JOB.sub(self._renamed, job.encode()).decode()

    def _later(self, found: re.Match[bytes]) -> bytes:
        return found[1] + b"%d" % (int(found[2]) + self._repeat * DAY_MS)

    def _renamed(self, found: re.Match[bytes]) -> bytes:
        return b"job-%09d" % (int(found[1]) + self._repeat * JOBS)


def _filed(gang: Gang, at: int, number: int) -> Submitted:
    workload = Workload("job", queue=gang.queue, user=gang.user)
    return Submitted(gang.workload, number, at, b"{}", workload)


def _waiting(ledger: Ledger, count: int, at: int) -> Batch:
    batch = Batch(at)
    for _ in range(count):
        number = ledger.next_number()
        gang = _gang(number, at, Random(number))
        batch.incoming.append(GangSubmitted(at, gang))
        batch.submitted.append(_filed(gang, at, number))
    return batch


def main() -> None:
    """Make the ledger that the command line names."""
    path, events = Path(sys.argv[1]), int(sys.argv[2])
    fill(path, events, live=int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    sys.stdout.write(f"{path}: {path.stat().st_size >> 20} MiB\n")


if __name__ == "__main__":
    main()
