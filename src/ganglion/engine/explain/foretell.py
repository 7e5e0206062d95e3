"""What would become of a gang that is not submitted: where, when, and at whose cost it starts."""

from typing import NamedTuple

from msgspec import Struct

from ganglion.engine.explain.blockers import holders_of
from ganglion.engine.explain.displaced import displaced_by
from ganglion.engine.explain.explain import start_of
from ganglion.engine.explain.rehearsal import Rehearsals, Rehearsed
from ganglion.engine.explain.suggest import sketch, suggestions, try_out
from ganglion.engine.ordering.attempt import seek
from ganglion.engine.ordering.order import goes_first
from ganglion.engine.placement.held import with_held
from ganglion.engine.preemption.trade import Decided, carried_out
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import GangReserved
from ganglion.model.placement import Placement
from ganglion.model.plan import Verdict
from ganglion.model.reasons import Band, Displaced, Reason, StartUnknown, Token
from ganglion.model.workload import Gang

PART = 3
"""Part of the work for one explanation that may be done to find out when a gang starts: no more
than 20,000 known gangs are copied for it."""

UNTIL = "until"
"""Evidence of a reason: the time in ms of the checkpoint that the gang waits for."""

_BEHIND = Reason(Token.ORDER, "others go first and leave no room for it")


class Foretold(NamedTuple):
    """What would become of a gang in the next cycles.

    Attributes:
        placement: where it would start; None = it would wait.
        yields: what is decided about others for it.
        reason: why it would wait.
        blocked: whether what it waits for is not room.
        tried: the cycles that were tried to find out; None = that was not needed, or too much.
    """

    placement: Placement | None = None
    yields: tuple[Decided, ...] = ()
    reason: Reason | None = None
    blocked: bool = False
    tried: Rehearsed | None = None

    @property
    def verdict(self) -> Verdict:
        """The same, as far as it makes a plan."""
        stops = tuple(dict.fromkeys(each.gang for each in self.yields))
        return Verdict(self.placement, self.reason, (), stops)


class Prospect(Struct, frozen=True):
    """What would become of a gang, and of others by it.

    Attributes:
        verdict: where it would start, or why it would wait and what would help.
        displaced: gangs that would yield to it: at once, or when it takes over.
        takeover_ms: when it would start in the place of others once they have saved their work, if
            nothing else happens until then; 0 = it does not wait for that.
        start: when it is expected to start, for one that would wait; None = unknown.
        unknown: why that is unknown; None = it is known, or it would start at once.
        guesses: ids of gangs, the first few, that the start hangs on and that have neither a
            time limit nor finished runs like them.
    """

    verdict: Verdict
    displaced: tuple[Displaced, ...] = ()
    takeover_ms: int = 0
    start: Band | None = None
    unknown: StartUnknown | None = None
    guesses: tuple[str, ...] = ()


def fate(state: ClusterState, gang: Gang, now: int) -> Foretold:
    """What the next cycles would do with a gang that is submitted now.

    Args:
        state: left as it is.
        gang: not submitted.
        now: the time in ms.
    """
    state.fleet.tree.settle()
    state.deserved.refresh(now)
    state.queues.shares.path(gang.queue)
    gate = state.gangs.gates.reason(gang, 0)
    if gate:
        return Foretold(reason=gate, blocked=True)
    tried = None if goes_first(state, gang, now) else _submitted(state, gang, now)
    if tried and tried.given:
        place = _held(state, gang, tried.given.placement)
        return Foretold(place, tried.given.yields, tried=tried)
    outcome = try_out(state, now, gang)
    if tried:
        reason = outcome.reason or tried.state.gangs.reason(gang.id) or _BEHIND
        return Foretold(reason=reason, tried=tried)
    if outcome.placement is None:
        return Foretold(reason=outcome.reason)
    record, trade = sketch(state, gang), outcome.trade
    decided = carried_out(record, trade, now) if trade else ()
    yields = tuple(e for e in decided if not isinstance(e, GangReserved) or e.placement is None)
    return Foretold(_held(state, gang, outcome.placement), yields)


def foretell(state: ClusterState, gang: Gang, now: int) -> Prospect:
    """The same, with what it costs others, when it would start and what would help.

    Args:
        state: left as it is.
        gang: not submitted.
        now: the time in ms.
    """
    found = fate(state, gang, now)
    if found.placement:
        return Prospect(found.verdict, tuple(displaced_by(state, found.yields, now)))
    reason = found.reason
    if found.blocked:
        return Prospect(found.verdict, unknown=StartUnknown.BLOCKED)
    never = reason is None or reason.never
    record = sketch(state, gang)
    holders = () if never else holders_of(state, record, now)
    helps = suggestions(state, gang, now, reason, holders)
    verdict = Verdict(reason=reason, suggestions=helps)
    if never:
        return Prospect(verdict, unknown=StartUnknown.NEVER)
    tried = found.tried or _submitted(state, gang, now)
    if tried is None:
        return Prospect(verdict, unknown=StartUnknown.LARGE)
    return _awaited(state, gang, verdict, tried)


def impossible(state: ClusterState, gang: Gang, now: int) -> Verdict | None:
    """Why a gang that is not submitted could never start; None = it could. Cheap if it could."""
    state.fleet.tree.settle()
    state.queues.shares.path(gang.queue)
    reason, _ = seek(state, sketch(state, gang), now)
    if reason is None or not reason.never:
        return None
    return Verdict(reason=reason, suggestions=suggestions(state, gang, now, reason))


def _submitted(state: ClusterState, gang: Gang, now: int) -> Rehearsed | None:
    return Rehearsals(state, now, PART).submitted(gang)


def _awaited(state: ClusterState, gang: Gang, verdict: Verdict, tried: Rehearsed) -> Prospect:
    """When a gang starts that waits after the cycles that were tried, as `why` says it then."""
    after, record = tried.state, tried.state.gangs.record(gang.id)
    after.fleet.tree.settle()
    after.deserved.refresh(tried.at)
    band = start_of(after, record, tried.at)
    start = Band(band.p50_ms, band.p90_ms) if band and band.known else None
    unknown, guesses = None, band.guesses if band else ()
    if start is None:
        unknown = StartUnknown.GUESSES if guesses else StartUnknown.NO_END
        unknown = unknown if band else StartUnknown.BLOCKED
    displaced: tuple[Displaced, ...] = ()
    at = verdict.reason.evidence.get(UNTIL, 0) if verdict.reason else 0
    if at:
        given = Rehearsals(state, tried.at, PART).later(tried, gang.id, at)
        at = at if given else 0
        displaced = tuple(displaced_by(state, given.yields, at)) if given else ()
    return Prospect(verdict, displaced, at, start, unknown, guesses)


def _held(state: ClusterState, gang: Gang, placement: Placement) -> Placement:
    rate = state.config.policy.fetch_per_second_mib
    return with_held(state.fleet.tree, gang, placement, rate)
