"""How long one access decision takes: `can` with many grants on a tree of queues."""

import os
from collections.abc import Iterator
from random import Random
from time import thread_time_ns
from typing import Any

from benchmarks.registry import Bench, BenchOptions, Progress, Report, Table
from ganglion.identity.decide import can
from ganglion.identity.grants import Grant, Grants, Resource, Subject
from ganglion.identity.roles import PERMISSIONS, AccessVerb, Role

GRANTS, QUEUES, USERS, GROUPS = 1_000, 100, 200, 20
ASKED = 20_000
"""Decisions of one seed."""
BATCH = 100
"""Decisions between two looks at the clock; the worst batch is reported beside the median."""
AIM_US = 50.0


def run(options: BenchOptions, progress: Progress) -> Report:
    """Decide random questions; each seed has grants of its own."""
    load, batches, allowed = round(os.getloadavg()[0], 1), list[float](), 0
    tree = {f"q{n}": f"q{(n - 1) // 3}" if n else "" for n in range(QUEUES)}
    for seed in range(options.seeds):
        progress(seed, options.seeds, f"seed {seed}")
        chance = Random(seed)
        grants = Grants(_granted(chance))
        questions = [_question(chance) for _ in range(ASKED)]
        for begin in range(0, ASKED, BATCH):
            before = thread_time_ns()
            for subject, verb, resource in questions[begin : begin + BATCH]:
                allowed += can(subject, verb, resource, grants, tree, 0).allowed
            batches.append((thread_time_ns() - before) / BATCH / 1000)
    batches.sort()
    data: dict[str, Any] = {
        "bench": "access",
        "load": load,
        "grants": GRANTS,
        "queues": QUEUES,
        "decisions": ASKED * options.seeds,
        "allowed": allowed,
        "median_us": round(batches[len(batches) // 2], 2),
        "worst_us": round(batches[-1], 2),
    }
    row = (
        f"{data['decisions']:,}",
        f"{allowed:,}",
        f"{data['median_us']:.2f}",
        f"{data['worst_us']:.2f}",
    )
    title = f"One decision at {GRANTS:,} grants and {QUEUES} queues; load {load} before"
    table = Table(title, ("decisions", "allowed", "median µs", "worst batch µs"), (row,))
    return Report(data, (table,), (f"CPU time, in batches of {BATCH}; the aim is {AIM_US:g} µs.",))


def _granted(chance: Random) -> Iterator[Grant]:
    """Grants to users and groups on queues of any depth, a tenth of them ended."""
    for number in range(GRANTS):
        who = f"group:g{chance.randrange(GROUPS)}" if number % 3 == 0 else f"user:u{number % USERS}"
        until = -1 if chance.random() < 0.1 else None
        yield Grant(who, chance.choice(list(Role)), f"q{chance.randrange(QUEUES)}", until)


def _question(chance: Random) -> tuple[Subject, AccessVerb, Resource]:
    """A user of three groups asks about a workload or a queue, of whichever owner."""
    groups = tuple(f"g{each}" for each in chance.sample(range(GROUPS), 3))
    verb, kind = chance.choice(list(PERMISSIONS))
    owner = f"u{chance.randrange(USERS)}"
    subject = Subject(f"u{chance.randrange(USERS)}", groups)
    return subject, verb, Resource(kind, f"q{chance.randrange(QUEUES)}", owner)


BENCH = Bench("access", "Access decisions with 1,000 grants on 100 queues.", run)
