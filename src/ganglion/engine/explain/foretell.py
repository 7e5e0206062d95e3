"""What would become of a gang that is not submitted: where, when, and at whose cost it starts."""

from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ganglion.engine.explain.blockers import holders_of
from ganglion.engine.explain.displaced import displaced_by
from ganglion.engine.explain.explain import present_reason, start_of
from ganglion.engine.explain.rehearsal import Rehearsals, Rehearsed
from ganglion.engine.explain.suggest import sketch, suggestions, try_out
from ganglion.engine.forecast import start_estimates
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.ordering.attempt import seek
from ganglion.engine.ordering.order import goes_first
from ganglion.engine.placement.held import with_held
from ganglion.engine.preemption.trade import Decided, carried_out
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import GangReserved
from ganglion.model.placement import Placement
from ganglion.model.plan import Verdict
from ganglion.model.reasons import Band, Displaced, Reason, StartUnknown
from ganglion.model.workload import Gang

PART = 3
"""Part of the work for one explanation that may be done to find out when a gang starts: no more
than 20,000 known gangs are copied for it."""

UNTIL = "until"
"""Evidence of a reason: the time in ms of the checkpoint that the gang waits for."""


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
    if tried:
        after = tried.state
        after.fleet.tree.settle()
        after.deserved.refresh(tried.at)
        reason = present_reason(after, after.gangs.record(gang.id), tried.at)
        return Foretold(reason=reason, tried=tried)
    outcome = try_out(state, now, gang)
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
    return _waits(state, gang, now, found, verdict)


def _waits(
    state: ClusterState, gang: Gang, now: int, found: Foretold, verdict: Verdict
) -> Prospect:
    """When a gang starts that waits for room, and whom it takes over from."""
    reason, record = found.reason, sketch(state, gang)
    until = reason.evidence.get(UNTIL, 0) if reason else 0
    if not (found.tried or until) and (plain := _plainly(state, record, reason, now)):
        return _awaited(verdict, *plain)
    tried = found.tried or _submitted(state, gang, now)
    if tried is None:
        return Prospect(verdict, unknown=StartUnknown.LARGE)
    after = tried.state
    after.fleet.tree.settle()
    after.deserved.refresh(tried.at)
    told = _awaited(verdict, start_of(after, after.gangs.record(gang.id), tried.at))
    given = Rehearsals(state, now, PART).later(tried, gang.id, until) if until else None
    if given is None:
        return told
    displaced = tuple(displaced_by(state, given.yields, until))
    return replace(told, displaced=displaced, takeover_ms=until)


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


def _plainly(
    state: ClusterState, record: GangRecord, reason: Reason | None, now: int
) -> tuple[start_estimates.Band | None] | None:
    """When a gang starts that waits and changes nothing else by that; None = it may change more.

    Nothing is copied for it, which is what takes most of the time else.
    """
    gang = record.gang
    if reason is None or not state.gangs.is_plain(gang):
        return None
    record.waits_since, record.turn_ms = now, state.forecast.backlog.turn_ms(gang, now)
    with state.gangs.as_if_waiting(record), state.agenda.effort.apart():
        state.deserved.refresh(now)
        changes = next(iter(state.timeline.future.plan(record, reason, now)), None)
        found = None if changes else (start_of(state, record, now),)
    state.deserved.refresh(now)
    return found


def _awaited(verdict: Verdict, band: start_estimates.Band | None) -> Prospect:
    """When a gang that waits starts, as `why` says it."""
    if band is None:
        return Prospect(verdict, unknown=StartUnknown.BLOCKED)
    if band.known:
        return Prospect(verdict, start=Band(band.p50_ms, band.p90_ms), guesses=band.guesses)
    unknown = StartUnknown.GUESSES if band.guesses else StartUnknown.NO_END
    return Prospect(verdict, unknown=unknown, guesses=band.guesses)


def _held(state: ClusterState, gang: Gang, placement: Placement) -> Placement:
    rate = state.config.policy.fetch_per_second_mib
    return with_held(state.fleet.tree, gang, placement, rate)
