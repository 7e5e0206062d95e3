"""Budgets that run out are notified of once; what runs below them is suspended, and comes back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import decode

from ganglion.model.events import AlarmSet, BudgetRemoved, BudgetSet, CheckpointCommitted, PriceSet
from ganglion.model.fleet.price import MICRO, Price
from ganglion.model.queue import Budget, Queue
from ganglion.server.commands.scale import ReplicaSpan, scale
from ganglion.server.controllers.budgets import BudgetsController
from tests.server.conftest import Rig

MINUTE = 60_000
HOUR = 60 * MINUTE


class Ward:
    """A server with a price of 1 for a GPU-hour, and queues `org` above `team` and `other`."""

    def __init__(self, folder: Path) -> None:
        self.rig = Rig(folder, lambda: [BudgetsController()])
        self.rig.queues = (Queue("org"), Queue("team", "org"), Queue("other", "org"))
        self.rig.crash()
        price = Price("H100", 1, MICRO, currency="EUR")
        self.rig.do(lambda draft: draft.record(PriceSet(draft.now, price, "ada")))

    def give(self, limit: int, queue: str = "org", spent: int = 0, **more: Any) -> None:
        budget = Budget(queue, limit * MICRO, **more)
        event = spent * MICRO
        self.rig.do(lambda draft: draft.record(BudgetSet(draft.now, budget, event, "ada")))
        self.rig.turn(2)

    def runs(self, name: str, gpus: int = 1, queue: str = "team", **more: Any) -> str:
        job = self.rig.submit(name, queue=queue, resources={"gpus": gpus}, **more)
        self.rig.turn(2)
        assert self.rig.state(job) == "RUNNING"
        return job

    def after(self, ms: int) -> None:
        self.rig.machine.time += ms
        self.rig.turn(3)

    def alarms(self, subject: str) -> set[str]:
        with self.rig.service.read() as mind:
            return {alarm for about, alarm in mind.book.alarms if about == subject}

    def raised(self, alarm: str) -> int:
        """How often an alarm was raised."""
        kinds = (each for each in self.rig.ledger.events(0, 10_000) if each.kind == "alarm_set")
        events = [decode(each.body, type=AlarmSet) for each in kinds]
        return sum(each.alarm == alarm and bool(each.message) for each in events)


@pytest.fixture
def ward(tmp_path: Path) -> Iterator[Ward]:
    made = Ward(tmp_path)
    yield made
    made.rig.ledger.close()


def test_each_threshold_is_notified_of_once_in_a_period(ward: Ward) -> None:
    ward.give(100)
    ward.runs("a", 8)
    for _ in range(54):
        ward.after(10 * MINUTE)
    assert ward.alarms("queues/org") == {"budget.50"}
    ward.rig.crash()
    ward.after(10 * MINUTE)
    assert ward.raised("budget.50") == 1
    ward.after(2 * HOUR)
    assert ward.alarms("queues/org") == {"budget.50", "budget.80"}


def test_a_budget_that_is_raised_takes_its_alarms_back_and_can_cross_again(ward: Ward) -> None:
    ward.give(10, spent=6)
    assert ward.alarms("queues/org") == {"budget.50"}
    ward.after(MINUTE)
    ward.give(100, spent=6)
    ward.after(MINUTE)
    assert ward.alarms("queues/org") == set()
    ward.give(100, spent=51)
    ward.after(MINUTE)
    assert ward.raised("budget.50") == 2


def test_once_it_is_spent_what_runs_is_suspended_after_the_grace_and_comes_back(
    ward: Ward,
) -> None:
    ward.give(10)
    job = ward.runs("a", 8)
    ward.after(HOUR + MINUTE)
    assert ward.alarms(job) == {"budget.ending"}
    assert ward.rig.state(job) == "RUNNING"
    ward.after(14 * MINUTE)
    assert ward.alarms(job) == {"budget.spent"}
    assert ward.alarms("queues/org") >= {"budget.100"}
    ward.after(13 * MINUTE)
    assert ward.rig.machine.stops == []
    ward.after(3 * MINUTE)
    ((gang, attempt, cause, force),) = ward.rig.machine.stops
    assert (gang, attempt, force) == (f"{job}/0", 1, False)
    assert str(cause) == "suspended: the budget of queue org is spent"
    assert ward.rig.state(job) == "QUEUED"
    ward.after(MINUTE)
    assert ward.alarms(job) == set()
    ward.give(100, spent=12)
    ward.after(MINUTE)
    assert ward.rig.state(job) == "RUNNING"


def test_a_gang_with_a_contract_leaves_at_its_next_checkpoint(ward: Ward) -> None:
    ward.give(1000)
    job = ward.runs("a", 8, checkpoint={"interval": "2h"})
    ward.give(1)
    ward.after(HOUR)
    ward.after(20 * MINUTE)
    assert ward.rig.machine.stops == []
    at = ward.rig.machine.time
    saved = CheckpointCommitted(at, f"{job}/0", 1, at)
    ward.rig.do(lambda draft: draft.apply(saved))
    ward.after(2_000)
    assert [stop[0] for stop in ward.rig.machine.stops] == [f"{job}/0"]


def test_what_has_a_time_limit_and_no_checkpoints_goes_on_and_says_so(ward: Ward) -> None:
    ward.give(1000)
    job = ward.runs("a", 8, time_limit="9h")
    ward.give(1)
    for _ in range(5):
        ward.after(HOUR)
    assert ward.rig.machine.stops == []
    assert ward.alarms(job) == {"budget.spent"}


def test_services_at_their_floor_go_on_and_further_replicas_do_not(ward: Ward) -> None:
    ward.give(1000)
    follows = {"targets": {"requests": 2}}
    chat = ward.rig.submit(
        "chat", queue="team", kind="service", port=8000, replicas="1..4", scale=follows
    )
    plain = ward.rig.submit("plain", queue="team", kind="service", port=8000, replicas=2)
    ward.rig.do(lambda draft: scale(draft, chat, ReplicaSpan(3), "ada"))
    ward.rig.turn(3)
    ward.give(1)
    for _ in range(3):
        ward.after(HOUR)
    assert sorted(stop[0] for stop in ward.rig.machine.stops) == [f"{chat}/1", f"{chat}/2"]
    assert ward.alarms(plain) == ward.alarms(chat) == {"budget.spent"}
    assert ward.rig.state(plain) == "RUNNING"


def test_other_queues_are_left_alone(ward: Ward) -> None:
    ward.give(1000, "team")
    mine, other = ward.runs("a", 2), ward.runs("b", 2, "other")
    ward.give(1, "team")
    for _ in range(3):
        ward.after(HOUR)
    assert ward.rig.state(mine) == "QUEUED"
    assert ward.rig.state(other) == "RUNNING"
    assert ward.alarms(other) == set()


def test_a_budget_that_is_removed_leaves_no_alarm(ward: Ward) -> None:
    ward.give(10, spent=9)
    assert ward.alarms("queues/org") == {"budget.50", "budget.80"}
    ward.rig.do(lambda draft: draft.apply(BudgetRemoved(draft.now, "org")))
    ward.after(MINUTE)
    assert ward.alarms("queues/org") == set()


def test_a_server_that_is_killed_meanwhile_suspends_what_is_due(ward: Ward) -> None:
    ward.give(1000)
    job = ward.runs("a", 8)
    ward.give(1)
    ward.after(HOUR)
    ward.rig.crash()
    ward.after(20 * MINUTE)
    assert ward.rig.state(job) == "QUEUED"
