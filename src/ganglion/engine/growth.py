"""Whether a trade would make a queue grow beyond what it deserves.

Whoever does that, at the expense of its own queue's lower classes or in another flavor than the
one it has a claim to, is taken back at once by the others, who then give way in turn, and so on
for ever.
"""

from ganglion.engine.bounds import Passed
from ganglion.engine.entitled import KINDS, Entitled
from ganglion.engine.holdings import Holdings
from ganglion.engine.record import GangRecord
from ganglion.engine.victims import Cause
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.reasons import Reason, Token
from ganglion.model.resources import Usage

BY_RIGHT = (Cause.PREEMPTED, Cause.RECLAIMED, Cause.RECLAIMED_BORROWING)
"""Causes that give nobody more than its queue deserves."""

Use = dict[tuple[str, str, str], int]
"""(queue, account, kind of resource) -> what it uses."""


class Growth:
    """Compares what queues use after a trade with before.

    Args:
        state: the queues and what they use.
    """

    def __init__(self, state: Holdings) -> None:
        self._state = state
        self._entitled = Entitled(state)

    def use_of(self, asker: GangRecord) -> Use:
        """What the asker's queue and all above it use now."""
        used, accounts = self._entitled.used, self._entitled.all_accounts()
        return {
            (name, account, kind): used(name, account, kind)
            for name in self._state.shares.path(asker.gang.queue)
            for account in accounts
            for kind in KINDS
        }

    def beyond(self, asker: GangRecord, before: Use, flavor: str, more: Usage) -> Passed | None:
        """The queue that would use more than before and than it deserves; None = none would.

        Args:
            asker: a gang that is not seated yet.
            before: what its queues used before the trade.
            flavor: flavor that the gang gets, or `*`.
            more: what it asks for.
        """
        if not asker.gang.preemptible:
            return None
        for (name, account, kind), was in before.items():
            asks, bound = getattr(more, kind), self._entitled.share(name, account, kind)
            if account not in (flavor, ANY_FLAVOR) or not asks or bound is None:
                continue
            short = self._entitled.used(name, account, kind) + asks - max(was, bound)
            if short > 0:
                reason = Reason(Token.QUOTA, f"queue {name} would use more than it deserves")
                return Passed(name, None, False, account, kind, short, reason)
        return None

    def is_beyond_share(self, asker: GangRecord, before: Use) -> bool:
        """Whether any of these queues uses more than before, and more than it deserves.

        From a gang that must not be stopped nobody can take anything back.
        """
        return asker.gang.preemptible and any(
            now > before[key] and (bound := self._entitled.share(*key)) is not None and now > bound
            for key, now in self.use_of(asker).items()
        )
