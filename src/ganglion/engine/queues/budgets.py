"""What queues have spent and may still spend, as one more bound of the queue tree.

What counts against a budget is what was spent in the month, what runs may still cost at most, and
what is promised a place. What runs without a time limit counts one hour ahead: a lease that is
renewed all the time, so that new work is refused an hour before the budget is used up.

Money is exact: thousandths of GPUs times ms times millionths for a GPU-hour.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

from msgspec.structs import replace

from ganglion.engine.queues.budget_account import (
    HOUR_MS,
    UNIT,
    BudgetAccount,
    HeldCost,
    Rate,
    Rates,
)
from ganglion.model.errors import InvariantBroken
from ganglion.model.queue import Budget, cap_of
from ganglion.model.reasons import Reason
from ganglion.pricing.book import PriceBook, PriceSpan
from ganglion.pricing.zones import DAY_MS, month_of

NEVER = 1 << 62
"""When a spending cap, which has no months, begins anew, in ms."""


class BudgetView(NamedTuple):
    """How a budget stands, in millionths; when the month begins and ends, in ms.

    The limit is that of the month, with what was carried over and what it was raised by.
    """

    budget: Budget
    limit: int
    spent: int
    reserved: int
    carried: int
    begin: int
    end: int
    raised: int = 0


class QueueBudgets:
    """The budgets of all queues.

    Invariant: what counts against a budget is the sum over the gangs below its queue that hold a
    place or are promised one.

    Attributes:
        prices: every price that was set.
        accounts: by queue.
        now: up to when spending is counted, in ms.
        held: by gang: what it holds; `~gang`: what it is promised; `+gang`: what it grows by.
        refused_at: when a gang was last refused for a budget, in ms; 0 = never.
    """

    def __init__(self) -> None:
        self.prices = PriceBook()
        self.accounts: dict[str, BudgetAccount] = {}
        self.now = 0
        self.held: dict[str, HeldCost] = {}
        self.refused_at = 0
        self._over: dict[str, None] = {}
        self._ends: list[tuple[int, str]] = []
        self._span: PriceSpan | None = None
        self._highest: dict[Rate, int] = {}

    def put(self, budget: Budget, spent_micro: int, now: int) -> None:
        """A queue has this budget, and has spent that much in the present month."""
        self.advance(now)
        begin, end = month_of(self.now, budget.zone)
        before = self.accounts.get(budget.queue)
        same = before if before and before.end == end else None
        carried = same.carried if same and budget.carry_over else 0
        raised = same.raised if same else 0
        made = BudgetAccount(budget, begin, end, spent_micro * UNIT, carried, raised)
        self.accounts[budget.queue] = made
        for gang, cost in self.held.items():
            if budget.queue in cost.path:
                made.count(cost, 1, gang in self._over)

    def cap(self, token: str, micro: int, until: int, used: Container[str], now: int) -> None:
        """Bound what workloads cost that are submitted with a token, from now on, without months.

        Args:
            token: its id.
            micro: the cap, in millionths.
            until: when the token ends, in ms; its cap holds as long as it is used.
            used: names of all caps that gangs have which have not ended.
            now: the time in ms.
        """
        self.advance(now)
        for name, each in list(self.accounts.items()):
            if 0 < each.budget.until_ms <= now and name not in used:
                del self.accounts[name]
        made = Budget(cap_of(token), micro, warn=(), grace_ms=0, until_ms=until)
        self.accounts[made.queue] = BudgetAccount(made, self.now, NEVER)

    def remove(self, queue: str) -> None:
        """A queue has no budget any more, or is gone itself."""
        self.accounts.pop(queue, None)

    def raise_by(self, queue: str, micro: int, now: int) -> None:
        """A queue may spend a number of millionths more until the month is over."""
        self.advance(now)
        self.accounts[queue].raised += micro * UNIT

    def forget_held(self) -> None:
        """Nothing is held or promised: it is counted anew."""
        self.held, self._over, self._ends = {}, {}, []
        for queue, each in self.accounts.items():
            self.accounts[queue] = each.emptied()

    def hold(self, key: str, path: tuple[str, ...], rates: Rates, end: int, now: int) -> None:
        """A gang holds this much from now on, in place of what it held."""
        if key in self.held:
            self.drop(key, now)
        elif now > self.now:
            self.advance(now)
        if rates:
            self._enter(key, HeldCost(path, rates, self.worth(rates), end))

    def promise(
        self, key: str, path: tuple[str, ...], rates: Rates, limit_ms: int, now: int
    ) -> None:
        """A gang is promised a place for so long, in place of what it was promised."""
        self.drop(key, now)
        self._enter(key, HeldCost(path, rates, self.worth(rates), 0, limit_ms or HOUR_MS))

    def drop(self, key: str, now: int) -> None:
        """A gang holds nothing any more, or is promised nothing."""
        if key not in self.held:
            return
        if now > self.now:
            self.advance(now)
        cost, over = self.held.pop(key), key in self._over
        if over:
            del self._over[key]
        for name in cost.path:
            account = self.accounts.get(name)
            if account is not None:
                account.count(cost, -1, over)

    def _enter(self, key: str, cost: HeldCost) -> None:
        self.held[key] = cost
        over = 0 < cost.end <= self.now
        if over:
            self._over[key] = None
        elif cost.end:
            heappush(self._ends, (cost.end, key))
        for name in cost.path:
            account = self.accounts.get(name)
            if account is not None:
                account.count(cost, 1, over)

    def price_set(self, now: int) -> None:
        """Prices have changed: what may be spent at most is counted anew."""
        self.advance(now)
        self._span = None
        known = self.held
        self.forget_held()
        for key, cost in known.items():
            self._enter(key, replace(cost, worth=self.worth(cost.rates)))

    def worth(self, rates: Rates) -> int:
        """The most that one ms of these GPUs costs, as exact money; what has no price is free."""
        span, total = self._span, 0
        if span is None or not span.begin <= self.now < span.end:
            self._prices()
        known = self._highest
        for key, amount in rates:
            most = known.get(key)
            if most is None:
                most = known[key] = self.prices.highest(self.now, *key) or 0
            total += amount * most
        return total

    def advance(self, now: int) -> bool:
        """Count what was spent up to a time in ms; returns whether a month has begun."""
        renewed = False
        if not self.accounts:
            self.now = max(self.now, now)
        while self.now < now:
            span = self._prices()
            until = min(now, span.end, *(each.end for each in self.accounts.values()))
            for each in self.accounts.values():
                for (flavor, kind), milli in each.rates.items():
                    price = self.prices.price(span.state.now, flavor, kind) or 0
                    each.spent += milli * price * (until - self.now)
            self.now = until
            renewed = self._turn_months() or renewed
        while self._ends and self._ends[0][0] <= self.now:
            end, key = heappop(self._ends)
            cost = self.held.get(key)
            if cost is not None and cost.end == end and key not in self._over:
                self._over[key] = None
                for name in cost.path:
                    if name in self.accounts:
                        self.accounts[name].limited_until -= cost.worth * end
                        self.accounts[name].limited -= cost.worth
        return renewed

    def _turn_months(self) -> bool:
        """Begin the months that have come."""
        begun = [each for each in self.accounts.values() if each.end <= self.now]
        for each in begun:
            each.carried = each.left
            each.spent = each.raised = 0
            each.begin, each.end = month_of(self.now, each.budget.zone)
        return bool(begun)

    def _prices(self) -> PriceSpan:
        """The prices that hold now, and until when they do; a day at most."""
        span = self._span
        if span is None or not span.begin <= self.now < span.end:
            span = self._span = next(self.prices.spans(self.now, self.now + DAY_MS))
            self._highest = {}  # changes where prices do, and nowhere else
        return span

    def next_wake(self) -> int | None:
        """When the time alone lets more start, in ms: a month begins, or a price went down."""
        times = [each.end for each in self.accounts.values() if each.end < NEVER]
        if self.refused_at and self.accounts:
            times.append(self.refused_at + HOUR_MS // 4)
        return min(times, default=None)

    def renew(self, now: int) -> bool:
        """Count up to now; returns whether what was refused for a budget is worth a look."""
        renewed = self.advance(now)
        if self.refused_at and now >= self.refused_at + HOUR_MS // 4:
            renewed, self.refused_at = True, 0
        return renewed

    def refuses(self, path: Sequence[str], rates: Rates, limit_ms: int, gang: str) -> Reason | None:
        """Why a gang may not hold that much for so long; None = it may.

        Args:
            path: its queue and all above it.
            rates: what it would hold.
            limit_ms: its time limit; 0 = none, so that an hour is counted.
            gang: its id; what it is promised already does not count twice.
        """
        asked: int | None = None
        what = "it may cost" if limit_ms else "an hour of it costs"
        for name in path:
            account = self.accounts.get(name)
            if account is None:
                continue
            if asked is None:
                asked = self.worth(rates) * (limit_ms or HOUR_MS)
                if not asked:
                    return None
            reserved = account.reserved(self.now)
            if account.promised and (own := self.held.get(promised(gang))) is not None:
                reserved -= own.worth * own.lasts_ms
            if account.spent + reserved + asked > account.limit:
                self.refused_at = self.refused_at or self.now
                return account.refusal(reserved, asked, what, self.prices.currency)
        return None

    def refuses_longer(
        self, path: Sequence[str], ends: Mapping[str, int], now: int
    ) -> Reason | None:
        """Why gangs may not hold their places until other times; None = they may.

        Args:
            path: their queue and all above it.
            ends: gang -> when it would end at the latest, in ms; 0 = without a time limit.
            now: the time in ms.
        """
        self.advance(now)
        more = 0
        for gang, end in ends.items():
            cost = self.held.get(gang)
            if cost is not None:
                more += cost.worth * (self._lasts(end) - self._lasts(cost.end))
        for name in path:
            account = self.accounts.get(name)
            if account is None or more <= 0:
                continue
            reserved = account.reserved(self.now)
            if account.spent + reserved + more > account.limit:
                what = "the longer time limit may cost"
                return account.refusal(reserved, more, what, self.prices.currency)
        return None

    def _lasts(self, end: int) -> int:
        """For how long, in ms, what ends then counts; 0 = it has no end."""
        return max(end - self.now, 0) if end else HOUR_MS

    def views(self, now: int) -> list[BudgetView]:
        """How the budgets of queues stand, at a time that is not before the last one counted."""
        found = (self.accounts[name] for name in sorted(self.accounts))
        return [self._view(each, now) for each in found if not each.budget.until_ms]

    def cap_view(self, token: str, now: int) -> BudgetView | None:
        """How the spending cap of a token stands; None = it has none, or it ended long ago."""
        found = self.accounts.get(cap_of(token))
        return self._view(found, now) if found else None

    def _view(self, each: BudgetAccount, now: int) -> BudgetView:
        until, spent = min(max(self.now, now), each.end), each.spent
        for span in self.prices.spans(self.now, until) if each.rates else ():
            for rate, milli in each.rates.items():
                price = self.prices.price(span.state.now, *rate) or 0
                spent += milli * price * (span.end - span.begin)
        return BudgetView(
            each.budget,
            each.limit // UNIT,
            -(-spent // UNIT),
            max(-(-each.reserved(until) // UNIT), 0),
            each.carried // UNIT,
            each.begin,
            each.end,
            each.raised // UNIT,
        )

    def image(self) -> tuple[dict[str, BudgetAccount], int]:
        """Budgets and how many prices there are, as they are now."""
        accounts = {
            name: replace(each, rates=dict(each.rates)) for name, each in self.accounts.items()
        }
        return accounts, len(self.prices.records)

    def restore(self, image: tuple[dict[str, BudgetAccount], int]) -> None:
        """Budgets and prices are as in an earlier image; what is held is counted anew then."""
        self.accounts = dict(image[0])
        del self.prices.records[image[1] :]
        self._span = None

    def saved(self) -> list[tuple[Budget, int, int, int, int, int, int, int]]:
        """Budgets with what was spent, as numbers of 64 bits at most."""
        return [
            (
                *(each.budget, each.begin, each.end, *divmod(each.spent, UNIT)),
                *(*divmod(each.carried, UNIT), each.raised // UNIT),
            )
            for each in self.accounts.values()
        ]

    def take(self, known: Iterable[tuple[Any, ...]], now: int) -> None:
        """Be as something that was saved; what is held is counted anew then.

        What earlier versions saved does not say by how much budgets were raised.
        """
        self.now = now
        for budget, begin, end, spent, rest, carried, more, *raised in known:
            exact = spent * UNIT + rest, carried * UNIT + more, sum(raised) * UNIT
            self.accounts[budget.queue] = BudgetAccount(budget, begin, end, *exact)

    def check(self) -> None:
        """Check the invariant. Raises InvariantBroken."""
        for name, account in self.accounts.items():
            fresh = account.emptied()
            for key, cost in self.held.items():
                if name in cost.path:
                    fresh.count(cost, 1, key in self._over)
            if fresh != account:
                raise InvariantBroken(f"the budget of queue {name} is miscounted")


def promised(gang: str) -> str:
    """The key of what a gang is promised, beside its id, by which it holds something."""
    return f"~{gang}"


def growing(gang: str) -> str:
    """The key of what a gang would grow by, while a cycle works that out."""
    return f"+{gang}"
