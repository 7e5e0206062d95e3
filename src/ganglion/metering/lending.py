"""What queues lent of their quota and borrowed of that of others, over time.

It is a question of one level of the queue tree: what the queues under one parent use beyond their
quota comes first from what none of them is guaranteed, then from above, if their parent itself
uses more than its quota, and the rest from quota that others among them do not use. So at every
level, what is lent is what is borrowed. GPUs are counted by account, as fair shares are: flavors
in which some queue has a quota, or `*` where no queue has one by flavor.

Every change would change what each queue of the level lends. So a level keeps sums of what is lent
in all, which is exact, and of which part of the unused quota that is, which is not; queues take
note of the latter only when they change. When sums are closed, what was lent in all is divided in
proportion to that: a few microseconds may go to another queue, and none is lost.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from ganglion.metering.intervals import DAY_MS, part_of
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Amount, Usage

ROOTS = ""
"""Parent of the queues that have none."""
RATIO, WEIGHT = 32, 10
"""Binary digits of ratios behind the point, and of the GPU-microseconds that weights count."""
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


class LendingSide(Struct):
    """What a queue could lend, or borrows, in an account.

    Attributes:
        milli: thousandths of GPUs now.
        mark: its level's ratio when it was noted last.
        weight: what it came to until then, in fractions of GPU-microseconds.
    """

    milli: int = 0
    mark: int = 0
    weight: int = 0

    def weight_at(self, ratio: int) -> int:
        """What it comes to."""
        return self.weight + (self.milli * (ratio - self.mark) >> RATIO - WEIGHT)

    def becomes(self, milli: int, ratio: int) -> None:
        """It is another amount from now on."""
        self.weight, self.mark, self.milli = self.weight_at(ratio), ratio, milli


class QueueTerms(Struct):
    """What is known of a queue in one account, in thousandths of GPUs.

    Attributes:
        quota: what it is guaranteed.
        lend: most of its unused quota that others may use.
        unused: quota that it could lend.
        beyond: use beyond its quota.
    """

    quota: int
    lend: int
    unused: LendingSide = field(default_factory=LendingSide)
    beyond: LendingSide = field(default_factory=LendingSide)


class LendingLevel(Struct):
    """The queues under one parent in one account.

    Attributes:
        quota: of all of them.
        there: what they have together by right.
        above: what they have from above beyond that.
        unused, beyond: sums over the queues.
        rate: thousandths of GPUs that are lent among them now.
        lent_gpu_us: what was lent since the present sums began.
        ratios: times in ms, each multiplied by which part of what is unused was lent, and of what
            is beyond was borrowed meanwhile; with `RATIO` binary digits behind the point.
        queues: by name.
    """

    quota: int = 0
    there: int = 0
    above: int = 0
    unused: int = 0
    beyond: int = 0
    rate: int = 0
    lent_gpu_us: int = 0
    ratios: tuple[int, int] = (0, 0)
    queues: dict[str, QueueTerms] = field(default_factory=dict)

    def enter(self, name: str, quota: int, lend: int) -> None:
        """There is a queue, which uses nothing."""
        self.queues[name] = QueueTerms(quota, lend)
        self.quota += quota
        self.uses(name, 0)

    def changes(self, name: str, quota: int, lend: int) -> None:
        """A queue that is there has these from now on; then it uses something."""
        terms = self.queues[name]
        self.quota += quota - terms.quota
        terms.quota, terms.lend = quota, lend

    def uses(self, name: str, used: int) -> None:
        """A queue uses this from now on."""
        terms = self.queues[name]
        more = terms.quota - used
        unused, beyond = (more if more < terms.lend else terms.lend, 0) if more > 0 else (0, -more)
        if unused != terms.unused.milli:
            self.unused += unused - terms.unused.milli
            terms.unused.becomes(unused, self.ratios[0])
        if beyond != terms.beyond.milli:
            self.beyond += beyond - terms.beyond.milli
            terms.beyond.becomes(beyond, self.ratios[1])

    def settle(self) -> bool:
        """Work out what is lent from now on; whether anything is."""
        rate = 0
        if self.beyond and self.unused:
            free = max(self.there - self.quota, 0) + self.above
            rate = max(min(self.beyond - free, self.unused), 0)
        self.rate = rate
        return rate > 0

    def after(self, ms: int) -> tuple[int, tuple[int, int]]:
        """`lent_gpu_us` and `ratios` when some time has passed."""
        if not self.rate:
            return self.lent_gpu_us, self.ratios
        part = (self.rate << RATIO) * ms
        given, taken = self.ratios
        ratios = given + part // self.unused, taken + part // self.beyond
        return self.lent_gpu_us + self.rate * ms, ratios

    def parts(self, ms: int) -> Iterator[tuple[str, int, int]]:
        """What each queue lent and borrowed when some time has passed."""
        total, (given, taken) = self.after(ms)
        if not total:
            return
        unused = {name: each.unused.weight_at(given) for name, each in self.queues.items()}
        beyond = {name: each.beyond.weight_at(taken) for name, each in self.queues.items()}
        for name, part in _divided(total, unused):
            yield name, part, 0
        for name, part in _divided(total, beyond):
            yield name, 0, part

    def begin(self) -> None:
        """Begin all sums anew."""
        self.lent_gpu_us, self.ratios = 0, (0, 0)
        for terms in self.queues.values():
            for side in (terms.unused, terms.beyond):
                side.mark = side.weight = 0


class LendingMeter(Struct):
    """Follows what queues have and use, by the events that change it.

    Its time is the latest of those of the events, as that of `Meter`.

    Attributes:
        now: its time in ms; 0 = it has not begun.
        begin: of the present sums.
        parents: queue -> what it lies under; empty = nothing.
        levels: parent -> account -> its level.
        active: parents of levels in which something is lent.
        sums: queue -> what it lent and borrowed since `begin` in levels that are gone.
        closed: what was not drained yet.
    """

    now: int = 0
    begin: int = 0
    parents: dict[str, str] = field(default_factory=dict)
    levels: dict[str, dict[str, LendingLevel]] = field(default_factory=dict)
    active: dict[str, None] = field(default_factory=dict)
    sums: dict[str, tuple[int, int]] = field(default_factory=dict)
    closed: list[LentInterval] = field(default_factory=list)

    def passes(self, at: int) -> None:
        """Time passes, in which all stays as it is; call it before anything below."""
        if at <= self.now:
            return
        if not self.now:
            self.now = self.begin = at
            return
        while (midnight := (self.now // DAY_MS + 1) * DAY_MS) <= at:
            self._advance(midnight)
            self.close()
        self._advance(at)
        if at - self.begin >= ROW_MS:
            self.close()

    def close(self) -> None:
        """Close the present sums, and begin them anew."""
        self.closed += self._rows(0)
        self.begin, self.sums = self.now, {}
        for level in self._all():
            if level.lent_gpu_us:
                level.begin()

    def skip(self, end: int) -> None:
        """Leave out what was closed already by events that cannot be read any more."""
        if end > self.begin:
            self.now, self.begin, self.sums = max(self.now, end), end, {}
            for level in self._all():
                level.begin()

    def drain(self) -> list[LentInterval]:
        """The intervals that were closed since it was asked last; then none are."""
        found, self.closed = self.closed, []
        return found

    def open(self, until: int) -> Iterator[LentInterval]:
        """What is not closed, as if it ended then, or at the meter's time where that is later."""
        yield from self.closed
        yield from self._rows(max(until - self.now, 0))

    def tree(self, queues: Iterable[Queue], accounts: Iterable[str]) -> None:
        """These are all the queues from now on, which use nothing; GPUs are counted in these."""
        self.sums = self._sums(0)
        self.levels, self.active, known = {}, {}, list(queues)
        self.parents = {each.name: each.parent for each in known}
        counted = _counted(accounts)
        for queue in known:
            levels = self.levels.setdefault(
                queue.parent, {each: LendingLevel() for each in counted}
            )
            for account, level in levels.items():
                level.enter(queue.name, *_terms(queue, account))
        for queue in known:
            for account, level in self.levels.get(queue.name, {}).items():
                level.there = _milli(queue.quota, account, 0)

    def put(self, queue: Queue, accounts: Iterable[str]) -> bool:
        """A queue is new, or has other rules from now on; then it and those above it use something.

        Returns:
            Whether that was possible; if not, `tree` is to be called. It takes time that grows
            with all queues, and this does not.
        """
        above = self.parents.get(queue.parent, ROOTS)
        known = self.levels.get(queue.parent) or self.levels.get(above)
        if not known or list(known) != _counted(accounts):
            return False
        if self.parents.setdefault(queue.name, queue.parent) != queue.parent:
            return False
        levels = self.levels.get(queue.parent)
        if levels is None:
            levels = {each: LendingLevel() for each in known}
            for account, level in levels.items():
                level.there = known[account].queues[queue.parent].quota
            self.levels[queue.parent] = levels
        for account, level in levels.items():
            enter = level.changes if queue.name in level.queues else level.enter
            enter(queue.name, *_terms(queue, account))
        for account, level in self.levels.get(queue.name, {}).items():
            level.there = _milli(queue.quota, account, 0)
        return True

    def uses(self, path: Iterable[str], usage: Mapping[str, Mapping[str, Usage]]) -> None:
        """Queues use this from now on, by flavor and in all (`*`).

        Args:
            path: a queue and those above it.
            usage: of all queues.
        """
        for name in path:
            parent = self.parents.get(name)
            if parent is None:
                continue
            used, below = usage[name], self.levels.get(name)
            for account, level in self.levels[parent].items():
                found = used.get(account)
                milli = found.gpu_milli if found else 0
                level.uses(name, milli)
                if below:
                    below[account].above = max(milli - below[account].there, 0)
            self._settle(parent)
            if below:
                self._settle(name)

    def has(self, capacity: Mapping[str, int]) -> None:
        """There is this from now on, by flavor and in all (`*`)."""
        for account, level in self.levels.get(ROOTS, {}).items():
            level.there = capacity.get(account, 0)
        self._settle(ROOTS)

    def _settle(self, parent: str) -> None:
        lends = False
        for level in self.levels.get(parent, {}).values():
            lends = level.settle() or lends
        if lends:
            self.active[parent] = None
        elif parent in self.active:
            del self.active[parent]

    def _all(self) -> Iterator[LendingLevel]:
        for levels in self.levels.values():
            yield from levels.values()

    def _advance(self, at: int) -> None:
        for parent in self.active:
            for level in self.levels[parent].values():
                level.lent_gpu_us, level.ratios = level.after(at - self.now)
        self.now = at

    def _sums(self, ms: int) -> dict[str, tuple[int, int]]:
        """What queues lent and borrowed since `begin` when some time has passed."""
        sums = dict(self.sums)
        for level in self._all():
            for name, lent, borrowed in level.parts(ms):
                before = sums.get(name, (0, 0))
                sums[name] = (before[0] + lent, before[1] + borrowed)
        return sums

    def _rows(self, ms: int) -> Iterator[LentInterval]:
        sums, end = self._sums(ms), self.now + ms
        for queue in sorted(sums):
            if self.begin < end:
                yield LentInterval(self.begin, end, queue, *sums[queue])


def _divided(total: int, weights: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Parts in proportion to weights; without any, all goes to the first."""
    whole, before, seen = sum(weights.values()), 0, 0
    for name in sorted(weights):
        seen += weights[name]
        now = total * seen // whole if whole else total
        if now > before:
            yield name, now - before
        before = now


def _counted(accounts: Iterable[str]) -> list[str]:
    """The accounts in which GPUs are counted."""
    return [each for each in accounts if each != ANY_FLAVOR] or [ANY_FLAVOR]


def _terms(queue: Queue, account: str) -> tuple[int, int]:
    """The quota of a queue, and the most of it that others may use."""
    quota = _milli(queue.quota, account, 0)
    return quota, _milli(queue.lend_limit, account, quota)


def _milli(amounts: Mapping[str, Amount], account: str, otherwise: int) -> int:
    found = amounts.get(account)
    return otherwise if found is None or found.gpu_milli is None else found.gpu_milli
