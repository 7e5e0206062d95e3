"""One budget of a queue with what counts against it, as sums that are kept up to date.

Money is exact: thousandths of GPUs times ms times millionths for a GPU-hour.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from ganglion.model.fleet.price import MICRO
from ganglion.model.queue import Budget
from ganglion.model.reasons import Reason, Remedy, Token
from ganglion.model.resources import Usage
from ganglion.pricing.zones import date_there

HOUR_MS = 3_600_000
UNIT = 3_600_000_000
"""Exact money in one millionth of the currency."""

Rate = tuple[str, str]
"""Flavor, and kind of workload."""
Rates = tuple[tuple[Rate, int], ...]
"""Thousandths of GPUs by that, none of them 0."""


def rates_of(kind: str, used: Iterable[tuple[str, Usage]]) -> Rates:
    """What a workload of a kind uses, by flavor, as rates."""
    return tuple([((flavor, kind), each.gpu_milli) for flavor, each in used if each.gpu_milli])


def rates_in(kind: str, milli: Mapping[str, int]) -> Rates:
    """Thousandths of GPUs that a workload of a kind holds, by flavor, as rates."""
    return tuple([((flavor, kind), each) for flavor, each in milli.items() if each])


class HeldCost(Struct, frozen=True, gc=False):
    """What one gang costs while it holds its place.

    Attributes:
        path: its queue and all above it.
        rates: what it holds.
        worth: the most that one ms costs, as exact money.
        end: when its time limit is over, in ms; 0 = it has none.
        lasts_ms: how long a place that is promised would be held at most; 0 = it is held.
    """

    path: tuple[str, ...]
    rates: Rates
    worth: int
    end: int = 0
    lasts_ms: int = 0


class BudgetAccount(Struct):
    """One budget with what counts against it.

    Attributes:
        budget: the budget.
        begin, end: the present month, in ms.
        spent: since the month began, as exact money.
        carried: what was left of the month before.
        raised: by how much it was raised for the present month.
        rates: thousandths of GPUs that are held, by flavor and kind.
        limited_until: sum of worth x end of gangs with a time limit that is not over.
        limited: sum of worth of these.
        leased: sum of worth of gangs without a time limit.
        promised: the most that places which are promised would cost.
    """

    budget: Budget
    begin: int
    end: int
    spent: int = 0
    carried: int = 0
    raised: int = 0
    rates: dict[Rate, int] = field(default_factory=dict)
    limited_until: int = 0
    limited: int = 0
    leased: int = 0
    promised: int = 0

    @property
    def limit(self) -> int:
        """What may be spent in the present month, as exact money."""
        return self.budget.micro * UNIT + self.carried + self.raised

    @property
    def left(self) -> int:
        """What goes over to the next month: what it was raised by is spent last, and does not."""
        return max(self.limit - self.raised - self.spent, 0) if self.budget.carry_over else 0

    def add(self, carried_micro: int, raised_micro: int) -> None:
        """Millionths were carried over, and it was raised by others, and by no more."""
        self.carried, self.raised = carried_micro * UNIT, raised_micro * UNIT

    def emptied(self) -> "BudgetAccount":
        """The same while nothing is held or promised."""
        terms = (self.budget, self.begin, self.end, self.spent, self.carried, self.raised)
        return BudgetAccount(*terms)

    def reserved(self, now: int) -> int:
        """The most that everything which runs or is promised a place will still cost."""
        lasting = self.limited_until - self.limited * now
        return lasting + self.leased * HOUR_MS + self.promised

    def refusal(self, reserved: int, asked: int, what: str, unit: str) -> Reason:
        """Why an amount of exact money does not fit into it.

        Args:
            reserved: the most that all else will still cost.
            asked: what does not fit.
            what: what costs that, in words.
            unit: code of the currency.
        """
        budget = self.budget
        spent, held, more = (-(-each // UNIT) for each in (self.spent, reserved, asked))
        most = self.limit // UNIT
        short = -(-(self.spent + reserved + asked - self.limit) // UNIT)
        if budget.until_ms:
            message = (
                f"the spending cap of {budget.queue.replace(':', ' ')} is {_money(most)} {unit}:"
                f" {_money(spent)} are spent, what runs may cost {_money(held)} more, and {what}"
                f" {_money(more)}; {_money(short)} are missing. An administrator can make a token"
                " with a higher cap"
            )
            evidence = {"cap_micro": most, "spent_micro": spent, "reserved_micro": held}
            evidence |= {"asked_micro": more, "missing_micro": short}
            never = self.spent + asked > self.limit
            remedy = Remedy.ADMIN if never else Remedy.WAIT
            return Reason(Token.BUDGET, message, never=never, evidence=evidence, remedy=remedy)
        never = more > most and not budget.carry_over
        message = (
            f"the budget of queue {budget.shown} is {_money(most)} {unit} this month:"
            f" {_money(spent)} are spent, what runs may cost {_money(held)} more, and {what}"
            f" {_money(more)}; {_money(short)} are missing. An administrator can raise it, ask for"
            f" that with `{asking(budget.shown, short)}`; it is renewed on"
            f" {date_there(self.end, budget.zone)}"
        )
        evidence = {"budget_micro": most, "spent_micro": spent, "reserved_micro": held}
        evidence |= {"asked_micro": more, "renewed_ms": self.end, "short_micro": short}
        remedy = Remedy.ADMIN if never else Remedy.WAIT
        return Reason(Token.BUDGET, message, never=never, evidence=evidence, remedy=remedy)

    def count(self, cost: HeldCost, sign: int, over: bool) -> None:
        """Add what a gang holds, or take it back; `over`: its time limit is over."""
        if cost.lasts_ms:
            self.promised += sign * cost.worth * cost.lasts_ms
            return
        rates = self.rates
        for key, milli in cost.rates:
            total = rates.get(key, 0) + sign * milli
            if total:
                rates[key] = total
            else:
                del rates[key]
        if not cost.end:
            self.leased += sign * cost.worth
        elif not over:
            self.limited_until += sign * cost.worth * cost.end
            self.limited += sign * cost.worth


def asking(queue: str, micro: int) -> str:
    """The command by which a user asks that a budget be raised by a number of millionths."""
    return f'ganglion budget request {queue} {_money(micro)} --reason "..."'


def in_cents(micro: int) -> int:
    """Millionths, rounded up to whole hundredths."""
    cent = MICRO // 100
    return -(-micro // cent) * cent


def _money(micro: int) -> str:
    """Millionths, rounded up to two digits."""
    cents = in_cents(micro) * 100 // MICRO
    return f"{cents // 100}.{cents % 100:02}"
