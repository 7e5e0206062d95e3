"""A replay of a cluster keeps the budgets that its scheduler kept."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.server.whatif.test_clusters import PRICE
from tests.whatif import test_spent_budgets as spent
from tests.whatif.samples import Happened, cycles_of
from tests.worlds.simulated.samples import S, job, scenario
from tests.worlds.simulated.test_budgets import PRICE as DEAR
from tests.worlds.simulated.test_budgets import SECOND

from ganglion.api.whatif.report import WhatIfReport
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Batch
from ganglion.lifecycle.clusters import ClusterBooks
from ganglion.metering.clusters import ClusterMeters
from ganglion.model.events import (
    AlarmSet,
    BudgetRaised,
    BudgetRequested,
    BudgetSet,
    Delivered,
    DeliveredEvent,
    Event,
    GangStopping,
    GangSubmitted,
    PriceSet,
    SchedulerSettled,
    SchedulerStarted,
    ServerStarted,
)
from ganglion.model.plan import Plan
from ganglion.model.queue import Budget
from ganglion.pricing.zones import month_of
from ganglion.seams.effects import SYSTEM
from ganglion.server.whatif.answering import WhatIfTask, answer
from ganglion.server.whatif.clusters import read_cluster
from ganglion.whatif.changes import WhatIfChange
from ganglion.whatif.replay import at_once, beginning
from ganglion.whatif.wishes import OtherPrice
from ganglion.worlds.simulated.run import simulate

EUR = 1_000_000
LIMIT, MORE, RAISED_S, UNTIL = 2_500_000, 1_200_000, 600, 1_000 * S
MONTH = month_of(0, "UTC")[1]
PAST = cycles_of(
    replace(
        scenario(
            *(job(f"j{n}", at=10 * n, gpus=8, seconds=100 + 30 * n, limit=250) for n in range(6)),
            horizon=1_000,
        ),
        facts=(
            PRICE,
            BudgetSet(0, Budget("q", LIMIT)),
            BudgetRaised(RAISED_S * S, 1, "q", MORE),
        ),
    )
)
"""Three of six jobs fit the budget, and a fourth once it is raised."""


def written(
    path: Path,
    *,
    budgets: bool,
    past: Sequence[Happened] = PAST,
    price: PriceSet = PRICE,
    more: Sequence[Event] = (),
) -> Path:
    """The ledger of a server to which a cluster delivered that, with what it metered.

    Args:
        path: where it is made.
        budgets: whether the server had the budget of `PAST`.
        past: what the cluster delivered.
        price: of its GPUs.
        more: other events of the server, by time.
    """
    ledger, books, meters = Ledger.open(path), ClusterBooks(), ClusterMeters()
    number = 0

    def turn(at: int, incoming: list[Event], *said: list[Delivered]) -> None:
        nonlocal number
        number += 1
        events = [
            *incoming,
            *(
                DeliveredEvent(at, "east", "s-1", number, each, bool(decided))
                for decided, each_of in enumerate(said)
                for each in each_of
            ),
        ]
        for event in events:
            meters.note(event, books.of)
            books.note(event)
        books.close()
        ledger.append(Batch(at, events, usage=meters.drain()[0]))

    rest = list(more)
    turn(0, [price, ServerStarted(0, "1", metered=True, meters_clusters=True)])
    turn(0, [], [SchedulerStarted(0, "1"), SchedulerSettled(0)])
    for count, each in enumerate(past):
        while rest and rest[0].at <= each.at:
            turn(rest[0].at, [rest.pop(0)])
        parts = (
            [_named(e) for e in events if isinstance(e, Delivered)]
            for events in (each.incoming, each.decisions)
        )
        turn(each.at, [], *parts)
        if budgets and not count:
            turn(each.at, [BudgetSet(each.at, Budget("east:q", LIMIT), user="ada")])
        if budgets and any(isinstance(e, BudgetRaised) for e in each.incoming):
            asked = BudgetRequested(each.at, 1, "east:q", MORE, MONTH, "", "bob")
            turn(each.at, [asked, BudgetRaised(each.at, 1, "east:q", MORE, "ada")])
    ledger.close()
    return path


def _named(said: Delivered) -> Delivered:
    """Gangs of clusters have names: others are no work of users."""
    if isinstance(said, GangSubmitted):
        return replace(said, gang=replace(said.gang, name=said.gang.workload))
    return said


def asked(path: Path, since_s: int = 0, change: WhatIfChange | None = None) -> WhatIfReport:
    task = WhatIfTask(str(path), since_s * S, UNTIL, change or WhatIfChange(), cluster="east")
    return answer(task, beside=at_once)


def bars(report: WhatIfReport) -> dict[str, int]:
    return {name: each.bar for name, each in report.groups[0].figures.items()}


@pytest.mark.parametrize("since_s", [0, 300, 700])
def test_what_waited_for_a_budget_waits_for_it_in_a_replay(tmp_path: Path, since_s: int) -> None:
    kept = asked(written(tmp_path / "kept.db", budgets=True), since_s)
    unknown = asked(written(tmp_path / "unknown.db", budgets=False), since_s)
    assert kept.jobs == unknown.jobs > 1
    assert bars(kept)["wait_p95_ms"] == bars(kept)["held_gpu_ms"] == 0
    assert bars(unknown)["held_gpu_ms"] > 0


def test_another_price_changes_what_a_budget_of_a_cluster_holds(tmp_path: Path) -> None:
    path = written(tmp_path / "ledger.db", budgets=True)
    cheap = WhatIfChange(prices=(OtherPrice("GPU", EUR // 2, ""),))
    found = asked(path, change=cheap)
    assert {each.workload for each in found.winners} >= {"j3", "j4"}
    assert not found.losers


@pytest.mark.parametrize("since_s", [100, 3_740])
def test_what_a_cluster_suspended_is_suspended_in_a_replay_that_begins_in_the_grace(
    tmp_path: Path, since_s: int
) -> None:
    said = "it is spent"
    path = written(
        tmp_path / "ledger.db",
        budgets=False,
        past=spent.PAST,
        price=DEAR,
        more=(
            BudgetSet(10 * S, Budget("east:q", 3_700 * SECOND, grace_ms=60 * S), user="ada"),
            AlarmSet(3_710 * S, "queues/east:q", "budget.100", said),
        ),
    )
    reader, stops = Reader.at_rest(path, SYSTEM), list[int]()
    try:
        past = read_cluster(reader, "east", since_s * S, spent.UNTIL * S)
    finally:
        reader.leave()

    def note(events: list[Event], _plan: Plan) -> None:
        stops.extend(each.at // S for each in events if isinstance(each, GangStopping))

    simulate(past.scenario, state=beginning(past.state), observe=note, check=True)
    assert stops == [3_776]
