"""Prices and budgets of a cluster for a replay: what its scheduler kept, as this server said it.

What was spent at a time is what this server metered until then, as it is in its answers to the
scheduler. In between, and in a replay, the engine counts on, as in the scheduler.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from ganglion.ledger.reader import Reader
from ganglion.lifecycle.budgets import QUEUES, spent_since
from ganglion.lifecycle.clusters import cluster_of
from ganglion.metering.intervals import UsageInterval
from ganglion.model.events import (
    AlarmSet,
    BudgetRaised,
    BudgetRemoved,
    BudgetSet,
    DeliveredEvent,
    Event,
    PriceSet,
)
from ganglion.model.queue import CLUSTER_SIGN
from ganglion.pricing.book import PriceBook
from ganglion.server.state.transaction import Mind
from ganglion.server.views.budgets import NotedBudgets, away_views, noted_of
from ganglion.server.views.usage import OpenIntervals


class ReplayedBudgets:
    """Follows a ledger from where it begins.

    Args:
        reader: of the ledger, with what was metered.
        mind: what is known where it begins; changed.
        cluster: whose budgets count.

    Attributes:
        damaged: events that contradict those before them.
    """

    def __init__(self, reader: Reader, mind: Mind, cluster: str) -> None:
        self._reader, self._mind, self._cluster = reader, mind, cluster
        self._closed: list[UsageInterval] = []
        self._cycle = self.damaged = 0

    @property
    def prices(self) -> list[PriceSet]:
        """Every price that is known by now."""
        return list(self._mind.book.prices.records)

    def standing(self, at: int, of: str = "") -> Iterator[Event]:
        """How budgets stand at a time in ms, that is not before the newest event.

        Args:
            at: the time.
            of: the queue whose budget it is; empty = all.
        """
        noted = self._noted(at, of or self._cluster)
        for view in away_views(self._reader, noted):
            queue = self._own(view.budget.queue)
            if queue is not None:
                budget = replace(view.budget, queue=queue, known_as=view.budget.queue)
                yield BudgetRemoved(at, queue)
                yield BudgetSet(at, budget, view.spent, carried_micro=view.carried)
                if view.raised:
                    yield BudgetRaised(at, 0, queue, view.raised)

    def spent_since(self) -> dict[str, int]:
        """Queue -> since when people know that its budget is spent, in ms; of those that are."""
        book, found = self._mind.book, dict[str, int]()
        for queue in book.cluster_budgets.of:
            own, since = self._own(queue), spent_since(book.alarms, queue)
            if own is not None and since is not None:
                found[own] = since
        return found

    def follow(self, event: Event, cycle: int) -> Iterator[Event]:
        """Take in the next event, of a cycle; what of it a replay is to be given."""
        self._turn(cycle)
        if isinstance(event, DeliveredEvent) and event.cluster != self._cluster:
            return
        try:
            self._note(event)
        # Where an event is missing, a later one may contradict what is known.
        except Exception:
            self.damaged += 1
        match event:
            case PriceSet():
                yield event
                if event.price.since_ms < event.at:  # what was spent is counted anew
                    yield from self.standing(event.at)
            case BudgetSet(user=user, budget=budget) if user and self._is_mine(budget.queue):
                yield from self.standing(event.at, budget.queue)
            case BudgetRaised(queue=queue) if self._is_mine(queue):
                yield from self.standing(event.at, queue)
            case BudgetRemoved(queue=queue) if (own := self._own(queue)) is not None:
                yield BudgetRemoved(event.at, own)

    def _note(self, event: Event) -> None:
        book = self._mind.book
        book.cluster_meters.note(event, book.clusters.of)
        book.clusters.note(event)
        book.prices.note(event)
        book.cluster_budgets.note(event)
        if isinstance(event, AlarmSet) and event.subject.startswith(QUEUES):
            book.alarms.pop((event.subject, event.alarm), None)
            if event.message:
                book.alarms[event.subject, event.alarm] = event
        if isinstance(event, DeliveredEvent):
            self._closed += book.cluster_meters.drain()[0]

    def _turn(self, cycle: int) -> None:
        """What an earlier cycle closed is in the ledger."""
        if cycle != self._cycle:
            self._cycle, self._closed = cycle, []
            self._mind.book.clusters.close()

    def _is_mine(self, queue: str) -> bool:
        return cluster_of(queue) == self._cluster

    def _own(self, queue: str) -> str | None:
        """The name in the cluster of a queue that its scheduler has named; None = of none."""
        own = queue.rpartition(CLUSTER_SIGN)[2]
        book = self._mind.book.clusters.of.get(self._cluster)
        return own if self._is_mine(queue) and book and own in book.parents else None

    def _noted(self, at: int, of: str) -> NotedBudgets:
        book = self._mind.book
        usage = (*self._closed, *book.cluster_meters.open_usage(at))
        prices, since = PriceBook(self.prices), book.metered_since()
        found = OpenIntervals(usage, (), self._cycle - 1, since, prices, tree=self._mind.tree())
        return noted_of(self._mind, found, at, of)
