"""The past of a cluster, from what its scheduler delivered to this server."""

from msgspec.structs import replace

from ganglion.api.whatif.report import WhatIfReport
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.ledger.reader import Reader
from ganglion.lifecycle.clusters import place_of
from ganglion.model.errors import GanglionError, NotFound
from ganglion.model.events import DeliveredEvent, Event
from ganglion.model.policy import Policy
from ganglion.server.recovery.recover import beginning
from ganglion.server.whatif.cluster_budgets import ReplayedBudgets
from ganglion.whatif.delivered import ClusterNews
from ganglion.whatif.past import PastPeriod, PastReader


def read_cluster(reader: Reader, cluster: str, since: int, until: int) -> PastPeriod:
    """The past of a period of a cluster; it begins later where its records do.

    A scheduler remembers nothing of those before it, and says anew what it finds: so does what is
    known here at the begin.

    Raises:
        NotFound: the cluster has delivered nothing.
        InputError: there were no jobs.
        EnvironmentFault: the database does not answer.
        PluginError: as of `beginning`.
    """
    mind, after = beginning(reader, Policy())
    news, budgets = ClusterNews(cluster), ReplayedBudgets(reader, mind, cluster)
    known = _Begin(since, budgets)
    for cycle in reader.cycles(after):
        known.damaged += len(cycle.flaws)
        for event in (*cycle.incoming, *cycle.decisions):
            if isinstance(event, DeliveredEvent):
                for each in news.of(event):
                    known.take(each, until, decided=event.decision)
            for each in budgets.follow(event, cycle.number):
                known.hear(each, until)
    if not news.heard:
        raise NotFound(f"no records of a cluster {cluster} are known", "see: ganglion clusters")
    past = known.reader(until).past()
    gaps = tuple(e for e in news.gaps if e.until >= past.since and e.since <= past.until)
    damaged = past.limits.damaged + budgets.damaged
    limits = replace(past.limits, damaged=damaged, cluster=cluster, gaps=gaps, unseen=news.unseen)
    return replace(past, limits=limits, prices=tuple(budgets.prices))


class _Begin:
    """What is known when the period begins, and after that what happens in it.

    Args:
        since: the begin in ms.
        budgets: the prices and budgets of the cluster.

    Attributes:
        damaged: events that cannot be read or taken in.
    """

    def __init__(self, since: int, budgets: ReplayedBudgets) -> None:
        self._since, self._state = since, ClusterState(Policy())
        self._budgets, self._last = budgets, 0
        for each in budgets.prices:
            self._state.apply(each)
        self._reader: PastReader | None = None
        self.damaged = 0

    def reader(self, until: int, first: int = 0) -> PastReader:
        """What reads the period; what it knows when it begins is what was taken so far."""
        if self._reader is None:
            begin = self._since if self._last else max(first, self._since)
            self._state.again(begin)
            for each in self._budgets.standing(begin):
                self._try(each)
            self._state.gangs.fresh.clear()
            period = begin, max(until, begin)
            spent = self._budgets.spent_since()
            self._reader = PastReader(self._state, period, (), self.damaged, spent)
            self.damaged = 0
        return self._reader

    def take(self, event: Event, until: int, *, decided: bool) -> None:
        """Take in the next event of the cluster."""
        if self._reader is None and event.at <= self._since:
            self._apply(event)
            return
        incoming, decisions = ([], [event]) if decided else ([event], [])
        self.reader(until, event.at).take(incoming, decisions, self.damaged)
        self.damaged = 0

    def hear(self, event: Event, until: int) -> None:
        """Take in what the scheduler hears of prices and budgets."""
        if self._reader is None and (event.at <= self._since or not self._last):
            self._try(event)
        else:
            self.reader(until).take([event], [])

    def _apply(self, event: Event) -> None:
        if event.at > self._last:
            self._state.again(event.at)
        self._last = max(self._last, event.at, 1)
        self._try(event)

    def _try(self, event: Event) -> None:
        try:
            self._state.apply(event)
        except GanglionError:  # it contradicts what is known, as where records are missing
            self.damaged += 1


def in_cluster(report: WhatIfReport, cluster: str) -> WhatIfReport:
    """A report whose queues are named as grants name those of clusters."""
    return replace(
        report,
        groups=tuple(
            replace(each, name=place_of(cluster, each.name)) if each.by == "queue" else each
            for each in report.groups
        ),
        winners=tuple(replace(e, queue=place_of(cluster, e.queue)) for e in report.winners),
        losers=tuple(replace(e, queue=place_of(cluster, e.queue)) for e in report.losers),
    )
