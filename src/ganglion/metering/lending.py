"""What queues lent of their quota and borrowed of that of others, over time.

It is a question of one level of the queue tree: what the queues under one parent use beyond their
quota comes first from what none of them is guaranteed, then from above, if their parent itself
uses more than its quota, and the rest from quota that others among them do not use. So at every
level, what is lent is what is borrowed. GPUs are counted by account, as fair shares are: flavors
in which some queue has a quota, or `*` where no queue has one by flavor.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from ganglion.metering.intervals import DAY_MS, part_of
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Amount, Usage

ROOTS = ""
"""Parent of the queues that have none."""
ROW_MS = 3_600_000
"""Sums that began as long ago are closed with the next event, and at midnight of UTC."""


class LentInterval(Struct, frozen=True):
    """What one queue lent and borrowed, within one day of UTC.

    Attributes:
        begin_ms, end_ms: from and before when.
        queue: its name; not only leaves have quota.
        lent_gpu_us: GPU-microseconds of its quota that others at its level used while it did not.
        borrowed_gpu_us: what it used of the quota of others at its level.
    """

    begin_ms: int
    end_ms: int
    queue: str
    lent_gpu_us: int
    borrowed_gpu_us: int

    def within(self, since: int, until: int) -> tuple[int, int]:
        """What lies of both amounts at or after a time and before another one."""
        span, period = (self.begin_ms, self.end_ms), (since, until)
        return part_of(self.lent_gpu_us, span, period), part_of(self.borrowed_gpu_us, span, period)


class QueueTerms(Struct):
    """What is known of a queue, in thousandths of GPUs by account.

    Attributes:
        parent: what it lies under; empty = nothing.
        quota: what it is guaranteed.
        lend: most of its unused quota that others may use; left out = all of it.
        used: by what runs in it and below it.
    """

    parent: str
    quota: dict[str, int]
    lend: dict[str, int]
    used: dict[str, int] = field(default_factory=dict)


class LendingMeter(Struct):
    """Follows what queues have and use, by the events that change it.

    Its time is the latest of those of the events, as that of `Meter`.

    Attributes:
        now: its time in ms; 0 = it has not begun.
        begin: of the present sums.
        accounts: in which GPUs are counted.
        queues: by name.
        levels: parent -> the queues under it.
        capacity: what there is, by account.
        rates: parent -> queue -> thousandths of GPUs that it lends and borrows now; without zeros.
        sums: queue -> what it lent and borrowed since `begin`, in GPU-microseconds.
        stale: parents of which the rates are to be worked out again.
        closed: what was not drained yet.
    """

    now: int = 0
    begin: int = 0
    accounts: tuple[str, ...] = ()
    queues: dict[str, QueueTerms] = field(default_factory=dict)
    levels: dict[str, list[str]] = field(default_factory=dict)
    capacity: dict[str, int] = field(default_factory=dict)
    rates: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    sums: dict[str, tuple[int, int]] = field(default_factory=dict)
    stale: dict[str, None] = field(default_factory=dict)
    closed: list[LentInterval] = field(default_factory=list)

    def passes(self, at: int) -> None:
        """Time passes, in which all stays as it is; call it before anything below."""
        if at <= self.now:
            return
        if not self.now:
            self.now = self.begin = at
            return
        while (midnight := (self.now // DAY_MS + 1) * DAY_MS) < at:
            self._add(midnight)
            self._close()
        self._add(at)
        if at - self.begin >= ROW_MS or at % DAY_MS == 0:
            self._close()

    def skip(self, end: int) -> None:
        """Leave out what was closed already by events that cannot be read any more."""
        if end > self.begin:
            self.now, self.begin, self.sums = max(self.now, end), end, {}

    def drain(self) -> list[LentInterval]:
        """The intervals that were closed since it was asked last; then none are."""
        found, self.closed = self.closed, []
        return found

    def open(self, until: int) -> Iterator[LentInterval]:
        """What is not closed, as if it ended then, or at the meter's time where that is later."""
        yield from self.closed
        lasts = max(until - self.now, 0)
        sums = dict(self.sums)
        for queue, lent, borrowed in self._flows():
            before = sums.get(queue, (0, 0))
            sums[queue] = (before[0] + lent * lasts, before[1] + borrowed * lasts)
        yield from _rows(self.begin, self.now + lasts, sums)

    def tree(self, queues: Iterable[Queue], accounts: Iterable[str]) -> None:
        """These are all the queues from now on, and in these accounts they have quota."""
        known, by_flavor = self.queues, tuple(each for each in accounts if each != ANY_FLAVOR)
        self.accounts = by_flavor or (ANY_FLAVOR,)
        self.queues = {
            each.name: QueueTerms(each.parent, _milli(each.quota), _milli(each.lend_limit))
            for each in queues
        }
        for name, terms in self.queues.items():
            terms.used = known[name].used if name in known else {}
        self.rates, self.levels = {}, {}
        for name, terms in self.queues.items():
            self.levels.setdefault(terms.parent, []).append(name)
        self.stale = dict.fromkeys(self.levels)

    def uses(self, path: Iterable[str], usage: Mapping[str, Mapping[str, Usage]]) -> None:
        """Queues use this from now on, by flavor and in all (`*`).

        Args:
            path: a queue and those above it.
            usage: of all queues.
        """
        for name in path:
            terms = self.queues.get(name)
            if terms is not None:
                terms.used = {each: used.gpu_milli for each, used in usage[name].items()}
                self.stale |= {terms.parent: None, name: None}

    def has(self, capacity: Mapping[str, int]) -> None:
        """There is this from now on, by flavor and in all (`*`)."""
        if capacity != self.capacity:
            self.capacity = dict(capacity)
            self.stale[ROOTS] = None

    def _flows(self) -> Iterator[tuple[str, int, int]]:
        """Each queue that lends or borrows now, with how much."""
        if self.stale:
            self._level()
        for rates in self.rates.values():
            for queue, (lent, borrowed) in rates.items():
                yield queue, lent, borrowed

    def _add(self, at: int) -> None:
        lasted = at - self.now
        for queue, lent, borrowed in self._flows():
            before = self.sums.get(queue, (0, 0))
            self.sums[queue] = (before[0] + lent * lasted, before[1] + borrowed * lasted)
        self.now = at

    def _close(self) -> None:
        self.closed += _rows(self.begin, self.now, self.sums)
        self.begin, self.sums = self.now, {}

    def _level(self) -> None:
        """Work rates out again where something has changed."""
        for parent in filter(self.levels.__contains__, self.stale):
            queues = {name: self.queues[name] for name in self.levels[parent]}
            rates: dict[str, tuple[int, int]] = {}
            for account in self.accounts:
                for name, lent, borrowed in _lending(queues, account, self._spare(parent, account)):
                    before = rates.get(name, (0, 0))
                    rates[name] = (before[0] + lent, before[1] + borrowed)
            self.rates[parent] = rates
        self.stale = {}

    def _spare(self, parent: str, account: str) -> tuple[int, int]:
        """What the queues under a parent have together, and what of it comes from above."""
        if parent == ROOTS:
            return self.capacity.get(account, 0), 0
        terms = self.queues[parent]
        quota = terms.quota.get(account, 0)
        return quota, max(terms.used.get(account, 0) - quota, 0)


def _lending(
    queues: Mapping[str, QueueTerms], account: str, spare: tuple[int, int]
) -> Iterator[tuple[str, int, int]]:
    """Each queue of a level that lends or borrows in an account, with how much.

    Args:
        queues: of the level.
        account: in which GPUs are counted.
        spare: what they have together, and what of it comes from above.
    """
    there, above = spare
    unused, beyond, promised = dict[str, int](), dict[str, int](), 0
    for name, terms in queues.items():
        quota, used = terms.quota.get(account, 0), terms.used.get(account, 0)
        promised += quota
        if used > quota:
            beyond[name] = used - quota
        elif used < quota:
            unused[name] = min(quota - used, terms.lend.get(account, quota))
    free = max(there - promised, 0) + above
    total = max(min(sum(beyond.values()) - free, sum(unused.values())), 0)
    if total:
        for name, part in _divided(total, unused):
            yield name, part, 0
        for name, part in _divided(total, beyond):
            yield name, 0, part


def _divided(total: int, weights: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Parts in proportion to weights, which are no less together; none is larger than its own."""
    whole, before, seen = sum(weights.values()), 0, 0
    for name in sorted(weights):
        seen += weights[name]
        now = total * seen // whole
        if now > before:
            yield name, now - before
        before = now


def _milli(amounts: Mapping[str, Amount]) -> dict[str, int]:
    return {name: each.gpu_milli for name, each in amounts.items() if each.gpu_milli is not None}


def _rows(begin: int, end: int, sums: Mapping[str, tuple[int, int]]) -> Iterator[LentInterval]:
    for queue in sorted(sums):
        lent, borrowed = sums[queue]
        if begin < end and (lent or borrowed):
            yield LentInterval(begin, end, queue, lent, borrowed)
