"""The past of a period, as a simulation can replay it.

From outside came what users and machines did: submissions, changes and cancels of waiting jobs,
nodes that joined, failed and left, policies, queues, prices. What the engine decided is left out:
starts and stops follow anew. Run times are those that were measured.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median_low

from msgspec import Struct
from msgspec.structs import replace

from ganglion.engine.gangs.record import HOLDING
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import InputError
from ganglion.model.events import (
    BookingRemoved,
    BookingSet,
    BudgetRaised,
    BudgetRemoved,
    BudgetSet,
    DeliveredEvent,
    DeviceHealth,
    Event,
    GangUpdated,
    NodeAdded,
    NodeCordoned,
    NodeLost,
    Outcome,
    PolicySet,
    PriceSet,
    QueueSet,
    TokenCreated,
)
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Phase
from ganglion.model.queue import Queue
from ganglion.whatif.delivered import DeliveryGap
from ganglion.whatif.fates import Fates, GangFate
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.scenario import SimulatedScenario, StandingJob

FROM_OUTSIDE = (
    *(NodeAdded, NodeLost, NodeCordoned, DeviceHealth, BookingSet, BookingRemoved),
    *(QueueSet, PolicySet, PriceSet, BudgetSet, BudgetRemoved, BudgetRaised, GangUpdated),
    TokenCreated,
)
"""Facts that a replay repeats. Queues that are removed stay: nothing is in them."""
UNKNOWN_MS = 3_600_000
"""Run time assumed where nothing is known."""


class PastLimits(Struct, frozen=True):
    """What a replay does not know, counted.

    Attributes:
        open: jobs that ran at the end of what is known: they run on until the end of a replay.
        guessed: jobs that never ran: their run times are guessed.
        retried: attempts that failed and were tried again: a replay counts their time as work.
        stopped: attempts that were stopped for others: what they lost follows from the contract.
        damaged: events that cannot be read, or contradict those before them.
        delivered: events of clusters, which are left out.
        cluster: whose events these are; empty = the server's own.
        gaps: records of the cluster that are missing in the period.
        unseen: gangs of the cluster whose end no scheduler saw.
    """

    open: int = 0
    guessed: int = 0
    retried: int = 0
    stopped: int = 0
    damaged: int = 0
    delivered: int = 0
    cluster: str = ""
    gaps: tuple[DeliveryGap, ...] = ()
    unseen: int = 0


class PastPeriod(Struct, frozen=True):
    """A period of the past.

    Attributes:
        since, until: its begin and end, in ms.
        state: what the engine knew at the begin; every replay takes a copy.
        scenario: what a replay is given.
        fates: what really became of the gangs in the period.
        prices: every price that was set.
        limits: what a replay does not know.
    """

    since: int
    until: int
    state: ClusterState
    scenario: SimulatedScenario
    fates: Fates
    prices: tuple[PriceSet, ...]
    limits: PastLimits

    @property
    def rated(self) -> tuple[PriceSet, ...]:
        """Prices by which the past is rated: none where it is not known what was held."""
        return () if self.missing_ms else self.prices

    @property
    def missing_ms(self) -> int:
        """For how much of the period records are missing."""
        parts = (
            min(each.until, self.until) - max(each.since, self.since) for each in self.limits.gaps
        )
        return sum(max(each, 0) for each in parts)


class PastReader:
    """Takes in the cycles of a ledger from the begin of a period on.

    Args:
        state: as it was at the begin; not changed.
        period: its begin and end, in ms.
        prices: those that were set before.
        damaged: events before the period that cannot be read.
        spent_since: queue -> since when people knew at the begin that its budget is spent, in ms.
    """

    def __init__(
        self,
        state: ClusterState,
        period: tuple[int, int],
        prices: Iterable[PriceSet] = (),
        damaged: int = 0,
        spent_since: Mapping[str, int] | None = None,
    ) -> None:
        self._since, self._until = period
        self._spent_since = dict(spent_since or {})
        self._state = state
        self._seen, self._fates = Fates(state, self._since), Fates(state, self._since)
        self._facts = list[Event]()
        self._prices = list(prices)
        self._retried, self._damaged, self._delivered = 0, damaged, 0

    def take(self, incoming: Sequence[Event], decisions: Sequence[Event], damaged: int = 0) -> None:
        """Take in one cycle; one after the period still says how long jobs of it ran.

        Args:
            incoming: what came from outside.
            decisions: what was decided.
            damaged: events of the cycle that cannot be read.
        """
        self._damaged += damaged
        for event in incoming:
            if isinstance(event, FROM_OUTSIDE) and event.at <= self._until:
                self._facts.append(event)
            if isinstance(event, PriceSet):
                self._prices.append(event)
        for event in (*incoming, *decisions):
            self._retried += _is_retried(event)
            self._delivered += isinstance(event, DeliveredEvent)
            fates = (self._seen, self._fates) if event.at <= self._until else (self._seen,)
            try:
                for each in fates:
                    each.note(event)
            # Where an event is missing, a later one may contradict what is known.
            except Exception:
                self._damaged += 1

    def past(self) -> PastPeriod:
        """The period.

        Raises:
            InputError: nothing was submitted in it, and nothing was there when it began.
        """
        kept = [self._seen.of[gang] for gang in self._fates.of]
        if not kept:
            hint = "take a longer one: --since 30d"
            if self._delivered:
                hint = "this server places no jobs; name a cluster that delivers: --cluster NAME"
            raise InputError("the ledger holds no job of this period", hint)
        jobs = _Jobs(kept)
        records = self._state.gangs.records
        standing = [
            StandingJob(
                jobs.of(fate),
                record.attempt,
                record.placement if record.phase in HOLDING else None,
                record.cause if record.phase is Phase.STOPPING else None,
            )
            for fate in kept
            if (record := records.get(fate.gang.id)) is not None
        ]
        arrived = [jobs.of(fate) for fate in kept if fate.gang.id not in records]
        scenario = SimulatedScenario(
            nodes=there(self._state),
            queues=(),
            jobs=tuple(sorted(arrived, key=lambda job: job.gang.submitted)),
            policy=self._state.config.policy,
            timing=_timing(self._seen),
            horizon_ms=self._until - self._since,
            begin_ms=self._since,
            standing=tuple(standing),
            facts=(*self._unknown(kept), *filter(self._matters, self._facts)),
            spent_since=self._spent_since,
            withdraws=False,
        )
        limits = PastLimits(
            jobs.open,
            jobs.guessed,
            self._retried,
            sum(each.stops for each in kept),
            self._damaged,
            self._delivered,
        )
        return PastPeriod(
            self._since,
            self._until,
            self._state,
            scenario,
            self._fates,
            tuple(self._prices),
            limits,
        )

    def _unknown(self, fates: Iterable[GangFate]) -> Iterator[QueueSet]:
        """Queues of jobs that no event that can be read sets: their rules are not known."""
        known = {fact.queue.name for fact in self._facts if isinstance(fact, QueueSet)}
        names = dict.fromkeys(fate.gang.queue for fate in fates)
        for name in names:
            if name not in known and name not in self._state.queues.by_name:
                yield QueueSet(self._since, Queue(name))

    def _matters(self, fact: Event) -> bool:
        """Whether a replay needs it: what waiting does to priorities, and what it learns, follows.

        What is about a gang whose submission cannot be read is about none.
        """
        if not isinstance(fact, GangUpdated):
            return True
        return not fact.escalated and fact.gang in self._fates.of


def there(state: ClusterState) -> tuple[Node, ...]:
    """The nodes that are not lost."""
    return tuple(
        node for name, node in state.fleet.nodes.items() if not state.fleet.tree.is_gone(name)
    )


def _is_retried(event: Event) -> bool:
    outcome, requeue = getattr(event, "outcome", None), getattr(event, "requeue", False)
    return outcome is Outcome.FAILED and bool(requeue)


def _timing(seen: Fates) -> Timing:
    """How long starts and stops took, in the middle."""
    return Timing(
        start_ms=median_low(seen.start_ms) if seen.start_ms else 0,
        stop_ms=median_low(seen.leave_ms) if seen.leave_ms else None,
    )


class _Jobs:
    """Makes jobs of fates; what is not known of a run time is taken from others.

    Args:
        fates: all of them.

    Attributes:
        open, guessed: see `PastLimits`.
    """

    def __init__(self, fates: Sequence[GangFate]) -> None:
        self.open = self.guessed = 0
        runs: dict[tuple[str, str], list[int]] = {}
        every = list[int]()
        for fate in fates:
            if fate.ended is not None and fate.ran_last:
                runs.setdefault((fate.gang.queue, fate.gang.kind), []).append(fate.run_ms)
                every.append(fate.run_ms)
        self._runs = {key: median_low(found) for key, found in runs.items()}
        self._every = median_low(every) if every else UNKNOWN_MS

    def of(self, fate: GangFate) -> SimJob:
        """The job of a gang."""
        gang = fate.gang
        if fate.ended is None and fate.since is not None:
            self.open += 1
            return SimJob(gang, None)
        if fate.ended is not None and fate.ran_last:
            run = fate.run_ms
            # It was let run so long, by a limit that was raised or over several attempts.
            limit = gang.time_limit_ms and max(gang.time_limit_ms, run)
            outcome = fate.outcome or Outcome.SUCCEEDED
            return SimJob(replace(gang, time_limit_ms=limit), run, outcome)
        self.guessed += 1
        usual = self._runs.get((gang.queue, gang.kind), self._every)
        guess = max(gang.time_limit_ms or usual, fate.run_ms)
        return SimJob(gang, guess, cancelled_ms=fate.ended or 0)
