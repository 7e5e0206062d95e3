"""What ledger and audit trail add to the CPU time of cycles, in runs that alternate."""

import gc
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import thread_time_ns
from typing import Any

from benchmarks.common.fleets import fleet, pods
from benchmarks.registry import Progress, Table
from ganglion.audit.folder import AuditFolder
from ganglion.audit.sealing import Sealer
from ganglion.collector import relax
from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.model.events import Event, GangEnded, GangSubmitted, Outcome

NODES = 1_000
TURNS, AT_ONCE = 40, 100
SECOND_MS = 1_000


MODES = ("engine", "ledger", "audit")
"""The engine alone; what it decides written to a ledger, chained; and signed as well."""


def measured(nodes: int, runs: int, progress: Progress) -> dict[str, Any]:
    """CPU times in ms of one cycle in each mode, and the last over the first."""
    before, times = relax(), dict[str, list[float]]()
    try:
        for turn in range(runs):
            for mode in MODES[:: -1 if turn % 2 else 1]:
                progress(turn, runs, f"cycles, {mode}")
                with TemporaryDirectory() as home:
                    times.setdefault(mode, []).append(_life(nodes, Path(home), mode))
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
    found = {f"{mode}_ms": median(times[mode]) for mode in MODES}
    ratio = found["audit_ms"] / found["engine_ms"]
    return {"nodes": nodes, "starts": AT_ONCE, **found, "ratio": ratio}


def table(found: dict[str, Any]) -> Table:
    """The same for people."""
    title = f"CPU time of a cycle that starts {AT_ONCE} gangs, {found['nodes']:,} nodes"
    row = (*(f"{found[f'{mode}_ms']:.2f}" for mode in MODES), f"{found['ratio']:.3f}")
    heads = ("engine alone, ms", "with ledger, ms", "with ledger and audit, ms", "ratio")
    return Table(title, heads, (row,))


def _life(nodes: int, home: Path, mode: str) -> float:
    """Milliseconds of CPU time of a cycle on a fleet that is nearly full, the mean of all.

    Args:
        nodes: of the fleet.
        home: where ledger and checkpoints lie.
        mode: one of `MODES`.
    """
    state = fleet(nodes)
    running = _started(state, [GangSubmitted(1, each) for each in pods(nodes * 2)], 1)
    ledger = Ledger.open(home / "ledger.db")
    sealer = Sealer(ledger, AuditFolder(home), ledger.tail)
    gc.collect()
    gc.freeze()
    took = 0
    for turn in range(TURNS):
        now = (turn + 2) * SECOND_MS
        over = running[turn * AT_ONCE : (turn + 1) * AT_ONCE]
        fresh = pods(AT_ONCE, 1_000_000 + turn * AT_ONCE)
        happened: list[Event] = [GangEnded(now, each, 1, Outcome.SUCCEEDED) for each in over]
        happened += [GangSubmitted(now, each) for each in fresh]
        begin = thread_time_ns()
        plan = cycle(state, happened, now)
        if mode != "engine":
            ledger.append(Batch(now, happened, [*plan.decisions]))
        if mode == "audit":
            sealer.seal(ledger.head, now)
        took += thread_time_ns() - begin
    ledger.close()
    return took / TURNS / 1e6


def _started(state: ClusterState, events: list[Event], now: int) -> list[str]:
    return [each.gang.id for each in cycle(state, events, now).starts]
