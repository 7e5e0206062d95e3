"""What follows from how a budget stands: what people are notified of, and what is suspended when.

The local world and the schedulers of clusters go by it. Nothing is stopped without a warning: what
runs without a time limit is warned before its last hour is paid, and once the limit is spent there
is a grace; then a gang is suspended right after a checkpoint. Replicas of a service's floor
go on, and so does what would lose its work and has a time limit, as that was reserved when it
started.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field

from ganglion.engine.gangs.preemption_cost import next_save
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.queues.budget_account import HeldCost
from ganglion.engine.queues.budgets import BudgetView
from ganglion.model.events import (
    AlarmSet,
    BudgetRaised,
    BudgetRemoved,
    BudgetRequested,
    BudgetSet,
    Event,
)
from ganglion.model.events.policy import ClusterMoney
from ganglion.model.queue import CLUSTER_SIGN, Budget
from ganglion.model.workload import Kind
from ganglion.pricing.zones import date_there, month_of

ALARMS = "budget."
"""How alarms about budgets begin: `budget.80` of a queue, `budget.spent` of a workload."""
SPENT, ENDING = f"{ALARMS}spent", f"{ALARMS}ending"
ALL = 100
MINUTE_MS = 60_000
QUEUES = "queues/"
"""How subjects of alarms about queues begin."""
LOOK_MS = 60_000
"""How often is looked at budgets of which something is being spent."""
OLD_MS = 300_000
"""Age from which on what a server said is old: nothing is suspended by it."""


class Fate(StrEnum):
    """What becomes of a gang once a budget above it is spent; the values are for people."""

    FLOOR = "the service goes on with the replicas of its floor"
    LIMIT = "it goes on until its time limit, as it saves no checkpoints"
    SAVED = "it is suspended at its next checkpoint after a grace of {grace}"
    STOPPED = "it is stopped after a grace of {grace}, and starts again once the budget allows that"
    SAVED_ONCE = (
        "its pods are deleted at its next checkpoint after a grace of {grace}, and nothing makes"
        " them anew"
    )
    STOPPED_ONCE = "its pods are deleted after a grace of {grace}, and nothing makes them anew"


LEAVES = frozenset({Fate.SAVED, Fate.STOPPED, Fate.SAVED_ONCE, Fate.STOPPED_ONCE})
"""What gives its place back once the grace is over."""


class BudgetedGang(Struct, frozen=True):
    """A gang that holds a place which costs something.

    Attributes:
        record: the gang.
        floor: whether it is one of the replicas that its service has at least.
        once: whether it cannot start again, as nothing would make its pods anew.
    """

    record: GangRecord
    floor: bool = False
    once: bool = False


class MoneyWord(Struct, frozen=True):
    """What the server of a cluster said.

    Attributes:
        said: the prices and budgets.
        at: when its scheduler heard that, in ms by its own clock; 0 = before it started.
    """

    said: ClusterMoney
    at: int = 0


class BudgetVerdict(Struct):
    """What follows from how one budget stands.

    Attributes:
        alarms: about the queue, alarm -> what it says.
        warnings: about workloads, id -> (alarm, what it says).
        suspends: gangs that are to be stopped now.
        due: when the next ones are, in ms; None = not by the time alone.
    """

    alarms: dict[str, str]
    warnings: dict[str, tuple[str, str]] = field(default_factory=dict)
    suspends: list[GangRecord] = field(default_factory=list)
    due: int | None = None


def decide(
    view: BudgetView, since: int | None, now: int, gangs: Iterable[BudgetedGang]
) -> BudgetVerdict:
    """What follows from how a budget stands.

    Args:
        view: how it stands.
        since: when people were notified that all of it is spent, in ms; None = they were not.
        now: the time in ms.
        gangs: all that hold a place below it.
    """
    verdict = BudgetVerdict(dict(_crossed(view)))
    if not is_spent(view):
        if view.spent + view.reserved >= view.limit:  # no lease is renewed any more
            _warn(verdict, view, gangs)
        return verdict
    after = (now if since is None else since) + view.budget.grace_ms
    for each in gangs:
        gang, fate = each.record.gang, fate_of(each)
        said = f"the budget of queue {view.budget.shown} is spent: {_words(fate, view)}"
        verdict.warnings.setdefault(gang.workload, (SPENT, said))
        if fate not in LEAVES:
            continue
        at = leaves_at(each.record, after)
        if at <= now:
            verdict.suspends.append(each.record)
        else:
            verdict.due = min(at, verdict.due or at)
    return verdict


def running_below(
    records: Mapping[str, GangRecord],
    held: Mapping[str, HeldCost],
    queue: str,
    floor_of: Callable[[GangRecord], int | None],
    is_once: Callable[[GangRecord], bool] = lambda _record: False,
) -> Iterator[BudgetedGang]:
    """Gangs below a queue that start or run and cost something, by workload and index.

    Args:
        records: of all gangs, by id.
        held: what gangs hold, by id.
        queue: whose budget it is.
        floor_of: the replicas that the service of a gang has at least; None = it does not scale.
        is_once: whether a gang cannot start again.
    """
    left: dict[str, int] = {}
    names = [name for name, cost in held.items() if queue in cost.path and cost.worth]
    found = [records[name] for name in names if name in records]
    for record in sorted(found, key=lambda e: (e.gang.workload, e.gang.index, e.gang.id)):
        if record.phase not in SETTLED:
            continue
        workload, floor = record.gang.workload, False
        if record.gang.kind is Kind.SERVICE:
            if workload not in left:
                least = floor_of(record)
                left[workload] = len(found) if least is None else least
            left[workload] -= 1
            floor = left[workload] >= 0
        yield BudgetedGang(record, floor, is_once(record))


def subject_of(queue: str) -> str:
    """The subject of alarms about the budget of a queue."""
    return f"{QUEUES}{queue}"


def spent_since(alarms: Mapping[tuple[str, str], AlarmSet], queue: str) -> int | None:
    """When people were notified that a budget is spent, in ms; None = it is not.

    Args:
        alarms: those that stand, by subject and code.
        queue: whose budget it is.
    """
    told = alarms.get((subject_of(queue), f"{ALARMS}{ALL}"))
    return told.at if told else None


def is_spent(view: BudgetView) -> bool:
    """Whether all of a budget is spent."""
    return view.spent >= view.limit


def crossed(view: BudgetView) -> int:
    """The highest threshold, in percent of the limit, that was crossed; 0 = none."""
    marks = (*view.budget.warn, ALL)
    return max((mark for mark in marks if view.spent * ALL >= view.limit * mark), default=0)


def fate_of(each: BudgetedGang) -> Fate:
    """What becomes of a gang once a budget above it is spent."""
    gang = each.record.gang
    if each.floor:
        return Fate.FLOOR
    if gang.checkpoint is not None:
        return Fate.SAVED_ONCE if each.once else Fate.SAVED
    if gang.time_limit_ms:
        return Fate.LIMIT
    return Fate.STOPPED_ONCE if each.once else Fate.STOPPED


def leaves_at(record: GangRecord, after: int) -> int:
    """When a gang is suspended, in ms: right after its first checkpoint after a time in ms.

    What saves whenever it is asked to leave, or never, leaves at that time.
    """
    if record.committed_at >= after:
        return after
    return max(after, next_save(record, after) or after)


def _crossed(view: BudgetView) -> Iterator[tuple[str, str]]:
    """An alarm for each threshold; what it says stays the same for as long as it is crossed."""
    most, queue = crossed(view), view.budget.shown
    end = f"of this month, which ends on {date_there(view.end, view.budget.zone)}"
    for mark in sorted({*view.budget.warn, ALL}):
        if mark > most:
            return
        said = f"queue {queue} has spent {mark} % of its budget {end}"
        if mark == ALL:
            said = f"queue {queue} has spent its budget {end}: nothing starts until then"
        yield f"{ALARMS}{mark}", said


def _warn(verdict: BudgetVerdict, view: BudgetView, gangs: Iterable[BudgetedGang]) -> None:
    """Warn what runs without a time limit that its next hour is not paid any more."""
    for each in gangs:
        fate, gang = fate_of(each), each.record.gang
        if gang.time_limit_ms or fate not in LEAVES:
            continue
        said = (
            f"the budget of queue {view.budget.shown} lasts less than an hour of what runs: once"
            f" it is spent, {_words(fate, view)}"
        )
        verdict.warnings.setdefault(gang.workload, (ENDING, said))


def _words(fate: Fate, view: BudgetView) -> str:
    minutes, rest = divmod(view.budget.grace_ms, MINUTE_MS)
    grace = f"{view.budget.grace_ms // 1000} s" if rest else f"{minutes} min"
    return fate.value.format(grace=grace)


class RaisedBy(Struct, frozen=True):
    """By how many millionths a budget was raised until a time in ms."""

    micro: int
    until: int


class CarriedOver(Struct, frozen=True):
    """What was left, in millionths, as the month began that begins at a time in ms."""

    micro: int
    begin: int

    def until(self, budget: Budget, now: int, spent_in: Callable[[int, int], int]) -> int:
        """What was left as the present month began.

        Args:
            budget: that has been in force since.
            now: the time in ms.
            spent_in: what was spent in a whole month, in millionths, by its begin and end.
        """
        left, month = self.micro, self.begin
        present, _ = month_of(now, budget.zone)
        while month < present and budget.carry_over:
            begin, month = month, month_of(month, budget.zone)[1]
            left = max(budget.micro + left - spent_in(begin, month), 0)
        return left if budget.carry_over else 0


class ClusterBudgets(Struct):
    """Budgets of queues of clusters: held at a server, by its names of them; schedulers keep them.

    Follows from events alone.

    Attributes:
        of: the budgets.
        raised: by how much they were raised for a month.
        carried: what is known to be carried over, of those of which something is.
        asked: number of a request that waits -> when the month that it is about is over, in ms.
    """

    of: dict[str, Budget] = field(default_factory=dict)
    raised: dict[str, RaisedBy] = field(default_factory=dict)
    carried: dict[str, CarriedOver] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)

    def note(self, event: Event) -> None:
        """Take in an event."""
        match event:
            case BudgetSet(budget=budget) if CLUSTER_SIGN in budget.queue:
                self.of[budget.queue] = budget
                self.carried.pop(budget.queue, None)
                if budget.carry_over:
                    begin, _ = month_of(event.at, budget.zone)
                    self.carried[budget.queue] = CarriedOver(event.carried_micro, begin)
            case BudgetRemoved(queue=queue):
                self.of.pop(queue, None)
                self.raised.pop(queue, None)
                self.carried.pop(queue, None)
            case BudgetRequested(queue=queue) if CLUSTER_SIGN in queue:
                self.asked[event.number] = event.until_ms
            case BudgetRaised(queue=queue) if queue in self.of:
                until = self.asked.pop(event.number, 0)
                self.raised[queue] = RaisedBy(self.raised_by(queue, event.at) + event.micro, until)

    def raised_by(self, queue: str, now: int) -> int:
        """By how many millionths a budget is raised at a time in ms."""
        found = self.raised.get(queue)
        return found.micro if found and now < found.until else 0
