"""What keeps a queue from using more: limits, quota, what others keep back, users' limits.

A start is within its means when at every queue on the way up: no limit is passed, counting
what queues beside the path keep back inside it; work that may not be preempted stays within quota;
and no user passes the user limit. In the fleet, what others keep back stays free.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ganglion.engine.queues.lending import KINDS, NOTHING, Beside, Lending
from ganglion.engine.queues.tree import QueueTree
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.reasons import Reason, Remedy, Token
from ganglion.model.resources import Amount, Usage, decimal

_WORDS: Mapping[str, str] = {
    "gpu_milli": "GPUs",
    "cpu_milli": "CPUs",
    "memory_mib": "MiB of memory",
}
_NO_GPUS = Amount(gpu_milli=0)

Table = Mapping[str, Mapping[str, Usage]]
"""Queue -> flavor (and `*`) -> amount."""


class AdditionalUse(NamedTuple):
    """What a gang wants to use in addition.

    Attributes:
        path: its queue and all above it, the root last.
        flavor: flavor, or `*` for all of them together.
        amount: what would be added.
        preemptible: whether others may stop it.
        user: whose it is.
    """

    path: tuple[str, ...]
    flavor: str
    amount: Usage
    preemptible: bool
    user: str


class Passed(NamedTuple):
    """A bound that a start would pass.

    Attributes:
        queue: the queue of the bound; empty = the fleet, of which others keep a part back.
        user: whose use is bounded; None = that of all users.
        fixed: whether only work counts that may not be preempted.
        flavor: flavor, or `*` for all of them together.
        kind: the resource, as a field of `Usage`.
        short: how much less would have to be in use.
        reason: the same for people.
    """

    queue: str
    user: str | None
    fixed: bool
    flavor: str
    kind: str
    short: int
    reason: Reason


class QueueBound(NamedTuple):
    """A bound on what a queue uses, of its own or of a queue above it.

    Attributes:
        queue: whose rule it is.
        rule: `limit`, or `quota`, which bounds work that may not be preempted.
        flavor: flavor, or `*` for all of them together.
        kind: the resource, as a field of `Usage`.
        most: the bound.
        used: of what counts against it, in use in `queue` and all below it.
    """

    queue: str
    rule: str
    flavor: str
    kind: str
    most: int
    used: int


class QueueLimits:
    """Judges what queues ask for.

    Args:
        tree: the queues.
        usage: in use, by queue, subtree included.
        fixed: the same, of gangs that may not be preempted.
        of_user: (queue, user, flavor) -> what the user uses in the queue.
        lending: what queues keep back.
    """

    def __init__(
        self,
        tree: QueueTree,
        usage: Table,
        fixed: Table,
        of_user: Callable[[str, str, str], Usage],
        lending: Lending,
    ) -> None:
        self._tree, self._usage, self._fixed = tree, usage, fixed
        self._of_user, self._lending = of_user, lending

    def passed(self, ask: AdditionalUse, free: Callable[[str], int]) -> Passed | None:
        """The first bound that it would pass; None = none. `free`: flavor -> milli-GPUs free."""
        found = self.beyond(ask)
        return self._kept(ask, free) if found is None and self._tree.lends else found

    def beyond(self, ask: AdditionalUse) -> Passed | None:
        """Which bound of the queue itself, or of one above it, would be passed; None = none."""
        for queue in self._tree.binding(ask.path[0], ask.preemptible):
            found = self._limit(ask, queue) or self._quota(ask, queue) or self._user(ask, queue)
            if found:
                return found
        return None

    def beyond_user(self, ask: AdditionalUse) -> Passed | None:
        """Which limit of a user would be passed; None = none."""
        for queue in self._tree.binding(ask.path[0], ask.preemptible):
            found = self._user(ask, queue)
            if found:
                return found
        return None

    def bounds(self, name: str) -> Iterator[QueueBound]:
        """Bounds of a queue and of all above it, its own first."""
        for queue in map(self._tree.queues.__getitem__, self._tree.path(name)):
            for rule, table, amounts in (
                ("limit", self._usage, queue.limit),
                ("quota", self._fixed, queue.quota),
            ):
                for flavor, amount in amounts.items():
                    used = table[queue.name].get(flavor, NOTHING)
                    for kind in KINDS:
                        most = getattr(amount, kind)
                        if most is not None:
                            now = getattr(used, kind)
                            yield QueueBound(queue.name, rule, flavor, kind, most, now)

    def _limit(self, ask: AdditionalUse, queue: Queue) -> Passed | None:
        limit = queue.limit.get(ask.flavor)
        if not limit:
            return None
        used = self._usage[queue.name].get(ask.flavor, NOTHING)
        return _over(ask, _Bound(queue.name, f"queue {queue.name}", "limit", limit, used))

    def _quota(self, ask: AdditionalUse, queue: Queue) -> Passed | None:
        if ask.preemptible or not queue.quota:
            return None
        quota = queue.quota.get(ask.flavor) or _left_out(queue, ask.flavor)
        if not quota:
            return None
        used = self._fixed[queue.name].get(ask.flavor, NOTHING)
        who = f"work of queue {queue.name} that may not be stopped"
        return _over(ask, _Bound(queue.name, who, "quota", quota, used, fixed=True))

    def _user(self, ask: AdditionalUse, queue: Queue) -> Passed | None:
        limit = queue.user_limit.get(ask.flavor)
        if not limit:
            return None
        used = self._of_user(queue.name, ask.user, ask.flavor)
        who = f"user {ask.user or '(none)'} in queue {queue.name}"
        return _over(ask, _Bound(queue.name, who, "user_limit", limit, used, user=ask.user))

    def _kept(self, ask: AdditionalUse, free: Callable[[str], int]) -> Passed | None:
        levels, raw = self._lending.beside(ask.path, ask.flavor), NOTHING
        for number, each in enumerate(levels, 1):
            if each.kept != NOTHING:
                raw = raw.plus(each.kept)
            if raw == NOTHING:
                continue
            inside = levels[:number]
            if each.above:
                found = self._inside(ask, inside, raw)
            else:
                found = self._in_fleet(ask, inside, raw.gpu_milli, free)
            if found:
                return found
        return None

    def _inside(self, ask: AdditionalUse, levels: list[Beside], raw: Usage) -> Passed | None:
        name = levels[-1].above
        limit = self._tree.queues[name].limit.get(ask.flavor)
        if not limit:
            return None
        used = self._usage[name].get(ask.flavor, NOTHING)
        bound = _Bound(name, f"queue {name}", "limit", limit, used, kept=raw)
        if not _over(ask, bound):
            return None
        idle = self._lending.idle(ask.path, ask.flavor)[: len(levels)]
        kept, promised = (self._reserved(ask, each, limit) for each in (levels, idle))
        return _over(ask, bound._replace(kept=kept, idle=promised))

    def _in_fleet(
        self, ask: AdditionalUse, levels: list[Beside], raw: int, free: Callable[[str], int]
    ) -> Passed | None:
        asked = ask.amount.gpu_milli
        if not asked or not raw:
            return None
        room = free(ask.flavor)
        if asked <= room - raw:
            return None
        roots = self._tree.children.get("", ())
        used = sum(self._usage[root].get(ask.flavor, NOTHING).gpu_milli for root in roots)
        back = self._reserved(ask, levels, Amount(gpu_milli=room + used)).gpu_milli
        if not back or asked <= room - back:
            return None
        reason = Reason(
            Token.QUOTA,
            f"{decimal(back)} free {_what(ask.flavor, 'gpu_milli')} are kept back by queues that"
            f" do not lend them; {decimal(asked)} more would touch those",
            evidence={"asked_milli": asked, "kept_milli": back, "free_milli": room},
        )
        short = asked - (room - back)
        return Passed("", None, False, ask.flavor, "gpu_milli", short, reason)

    def _reserved(self, ask: AdditionalUse, levels: list[Beside], bound: Amount) -> Usage:
        """What others keep back within a bound, but no more than leaves the asker its quota.

        Only more quota than there is (as after nodes were lost) makes a difference; without
        this, two queues that lend nothing would then keep each other from everything.
        """
        total = NOTHING
        for each in levels:
            quota = self._tree.queues[each.name].quota.get(ask.flavor)
            total = total.plus(_less(each.kept, bound, quota))
        return _less(total, bound, self._tree.queues[ask.path[0]].quota.get(ask.flavor))


def _less(kept: Usage, bound: Amount, quota: Amount | None) -> Usage:
    """What is kept back, at most what a quota leaves of the bound."""

    def left(kind: str) -> int:
        most, own = getattr(bound, kind), getattr(quota, kind) if quota else None
        back = int(getattr(kept, kind))
        return back if most is None else min(back, max(0, most - (own or 0)))

    return Usage(*(left(kind) for kind in KINDS))


class _Bound(NamedTuple):
    """One bound: on whom, which, how much, what is used and kept back of it (now, if idle)."""

    queue: str
    who: str
    word: str
    most: Amount
    used: Usage
    user: str | None = None
    fixed: bool = False
    kept: Usage = NOTHING
    idle: Usage = NOTHING


def _over(ask: AdditionalUse, bound: _Bound) -> Passed | None:
    for kind in KINDS:
        most, more = getattr(bound.most, kind), getattr(ask.amount, kind)
        now, kept = getattr(bound.used, kind), getattr(bound.kept, kind)
        if most is None or not more or now + kept + more <= most:
            continue
        never = more > most - getattr(bound.idle, kind)
        short = now + kept + more - most
        reason = Reason(
            Token.QUOTA,
            _sentence(ask.flavor, bound, kind, more),
            never=never,
            evidence=_evidence(bound, kind, more),
            remedy=Remedy.ADMIN if never else Remedy.WAIT,
        )
        return Passed(bound.queue, bound.user, bound.fixed, ask.flavor, kind, short, reason)
    return None


def _sentence(flavor: str, bound: _Bound, kind: str, more: int) -> str:
    now, most = getattr(bound.used, kind), getattr(bound.most, kind)
    kept = getattr(bound.kept, kind)
    beside = f", and {_number(kind, kept)} are kept back for queues that do not lend them"
    return (
        f"{bound.who} uses {_number(kind, now)} of its {bound.word.replace('_', ' ')} of"
        f" {_number(kind, most)} {_what(flavor, kind)}{beside if kept else ''};"
        f" {_number(kind, more)} more would pass it"
    )


def _evidence(bound: _Bound, kind: str, more: int) -> dict[str, int]:
    unit = kind.partition("_")[2]
    kept = getattr(bound.kept, kind)
    numbers = {
        "used": getattr(bound.used, kind),
        bound.word: getattr(bound.most, kind),
        "asked": more,
    }
    if kept:
        numbers["kept"] = kept
    return {f"{key}_{unit}": value for key, value in numbers.items()}


def _left_out(queue: Queue, flavor: str) -> Amount | None:
    """Quota by flavor guarantees no GPUs of the flavors that it leaves out."""
    if flavor == ANY_FLAVOR or ANY_FLAVOR in queue.quota:
        return None
    by_flavor = any(each.gpu_milli is not None for each in queue.quota.values())
    return _NO_GPUS if by_flavor else None


def _what(flavor: str, kind: str) -> str:
    return _WORDS[kind] if flavor == ANY_FLAVOR else f"{flavor} {_WORDS[kind]}"


def _number(kind: str, value: int) -> str:
    return str(value) if kind == "memory_mib" else decimal(value)
