"""Whether a trade would make a queue grow beyond what it deserves.

Whoever does that, at the expense of its own queue's lower classes or in another flavor than the
one it has a claim to, is taken back at once by the others, who then give way in turn, and so on
for ever.
"""

from ganglion.engine.entitled import KINDS, Entitled
from ganglion.engine.holdings import Holdings
from ganglion.engine.record import GangRecord
from ganglion.engine.victims import Cause

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

    def is_beyond_share(self, asker: GangRecord, before: Use) -> bool:
        """Whether any of these queues uses more than before, and more than it deserves.

        From a gang that must not be stopped nobody can take anything back.
        """
        return asker.gang.preemptible and any(
            now > before[key] and (bound := self._entitled.share(*key)) is not None and now > bound
            for key, now in self.use_of(asker).items()
        )
