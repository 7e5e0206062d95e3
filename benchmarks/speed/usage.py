"""How long usage takes to be summed up in a ledger with many intervals."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter_ns, thread_time_ns
from typing import Any

from benchmarks.registry import Bench, BenchOptions, Progress, Report, Table
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.metering import UsageWanted, held_by_part, usage_sums
from ganglion.ledger.records import Batch
from ganglion.ledger.sql.losses import lost_active, lost_held
from ganglion.metering.activity import ActivityInterval
from ganglion.metering.day_runs import day_runs, days_of
from ganglion.metering.intervals import DAY_MS, LostSpan, UsageInterval, by_day
from ganglion.metering.rating import Rates, rounded
from ganglion.metering.sums import Group, UsageBy
from ganglion.model.events import PriceSet
from ganglion.model.fleet.price import Price
from ganglion.pricing.book import ALL_KINDS, PriceBook, PriceTable

INTERVALS = 1_000_000
DAYS = 90
AT_ONCE = 20_000
"""Intervals of one cycle."""
QUEUES, USERS, NODES, FLAVORS = 40, 300, 2_000, ("H100", "A100", "L4")
ATTEMPTS = 4
"""Intervals of one workload."""
LONGEST_MS = 10_800_000
LOST = 20
"""One of this number of attempts has lost its last part, and all are sampled to their middle."""
QUESTIONS: tuple[tuple[UsageBy, ...], ...] = (
    (),
    (UsageBy.QUEUE,),
    (UsageBy.USER,),
    (UsageBy.WORKLOAD,),
    (UsageBy.DAY,),
    (UsageBy.QUEUE, UsageBy.DAY),
)
PERIODS = (DAYS + 1, 7)
"""Days before the end that are summed up."""
DEAR, CHEAP = 2_500_000, 1_200_000
"""Prices by day, and from 20:00 to 08:00 in Berlin."""
AIM_S = 2.0


def run(options: BenchOptions, progress: Progress) -> Report:
    """Fill a ledger once, and ask it every question for each period."""
    load, count = round(os.getloadavg()[0], 1), options.gangs or INTERVALS
    asked = dict[str, dict[str, Any]]()
    with TemporaryDirectory() as folder:
        ledger = Ledger.open(Path(folder) / "ledger.db")
        held, end = _fill(ledger, count, progress)
        for days in PERIODS:
            for by in QUESTIONS:
                name = f"{days} days by {', '.join(by) or 'nothing'}, lost work"
                progress(len(asked), 3 * len(PERIODS) * len(QUESTIONS), name)
                asked[name] = _losses(ledger, by, (max(end - days * DAY_MS, 0), end))
        for priced in (False, True):
            book = _prices() if priced else None
            for days in PERIODS:
                for by in QUESTIONS:
                    name = f"{days} days by {', '.join(by) or 'nothing'}"
                    name += ", hour prices" * priced
                    progress(len(asked), 3 * len(PERIODS) * len(QUESTIONS), name)
                    asked[name] = _timed(ledger, book, by, (max(end - days * DAY_MS, 0), end))
        ledger.close()
    for name, each in asked.items():
        is_whole = name.startswith(str(PERIODS[0])) and "held_gpu_us" in each
        if is_whole and each["held_gpu_us"] != held:
            raise AssertionError(f"{name}: {each['held_gpu_us']} of {held} GPU-microseconds")
    data: dict[str, Any] = {"bench": "usage", "load": load, "intervals": count, "asked": asked}
    rows = tuple(
        (name, f"{each['groups']:,}", f"{each['cpu_s']:.2f}", f"{each['wall_s']:.2f}")
        for name, each in asked.items()
    )
    title = f"Usage of {count:,} intervals in {DAYS} days; load {load} before"
    table = Table(title, ("period and groups", "groups", "CPU s", "s"), rows)
    return Report(data, (table,), (f"SQLite, one thread; the aim is {AIM_S:g} s.",))


def _timed(
    ledger: Ledger, book: PriceBook | None, by: Sequence[UsageBy], period: tuple[int, int]
) -> dict[str, Any]:
    """Sum a period up, and with prices rate it, as the server does for a report."""
    wall, cpu = perf_counter_ns(), thread_time_ns()
    fine = tuple(dict.fromkeys((*by, UsageBy.FLAVOR))) if book else tuple(by)
    wanted, cost = UsageWanted(fine, *period, ledger.cycle), 0
    sums: dict[Group, int] = {}
    if book is None:
        sums = {group: each.held_gpu_us for group, each in usage_sums(ledger, wanted).items()}
    else:
        rates = Rates(book)
        flavor = fine.index(UsageBy.FLAVOR)
        for run in day_runs(PriceTable(book, *days_of(*period))):
            for group, each, held in held_by_part(ledger, wanted, run):
                coarse = group[: len(by)]
                sums[coarse] = sums.get(coarse, 0) + each.held_gpu_us
                cost += rates.charged(held, group[flavor], ALL_KINDS).cost
    spent = {"cpu_s": thread_time_ns() - cpu, "wall_s": perf_counter_ns() - wall}
    took = {name: round(value / 1e9, 3) for name, value in spent.items()}
    (cost_micro,) = rounded([cost])
    held_gpu_us = sum(sums.values())
    return {"groups": len(sums), "held_gpu_us": held_gpu_us, "cost_micro": cost_micro, **took}


def _losses(ledger: Ledger, by: Sequence[UsageBy], period: tuple[int, int]) -> dict[str, Any]:
    """Sum up what was lost and what was active of it, as the server does beside usage."""
    wanted = UsageWanted(by, *period, ledger.cycle)
    wall, cpu = perf_counter_ns(), thread_time_ns()
    held, active = lost_held(ledger, wanted), lost_active(ledger, wanted)
    spent = {"cpu_s": thread_time_ns() - cpu, "wall_s": perf_counter_ns() - wall}
    took = {name: round(value / 1e9, 3) for name, value in spent.items()}
    sums = {"lost_gpu_us": sum(held.values()), "lost_active_gpu_us": sum(active.values())}
    return {"groups": len(held), **sums, **took}


def _prices() -> PriceBook:
    """A price by day and one by night for each flavor."""
    book = PriceBook()
    for flavor in FLAVORS:
        book.note(PriceSet(1, Price(flavor, 0, DEAR, currency="EUR")))
        book.note(PriceSet(1, Price(flavor, 0, CHEAP, "", 1_200, 480, "Europe/Berlin", "EUR")))
    return book


def _fill(ledger: Ledger, count: int, progress: Progress) -> tuple[int, int]:
    """Write intervals; returns the GPU-microseconds of all of them, and when the last one ends."""
    held, end, rows = 0, 0, _intervals(count)
    for begin in range(0, count, AT_ONCE):
        progress(begin, count, "writing intervals")
        batch = [each for _, each in zip(range(min(AT_ONCE, count - begin)), rows, strict=False)]
        held += sum(each.held_milli * (each.end_ms - each.begin_ms) for each in batch)
        end = max(end, *(each.end_ms for each in batch))
        activity, lost = [_sampled(each) for each in batch], [*_lost(batch)]
        ledger.append(Batch(begin, usage=batch, activity=activity, lost=lost))
    return held, end


def _sampled(used: UsageInterval) -> ActivityInterval:
    """What GPUs did in the first half of an interval."""
    end = (used.begin_ms + used.end_ms + 1) // 2
    held = used.held_milli * (end - used.begin_ms)
    names = (used.queue, used.user, used.workload, used.gang, used.attempt, used.kind)
    place = (used.flavor, used.node, "nvml", held, held // 2)
    return ActivityInterval(used.begin_ms, end, *names, *place)


def _lost(batch: Sequence[UsageInterval]) -> Iterator[LostSpan]:
    """The last three quarters of some attempts."""
    for each in batch[::LOST]:
        begin = (3 * each.begin_ms + each.end_ms) // 4
        yield LostSpan(begin, each.end_ms, each.workload, each.gang, each.attempt)


def _intervals(count: int) -> Iterator[UsageInterval]:
    """Intervals in the order of their begins, cut at midnight."""
    chance, number = Random(0), 0
    while True:
        begin = number * DAYS * DAY_MS // count
        workload = f"train-{number // ATTEMPTS}"
        whole = UsageInterval(
            begin_ms=begin,
            end_ms=begin + chance.randrange(1, LONGEST_MS),
            queue=f"team-{number // ATTEMPTS % QUEUES}",
            user=f"user-{number // ATTEMPTS % USERS}",
            workload=workload,
            gang=f"{workload}/0",
            attempt=number % ATTEMPTS + 1,
            kind="train",
            flavor=FLAVORS[number // ATTEMPTS % len(FLAVORS)],
            node=f"gpu-node-{chance.randrange(NODES)}",
            requested_milli=8_000,
            held_milli=8_000,
            cpu_milli=64_000,
            memory_mib=524_288,
            begun=True,
        )
        number += 1
        yield from by_day(whole)


BENCH = Bench(
    "usage", "How long usage takes to be summed up in a large ledger.", run, sizes=("gangs",)
)
