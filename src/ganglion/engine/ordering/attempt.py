"""Everything the cycle would try for one gang: a place, or a trade, or the reason to wait."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.kueue.cycle import SIDE_BY_SIDE, look
from ganglion.engine.preemption.consolidate import Mover
from ganglion.engine.preemption.preempt import Trader
from ganglion.engine.preemption.trade import PreemptionPlan, is_clear
from ganglion.engine.preemption_rules.rules import rules
from ganglion.engine.search.find import Found, find
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.placement import Placement
from ganglion.model.plan import Start
from ganglion.model.reasons import Reason, Token

ABOUT_ROOM = (Token.CAPACITY, Token.TOPOLOGY)
"""Reasons that stopping others might do away with."""


class TrialOutcome(NamedTuple):
    """What would become of a gang.

    Attributes:
        placement: where it would start; None = nowhere now.
        trade: what would have to happen first; None = nothing.
        reason: why it would wait.
    """

    placement: Placement | None
    trade: PreemptionPlan | None = None
    reason: Reason | None = None


def seek(state: ClusterState, record: GangRecord, now: int, known: Reason | None = None) -> Found:
    """A place that neither quota nor reservations forbid, or the reason against any.

    Args:
        state: left as it is.
        record: the gang; it need not be one of the state's own.
        now: the time in ms.
        known: an earlier reason to repeat when there still is no place; None = find out anew.
    """
    if state.config.policy.entitlement in SIDE_BY_SIDE:
        head = look(state, record, now, trades=False)
        return head.reason, head.placement
    found = find(state, record, now, known)
    return state.timeline.future.settle(
        record, now, found, lambda: find(state, record, now, found[0])
    )


class PlacementAttempt:
    """Makes room for gangs that found no place: others are moved if that is enough, else stopped.

    Args:
        state: left as it is by every call.
        now: the time in ms.
    """

    def __init__(self, state: ClusterState, now: int) -> None:
        self._state, self._now = state, now
        self._spares: bool | None = None
        self._mover = Mover(state, now, seek)
        self._rules = rules()
        self._trader = Trader(state, self._rules, now)

    def is_undecided(self, record: GangRecord, starts: Sequence[Start]) -> bool:
        """Whether more may be possible for the last gang once what starts now has started.

        Args:
            record: the last gang dealt with.
            starts: all starts of the cycle so far.
        """
        return self._mover.undecided or self._trader.is_undecided(record, starts)

    def proven(self, reason: Reason) -> Reason:
        """The reason of the last gang, with the proof that stopping others would not help it."""
        until = self._trader.wait_until
        if until:
            told = f"{reason.message}; it takes over at the next checkpoint of those in its way"
            return replace(reason, message=told, evidence=reason.evidence | {"until": until})
        proof = self._trader.refusal
        if proof is None or reason.token not in ABOUT_ROOM or not proof.evidence:
            return reason
        if not proof.evidence.get("takeable_milli") or "takeable_milli" in reason.evidence:
            return reason
        return replace(
            reason,
            message=f"{reason.message}; {proof.message}",
            evidence=reason.evidence | proof.evidence,
        )

    @property
    def wait_until(self) -> int | None:
        """When the last gang's trade will be cheaper, in ms; None = no such time."""
        return self._trader.wait_until

    def next_ripe(self, record: GangRecord) -> int | None:
        """When a gang has run long enough to be stopped for this one, in ms; None = unknown."""
        state = self._state
        return (
            self._rules.next_ripe(state, record, self._now)
            if state.config.policy.evict.enabled
            else None
        )

    def deal(self, record: GangRecord, reason: Reason | None) -> PreemptionPlan | None:
        """The trade that would let a gang start; None when there is none.

        Args:
            record: the gang.
            reason: why it found no place.
        """
        if reason is None:
            return self._trader.trade(record)
        if reason.token is Token.BUDGET:
            return None  # to stop others gives no money back
        early = self._trader.trade(record) if self._clearable() else None
        if early and is_clear(early):
            return early
        moved = self._mover.room(record, reason)
        found = moved or early or self._trader.trade(record)
        if self._trader.wait_until:
            return None
        if found or self._trader.refusal:
            return found
        offered = self._trader.just_offered(record)
        return self._mover.room_with(record, reason, self._rules, offered)

    def _clearable(self) -> bool:
        """Whether any spare gang runs: it leaves before others are moved."""
        if self._spares is None:
            self._spares = any(each.gang.spare for each in self._state.holdings.settled())
        return self._spares


def resolve(state: ClusterState, record: GangRecord, now: int) -> TrialOutcome:
    """What the next cycle would do with a gang if it were its turn; the state is left as it is."""
    if state.config.policy.entitlement in SIDE_BY_SIDE:
        head = look(state, record, now)
        place = head.trade.placement if head.trade else head.placement
        return TrialOutcome(place, head.trade, head.reason)
    reason, placement = seek(state, record, now)
    if placement:
        return TrialOutcome(placement)
    dealer = PlacementAttempt(state, now)
    with state.agenda.effort.apart():
        trade = dealer.deal(record, reason)
    if trade:
        return TrialOutcome(trade.placement, trade)
    return TrialOutcome(None, None, reason and dealer.proven(reason))
