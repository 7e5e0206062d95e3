"""`bands`: how far start bands can be relied on, on job logs split in time.

Every gang that begins to wait is given a band, and every few hours waiting gangs are asked
about anew. Those of the second half are scored by what came. See docs/benchmarks/bands.md.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from msgspec import Struct

from benchmarks.backfill.jobs import QUEUE, Log, read_log, read_log_swf
from benchmarks.backfill.jobs import made_up as made_up_log
from benchmarks.backfill.pool_bands import PoolBands
from benchmarks.common.drive import Course, Stage, drive
from benchmarks.common.jobs import cluster_of, nodes_at_load, read_arrivals, synthetic
from benchmarks.common.traces import main_file
from benchmarks.completion.engine import stage_of
from benchmarks.registry import Bench, BenchOptions, Progress, Report, Table
from ganglion.engine.ordering.order import waiting_in_order
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import NotFound
from ganglion.model.events import Event, GangSubmitted, StartExpected
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.worlds.simulated.metrics.records import quantile

LOAD = 0.9
FEWEST_JOBS = 1000
AGAIN_MS = 6 * 3_600_000
"""How often waiting gangs are asked about anew."""

PLACES = (1, 2, 3, 5, 8, 13, 21, 34, 55, 100, 150, 250, 400, 700, 1000, 1500, 2500, 4000, 7000)
"""Positions asked about then."""

CLASSES = {"next": 1, "2-10": 10, "11-100": 100, "101-1000": 1000, "beyond": 1 << 60}
"""Name of a class of positions -> last position in it."""

UNSHARED = Policy(timeshare=False)
"""A wait is predicted up to the first start, which ends no wait where time is shared."""

OURS, POOL, CONSTANT = "ganglion", "pool", "constant"
PEERS = (OURS, POOL, CONSTANT)

Bound = tuple[float, float]
"""Waits in ms: p50 and p90."""


class Answer(Struct):
    """What was predicted for one gang at one time.

    Attributes:
        gang, at, position: which, when (ms), and its place in the order.
        first: whether the gang had just begun to wait; else it was asked about anew.
        ours: its band; None = unknown.
        pool: the peer's.
        wait: how long it waited from then on, in ms.
    """

    gang: str
    at: int
    position: int
    first: bool
    ours: Bound | None
    pool: Bound
    wait: int = -1


class Asker:
    """Asks about gangs in a replay."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.seconds = 0.0
        self._pool = PoolBands()
        self._next = 0

    def look(self, state: ClusterState, events: Sequence[Event], plan: Plan) -> None:
        """Ask what can be asked after a cycle; a `Look` of `drive`."""
        self._pool.look(state, events, plan)
        now = plan.at
        submitted = [event.gang.id for event in events if isinstance(event, GangSubmitted)]
        fresh = [gang for gang in submitted if _waits(state, gang)]
        again = now >= self._next
        if not fresh and not (again and len(state.gangs.lanes)):
            return
        order = waiting_in_order(state, now)
        places = {gang: number for number, gang in enumerate(order, 1)}
        told = {each.gang: each for each in plan.decisions if isinstance(each, StartExpected)}
        for gang in fresh:
            self._ask(state, gang, now, places[gang], told.get(gang))
        if again:
            self._next = now + AGAIN_MS
            for place in PLACES:
                if place <= len(order) and order[place - 1] not in fresh:
                    self._ask(state, order[place - 1], now, place, None, first=False)

    def _ask(
        self,
        state: ClusterState,
        gang: str,
        now: int,
        place: int,
        told: StartExpected | None,
        *,
        first: bool = True,
    ) -> None:
        record = state.gangs.record(gang)
        began = process_time()
        band = told or state.forecast.bands.band(
            record, now, state.timeline.future.reservation(gang)
        )
        self.seconds += process_time() - began
        ours = (band.p50_ms - now, band.p90_ms - now) if band.p90_ms else None
        pool = (self._pool.tell if first else self._pool.band)(record, now)
        self.answers.append(Answer(gang, now, place, first, ours, pool))

    def scored(self, courses: Sequence[Course]) -> dict[str, Any]:
        """Figures of the second half of the gangs that waited, by `first`/`again` and position."""
        started = {course.job.gang.id: course.started for course in courses}
        for each in self.answers:
            each.wait = started[each.gang] - each.at
        begun = sorted(each.at for each in self.answers if each.first)
        if not begun:
            return {}
        half = begun[len(begun) // 2]
        scores: dict[str, Any] = {}
        for name, first in (("first", True), ("again", False)):
            alike = [each for each in self.answers if each.first is first]
            waits = sorted(each.wait for each in alike if each.at + each.wait < half)
            constant = (quantile(waits, 50), quantile(waits, 90)) if waits else (0, 0)
            late = [each for each in alike if each.at >= half]
            scores[name] = {
                label: _scores(part, constant) for label, part in _classes(late).items() if part
            }
        return scores


def _waits(state: ClusterState, gang: str) -> bool:
    record = state.gangs.records.get(gang)
    return bool(record and record.phase is Phase.PENDING and state.gangs.lanes.of(gang))


def _classes(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    found = {"all": list(answers)}
    least = 1
    for name, most in CLASSES.items():
        found[name] = [each for each in answers if least <= each.position <= most]
        least = most + 1
    return found


def _scores(answers: Sequence[Answer], constant: Bound) -> dict[str, Any]:
    """Coverage and loss of each peer; where ours is unknown, no peer is scored."""
    known = [each for each in answers if each.ours]
    bounds: dict[str, Callable[[Answer], Bound]] = {
        OURS: lambda each: each.ours or (0, 0),
        POOL: lambda each: each.pool,
        CONSTANT: lambda _: constant,
    }
    return {
        "answers": len(answers),
        "unknown_pct": 100 * (len(answers) - len(known)) / len(answers),
        "mean_wait_s": sum(each.wait for each in answers) / len(answers) / 1000,
        **{name: _peer(known, bound) for name, bound in bounds.items() if known},
    }


def _peer(answers: Sequence[Answer], bound: Callable[[Answer], Bound]) -> dict[str, float]:
    """`held_*_pct`: starts by then; `pinball_*_s`: mean loss of the quantile (Koenker, 1978)."""
    figures: dict[str, float] = {}
    for which, share in enumerate((0.5, 0.9)):
        pairs = [(each.wait, bound(each)[which]) for each in answers]
        held = sum(wait <= late for wait, late in pairs)
        loss = sum(max(share * (w - late), (share - 1) * (w - late)) for w, late in pairs)
        name = f"p{round(100 * share)}"
        figures[f"held_{name}_pct"] = 100 * held / len(pairs)
        figures[f"pinball_{name}_s"] = loss / len(pairs) / 1000
    return figures


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark.

    Raises:
        InputError, NotFound: no such folder, file or log, or a value of the file.
    """
    stages = _stages(options)
    total, done = sum(len(stage.jobs) for stage in stages.values()), 0
    logs: dict[str, Any] = {}
    for name, stage in stages.items():

        def told(count: int, base: int = done, label: str = name) -> None:
            progress(base + count, total, label)

        asker = Asker()
        outcome = drive(stage, told, asker.look)
        done += len(stage.jobs)
        logs[name] = {
            "jobs": len(stage.jobs),
            "answer_ms": 1000 * asker.seconds / max(len(asker.answers), 1),
            "cpu_s": outcome.engine_seconds,
            **asker.scored(outcome.courses),
        }
    data = {
        "bench": "bands",
        "source": str(options.traces) if options.traces else "synthetic",
        "synthetic": options.traces is None,
        "logs": logs,
    }
    return Report(data, tuple(_table(name, each) for name, each in logs.items()), _NOTES)


def _stages(options: BenchOptions) -> dict[str, Stage]:
    if options.traces is None:
        log = made_up_log(0)
        batch = Stage(log.nodes(), [Queue(QUEUE)], log.jobs, Policy())
        cluster = cluster_of("seed0", found := synthetic(0, 400), nodes_at_load(found, LOAD))
        return {"batch": batch, "gpus": stage_of(cluster, UNSHARED)}
    if any(options.traces.glob("*.swf*")) or any(options.traces.glob("metacentrum*")):
        return _batch_logs(options.traces, options.workload)
    found_by_vc = read_arrivals(main_file(options.traces, "jobs"))
    names = [options.workload] if options.workload else list(found_by_vc)
    stages = {}
    for name in names:
        if name not in found_by_vc:
            raise NotFound(f"no vc {name!r}", f"found: {', '.join(found_by_vc)}")
        jobs = found_by_vc[name]
        if options.workload or len(jobs) >= FEWEST_JOBS:
            cluster = cluster_of(name, jobs, nodes_at_load(jobs, LOAD))
            stages[name] = stage_of(cluster, UNSHARED)
    return stages


def _batch_logs(folder: Path, wanted: str | None) -> dict[str, Stage]:
    readers: dict[str, Callable[[Path], Log]] = {
        "metacentrum": read_log,
        "hpc2n": read_log_swf,
    }
    if wanted is not None and wanted not in readers:
        raise NotFound(f"no log {wanted!r}", f"there are: {', '.join(readers)}")
    logs = {name: read(folder) for name, read in readers.items() if wanted in (None, name)}
    return {
        name: Stage(log.nodes(), [Queue(QUEUE)], log.jobs, Policy()) for name, log in logs.items()
    }


_NOTES = (
    "Scored: the second half of the gangs that had to wait; what was learnt before goes on.",
    "first: told when it began to wait; again: asked about later, at fixed positions.",
    "loss: mean pinball loss over that of the pool peer, at p50 and p90; smaller is better.",
    "constant: the waits that half and nine of ten in the first half did not exceed.",
)


def _table(name: str, figures: dict[str, Any]) -> Table:
    heads = (
        "asked", "position", "answers", "unknown", "mean wait s",
        "p50 held", "p90 held", "loss p50", "loss p90", "pool p90 held", "loss / constant",
    )  # fmt: skip
    rows = [
        _row(asked, label, each)
        for asked in ("first", "again")
        for label, each in figures.get(asked, {}).items()
    ]
    title = f"{name}: {figures['jobs']:,} jobs; {figures['answer_ms']:.1f} ms an answer"
    return Table(title, heads, tuple(rows))


def _row(asked: str, label: str, each: dict[str, Any]) -> tuple[str, ...]:
    start = (asked, label, f"{each['answers']:,}", f"{each['unknown_pct']:.1f} %")
    if OURS not in each:
        return (*start, f"{each['mean_wait_s']:,.0f}", *[""] * 6)
    ours, pool, constant = (each[peer] for peer in PEERS)
    return (
        *start,
        f"{each['mean_wait_s']:,.0f}",
        f"{ours['held_p50_pct']:.0f} %",
        f"{ours['held_p90_pct']:.0f} %",
        _over(ours["pinball_p50_s"], pool["pinball_p50_s"]),
        _over(ours["pinball_p90_s"], pool["pinball_p90_s"]),
        f"{pool['held_p90_pct']:.0f} %",
        f"{_over(ours['pinball_p50_s'], constant['pinball_p50_s'])}"
        f" {_over(ours['pinball_p90_s'], constant['pinball_p90_s'])}",
    )


def _over(part: float, whole: float) -> str:
    return f"{part / whole:.2f}" if whole else ""


BENCH = Bench("bands", "How far start bands can be relied on, on job logs split in time.", run)
