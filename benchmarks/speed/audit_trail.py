"""What the audit trail costs per decision: the chain in the turn, tree and signature beside it."""

import os
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import thread_time_ns
from typing import Any

import msgspec

from benchmarks.registry import Bench, BenchOptions, Progress, Report, Table
from benchmarks.speed import audited_cycles
from ganglion.audit.folder import AuditFolder
from ganglion.audit.sealing import EVENTS, Sealer
from ganglion.ledger.chain import GENESIS, Row, chained
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.model.events import GangPlaced
from ganglion.model.placement import Placement, PodPlacement

DECISIONS = 20_480
"""Of one seed."""
CYCLE = 64
"""Decisions of one cycle."""
AIM_US = 5.0


def run(options: BenchOptions, progress: Progress) -> Report:
    """Write decisions to a ledger, and time what the audit trail adds."""
    load = round(os.getloadavg()[0], 1)
    chain, seal, append = list[float](), list[float](), list[float]()
    for seed in range(options.seeds):
        progress(seed, options.seeds, f"seed {seed}")
        with TemporaryDirectory() as folder:
            _measured(Path(folder), Random(seed), chain, seal, append)
    both = sorted(map(sum, zip(chain, seal, strict=True)))
    data: dict[str, Any] = {
        "bench": "audit",
        "load": load,
        "decisions": DECISIONS * options.seeds,
        "cycle": CYCLE,
        "checkpoint": EVENTS,
        "chain_us": _median(chain),
        "seal_us": _median(seal),
        "median_us": _median(both),
        "worst_us": round(both[-1], 2),
        "append_us": _median(append),
        "cycles": audited_cycles.measured(
            options.nodes or audited_cycles.NODES, options.seeds, progress
        ),
    }
    figures = ("chain_us", "seal_us", "median_us", "worst_us", "append_us")
    row = (f"{data['decisions']:,}", *(f"{data[each]:.2f}" for each in figures))
    title = f"The audit trail, per decision; load {load} before"
    heads = ("decisions", "chain µs", "tree and signature µs", "both µs", "worst µs", "append µs")
    return Report(
        data,
        (Table(title, heads, (row,)), audited_cycles.table(data["cycles"])),
        (
            f"CPU time, in batches of {EVENTS} decisions and one checkpoint; "
            f"the aim is {AIM_US:g} µs for both.",
            "append is all that writes a decision to the ledger, the chain included.",
            "a cycle has as many ends and submissions as starts, all of them written and signed.",
        ),
    )


def _median(found: list[float]) -> float:
    return round(sorted(found)[len(found) // 2], 2)


def _measured(
    home: Path, chance: Random, chain: list[float], seal: list[float], append: list[float]
) -> None:
    """Times per decision in µs, one of each per checkpoint."""
    ledger = Ledger.open(home / "ledger.db")
    sealer, checksum = Sealer(ledger, AuditFolder(home), ledger.tail), GENESIS
    for _ in range(DECISIONS // EVENTS):
        at, rows, written = ledger.cycle + 1, list[Row](), 0
        for _ in range(EVENTS // CYCLE):
            decisions = [_decision(at, chance) for _ in range(CYCLE)]
            before = thread_time_ns()
            ledger.append(Batch(at, [], [*decisions]))
            written += thread_time_ns() - before
            first = ledger.head - CYCLE + 1
            rows += [
                (first + n, at, ledger.cycle, "gang_placed", msgspec.json.encode(each))
                for n, each in enumerate(decisions)
            ]
        before = thread_time_ns()
        checksum = chained(checksum, rows, at, 0)[-1]
        between = thread_time_ns()
        made = sealer.seal(ledger.head, at)
        after = thread_time_ns()
        if made is None or made.seq != ledger.head:
            raise AssertionError("a checkpoint was due")
        chain.append((between - before) / EVENTS / 1000)
        seal.append((after - between) / EVENTS / 1000)
        append.append(written / EVENTS / 1000)
    ledger.close()


def _decision(at: int, chance: Random) -> GangPlaced:
    """A gang of one node with eight GPUs, as most of them are."""
    node = f"gpu-node-{chance.randrange(1_000):03d}"
    pod = PodPlacement("main", 0, node, tuple(range(8)), 1_000)
    return GangPlaced(at, f"train-{chance.randrange(100_000)}/0", 1, Placement((pod,)))


BENCH = Bench("audit", "What the audit trail adds to each decision.", run, sizes=("nodes",))
