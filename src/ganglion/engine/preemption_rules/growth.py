"""Whether a trade would make a queue grow beyond what it deserves.

A gang that does that, at the expense of its own queue's lower classes or in another flavor than
the one it has a claim to, is preempted at once by the others, which then give way in turn, and
so on for ever.
"""

from collections.abc import Iterable

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.preemption_rules.fair_reclaim import Shortfall, milli_of
from ganglion.engine.queues.limits import Passed
from ganglion.engine.store.entitlement import KINDS, Entitled
from ganglion.engine.store.store import Store
from ganglion.engine.store.victims import VictimUnit
from ganglion.model.causes import CauseKind
from ganglion.model.policy import Entitlement
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.reasons import Reason, Token
from ganglion.model.resources import Usage

BY_RIGHT = (
    CauseKind.PREEMPTED,
    CauseKind.RECLAIMED,
    CauseKind.SHARED,
    CauseKind.RECLAIMED_BORROWING,
)
"""Causes that give no gang more than its queue deserves."""

Use = dict[tuple[str, str, str], int]
"""(queue, account, kind of resource) -> what it uses."""


class Growth:
    """Compares what queues use after a trade with before.

    Args:
        state: the queues and what they use.
    """

    def __init__(self, state: Store) -> None:
        self._state = state
        self._entitled = Entitled(state)
        self._rounds = state.config.policy.entitlement is Entitlement.SHARE

    def use_of(self, asker: GangRecord) -> Use:
        """What the asker's queue and all above it use now."""
        used, accounts = self._entitled.used, self._entitled.all_accounts()
        return {
            (name, account, kind): used(name, account, kind)
            for name in self._state.queues.shares.path(asker.gang.queue)
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
            most = 2 * bound - was if self._rounds and kind == "gpu_milli" else bound
            short = self._entitled.used(name, account, kind) + asks - max(was, bound, most)
            if short > 0:
                reason = Reason(Token.QUOTA, f"queue {name} would use more than it deserves")
                return Passed(name, None, False, account, kind, short, reason)
        return None

    def is_beyond_share(self, asker: GangRecord, before: Use, units: Iterable[VictimUnit]) -> bool:
        """Whether a trade gives these queues more than they deserve, or takes more than it gives.

        From a gang that must not be stopped nothing can be taken back.

        Args:
            asker: a gang that has its place.
            before: what its queues used before the trade.
            units: what was taken and has no other place.
        """
        causes = {unit.cause for unit in units}
        if CauseKind.SHARED in causes and not self._is_fairer(asker, before, units):
            return True
        return asker.gang.preemptible and any(
            now > before[key] and not self._may_have(key, now, before[key] if self._rounds else now)
            for key, now in self.use_of(asker).items()
        )

    def _may_have(self, key: tuple[str, str, str], now: int, before: int) -> bool:
        """Whether a queue may use `now`: its share to the nearest, or what no other asks for."""
        bound = self._entitled.share(*key)
        if bound is None or now <= bound:
            return True
        queue, account, kind = key
        if kind != "gpu_milli":
            return False
        return now + before <= 2 * bound or now <= self._left_by_others(queue, account)

    def _left_by_others(self, queue: str, account: str) -> int:
        """What the queues beside the path of a queue neither deserve nor hold."""
        state, deserved = self._state, self._state.deserved
        room = deserved.capacity(account)
        for name in state.queues.shares.path(queue)[::-1]:
            beside = state.queues.shares.tree.children[state.queues.by_name[name].parent]
            room -= sum(
                max(deserved.milli(each, account), self._entitled.used(each, account, "gpu_milli"))
                for each in beside
                if each != name
            )
        return room

    def _is_fairer(self, asker: GangRecord, before: Use, units: Iterable[VictimUnit]) -> bool:
        """Whether use is closer to the shares than before the trade."""
        state, shortfall, fell = self._state, Shortfall(self._state), 0
        for account in self._entitled.all_accounts():
            changes: dict[str, int] = {}
            for unit in units:
                for name in state.queues.shares.path(unit.record.gang.queue):
                    changes[name] = changes.get(name, 0) + milli_of(state, unit, account)
            for name in state.queues.shares.path(asker.gang.queue):
                key = (name, account, "gpu_milli")
                changes[name] = before[key] - self._entitled.used(*key)
            fell += shortfall.of(changes, account) - shortfall.of(
                dict.fromkeys(changes, 0), account
            )
        return fell > 0
