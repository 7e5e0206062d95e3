"""The queues: the tree of them, what they use, and what they have used."""

from collections.abc import Iterable

from ganglion.engine.queues.budgets import QueueBudgets
from ganglion.engine.queues.decayed_usage import PastUse
from ganglion.engine.queues.lending import NOTHING
from ganglion.engine.queues.usage import Shares
from ganglion.model.errors import InvariantBroken
from ganglion.model.queue import ANY_FLAVOR, Queue, cap_of
from ganglion.model.resources import Usage
from ganglion.model.workload import Gang

Charged = tuple[tuple[str, Usage], ...]
"""What is charged to a queue, by flavor."""


class Queues:
    """The queues with their use.

    Invariant: a queue uses the sum of what the gangs in it and below it are charged.

    Args:
        half_life_ms: of past use; 0 = past use does not count.

    Attributes:
        shares: the queue tree with usage.
        past: decayed use of queues and users.
        budgets: what queues may spend.
    """

    def __init__(self, half_life_ms: int) -> None:
        self.shares = Shares()
        self.past = PastUse(half_life_ms)
        self.budgets = QueueBudgets()

    @property
    def by_name(self) -> dict[str, Queue]:
        """All queues by name."""
        return self.shares.queues

    def payers(self, gang: Gang) -> tuple[str, ...]:
        """Whose budgets the cost of a gang counts against: its queue, all above it, its cap."""
        path = self.shares.tree.path(gang.queue)
        return (*path, cap_of(gang.cap)) if gang.cap else path

    def charge(self, gang: Gang, charged: Charged, sign: int) -> None:
        """Add what a gang uses to its queue, or take it back."""
        for flavor, usage in charged:
            self.shares.charge(gang.queue, flavor, usage, gang.preemptible, sign, gang.user)

    def remember(self, gang: Gang, charged: Charged, sign: int, now: int) -> None:
        """Past use of queue and user goes on from `now`, in ms, with more or less."""
        if self.past.half_life_ms:
            milli = sum(usage.gpu_milli for _, usage in charged)
            self.past.charge(self.shares.path(gang.queue), gang.user, milli, sign, now)

    def rebuild(self) -> None:
        """Make the tree of queues anew, without any use."""
        known = self.shares.tree
        self.budgets.forget_held()
        self.shares = Shares()
        for name in sorted(known.queues, key=known.order.__getitem__):
            self.shares.put(known.queues[name])

    def check(self, charges: Iterable[tuple[Gang, Charged]]) -> None:
        """Check the invariant. Raises InvariantBroken.

        Args:
            charges: gangs with what they are charged.
        """
        self.budgets.check()
        expected: dict[tuple[str, str], Usage] = {}
        for gang, charged in charges:
            for flavor, usage in charged:
                for name in self.shares.path(gang.queue):
                    for key in (flavor, ANY_FLAVOR):
                        expected[name, key] = expected.get((name, key), NOTHING).plus(usage)
        for name, by_flavor in self.shares.usage.items():
            for flavor, usage in by_flavor.items():
                if usage != expected.pop((name, flavor), NOTHING):
                    raise InvariantBroken(f"queue {name} miscounts its usage of {flavor}")
        missing = sorted(key for key, usage in expected.items() if usage != NOTHING)
        if missing:
            raise InvariantBroken(f"usage is missing in queues {missing}")
