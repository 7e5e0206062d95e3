"""Why something was decided: causes are data, and `sentence` alone turns one into words."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class CauseKind(StrEnum):
    """What kind of cause it is; the values are stable codes."""

    PREEMPTED = "preempted"
    """For a gang of higher priority in the same queue."""
    RECLAIMED = "reclaimed"
    """The queue used more than it is entitled to."""
    RECLAIMED_BORROWING = "reclaimed_borrowing"
    """The same, for a queue that goes beyond its own quota."""
    SHARED = "shared"
    """The queue's share was larger than that of the queue it yields to."""
    MOVED = "moved"
    """The gang goes on elsewhere at once."""
    RECALLED = "recalled"
    """The gang was on a place that is kept for a gang that woke."""
    CLEARED = "cleared"
    """The gang was spare: it used what no other gang waited for."""
    YIELDED = "yielded"
    """The gang had its turn; an equal that ran less goes on."""
    MOVED_FOR_BOOKING = "moved_for_booking"
    EMPTIED = "emptied"
    DEVICES_GONE = "devices_gone"
    PODS_LOST = "pods_lost"
    REPAIRED = "repaired"
    FEWER_WANTED = "fewer_wanted"
    GROWN = "grown"
    PODS_ENDED = "pods_ended"
    NODES_CLOSED = "nodes_closed"
    START_FAILED = "start_failed"
    HIGHER_PRIORITY = "higher_priority"
    PLACE_GONE = "place_gone"
    PLACE_LATE = "place_late"
    BEYOND_MEANS = "beyond_means"
    NODES_BOOKED = "nodes_booked"
    OTHER_TERMS = "other_terms"
    BLOCKED = "blocked"
    """What the gang waits for is not room; `text` is the message of its reason."""
    ESCALATED = "escalated"
    CANCELLED = "cancelled"
    RELEASED = "released"
    """A replica that its service needs no more; `because` says why."""
    GIVEN_UP = "given_up"
    """A trial that better ones have overtaken."""
    SUSPENDED = "suspended"
    ASLEEP = "asleep"
    """A replica of a service without requests."""
    IDLE = "idle"
    """A workspace that is not used; `text` is what was found."""
    BUDGET_SPENT = "budget_spent"
    """The budget of queue `name` is spent; the gang starts again once it allows that."""
    RESUMED = "resumed"
    ADDRESS_OPENED = "address_opened"
    OWN_PRIORITY = "own_priority"
    PART_TAKEN = "part_taken"
    WOKEN = "woken"
    SCALED = "scaled"
    LOAD = "load"
    """The load of a service; `text` is what was counted."""
    SCALED_DOWN = "scaled_down"
    FEWER_STAND_BY = "fewer_stand_by"
    MODEL_UPDATED = "model_updated"
    """A service has another model from now on; `text` is that model."""
    POLICY_APPLIED = "policy_applied"
    POLICY_OF_SERVER = "policy_of_server"
    POLICY_ROLLED_BACK = "policy_rolled_back"
    POLICY_BUILT_IN = "policy_built_in"
    OTHER = "other"
    """Known by its `text` alone."""


class CordonKind(StrEnum):
    """On whose account a node takes no new pods; the values are stable codes."""

    PERSON = "person"
    DRAIN = "drain"
    QUARANTINE = "quarantine"
    SPARE = "spare"


class Standing(Struct, frozen=True, omit_defaults=True):
    """How a trial compared with others when it was given up.

    Attributes:
        metric: what was compared.
        value: of the trial; None = no number.
        step: at which they were compared.
        place: of the trial, 1 is the best.
        among: trials that have come so far.
        kept: how many of them go on.
    """

    metric: str
    value: float | None
    step: int
    place: int
    among: int
    kept: int


class Cause(Struct, frozen=True, omit_defaults=True):
    """Why something was decided.

    Attributes:
        kind: decides which of the other fields are set.
        gang: for whose sake.
        user: on whose wish.
        name: of a booking or a node.
        nodes: that are lost or closed.
        devices: that are gone, by node.
        number: the priority or the version that was in force before.
        text: what another component reported. Where the sentence of the kind has no place for
            it, it is the whole sentence, as an earlier version wrote it.
        standing: of a trial that was given up.
        because: the cause behind this one.
    """

    kind: CauseKind
    gang: str = ""
    user: str = ""
    name: str = ""
    nodes: tuple[str, ...] = ()
    devices: tuple[tuple[str, tuple[int, ...]], ...] = ()
    number: int | None = None
    text: str = ""
    standing: Standing | None = None
    because: "Cause | None" = None

    def __str__(self) -> str:
        """Print the sentence."""
        return sentence(self)


_K = CauseKind
CANCELS = frozenset({_K.CANCELLED, _K.RELEASED, _K.GIVEN_UP})
"""The gang is not wanted any more."""
SUSPENDS = frozenset({_K.SUSPENDED, _K.ASLEEP, _K.IDLE, _K.BUDGET_SPENT})
"""The gang sleeps until it is resumed, or may start again."""
MOVES = frozenset({_K.MOVED, _K.MOVED_FOR_BOOKING, _K.EMPTIED})
"""The gang goes on elsewhere."""
RECLAIMS = frozenset({_K.RECLAIMED, _K.RECLAIMED_BORROWING, _K.SHARED})
"""Queues take from one another."""

_FOR, _BY = " for {gang}", " by {user}"
WORDS: Mapping[CauseKind, tuple[str, str]] = {
    _K.PREEMPTED: ("preempted", _FOR),
    _K.RECLAIMED: ("reclaimed", _FOR),
    _K.RECLAIMED_BORROWING: ("reclaimed while borrowing", _FOR),
    _K.SHARED: ("shared", _FOR),
    _K.MOVED: ("moved", _FOR),
    _K.RECALLED: ("recalled", _FOR),
    _K.CLEARED: ("cleared", _FOR),
    _K.YIELDED: ("yielded", _FOR),
    _K.MOVED_FOR_BOOKING: ("moved for {name}", " ({text})"),
    _K.EMPTIED: ("moved to empty node {name}", ""),
    _K.DEVICES_GONE: ("lost {devices}: the node came back without what it held", ""),
    _K.PODS_LOST: ("lost {nodes}, and there is no place for those pods alone", ""),
    _K.REPAIRED: ("repaired, as it lost {nodes}", ""),
    _K.FEWER_WANTED: ("fewer pods are wanted", ""),
    _K.GROWN: ("grown into idle GPUs", ""),
    _K.PODS_ENDED: ("pods have ended", ""),
    _K.NODES_CLOSED: ("closed: {nodes}", ""),
    _K.START_FAILED: ("start failed: {text}", ""),
    _K.HIGHER_PRIORITY: ("a higher priority came", ""),
    _K.PLACE_GONE: ("its place is gone", ""),
    _K.PLACE_LATE: ("its place is not free in time", ""),
    _K.BEYOND_MEANS: ("its queue may not have it any more", ""),
    _K.NODES_BOOKED: ("its nodes are booked", ""),
    _K.OTHER_TERMS: ("it sleeps on other terms", ""),
    _K.BLOCKED: ("{text}", ""),
    _K.ESCALATED: ("escalated from {number}", ""),
    _K.CANCELLED: ("cancelled", _BY),
    _K.RELEASED: ("cancelled: {because}", ""),
    _K.GIVEN_UP: ("stopped early: {standing}", ""),
    _K.SUSPENDED: ("suspended", _BY),
    _K.ASLEEP: ("suspended: it sleeps until there is a request", ""),
    _K.IDLE: ("suspended: {text}", ""),
    _K.BUDGET_SPENT: ("suspended: the budget of queue {name} is spent", ""),
    _K.RESUMED: ("resumed", _BY),
    _K.ADDRESS_OPENED: ("resumed: its address was opened", ""),
    _K.OWN_PRIORITY: ("it has started and has its own priority again", ""),
    _K.PART_TAKEN: ("{gang} takes its part, as it finds no place", ""),
    _K.WOKEN: ("woken", _FOR),
    _K.SCALED: ("scaled", _BY),
    _K.LOAD: ("{text}", ""),
    _K.SCALED_DOWN: ("scaled down", ""),
    _K.FEWER_STAND_BY: ("fewer stand by", ""),
    _K.MODEL_UPDATED: ("updated to {text}", _BY),
    _K.POLICY_APPLIED: ("applied", ""),
    _K.POLICY_OF_SERVER: ("started with the server", ""),
    _K.POLICY_ROLLED_BACK: ("rolled back to {number}", ""),
    _K.POLICY_BUILT_IN: ("built in", ""),
    _K.OTHER: ("{text}", ""),
}
"""How each kind reads: the sentence, and what follows where the field in it is set."""


def cancels(cause: Cause | None) -> bool:
    """Whether a stop for this cause means that the gang is not wanted any more."""
    return cause is not None and cause.kind in CANCELS


def suspends(cause: Cause | None) -> bool:
    """Whether a gang that is held for this cause sleeps until it is resumed."""
    return cause is not None and cause.kind in SUSPENDS


def sentence(cause: Cause | None) -> str:
    """A cause in words; none = empty."""
    if cause is None:
        return ""
    head, tail = WORDS[cause.kind]
    if cause.text and "{text}" not in head + tail:
        return cause.text
    values = {
        "gang": cause.gang,
        "user": cause.user,
        "name": cause.name,
        "nodes": ", ".join(cause.nodes),
        "devices": "; ".join(
            f"GPU {', '.join(map(str, numbers))} of {node}" for node, numbers in cause.devices
        ),
        "number": "" if cause.number is None else str(cause.number),
        "text": cause.text,
        "standing": _compared(cause.standing) if cause.standing else "",
        "because": sentence(cause.because),
    }
    said = any(values[name] for name in values if f"{{{name}}}" in tail)
    return (head + tail if said else head).format(**values)


def _compared(standing: Standing) -> str:
    value = "no number" if standing.value is None else f"{standing.value:g}"
    return (
        f"{standing.metric} {value} at step {standing.step} is place {standing.place} of"
        f" {standing.among} so far, and the best {standing.kept} go on"
    )
