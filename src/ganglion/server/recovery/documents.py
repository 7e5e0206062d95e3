"""Values as documents that later versions read, as they read old events.

A document is JSON. Whatever JSON has no form for is an object with one key that names its kind:
`{"tuple": [...]}`, `{"map": [[key, value], ...]}`, `{"Gang": {...}}`. Names of kinds are on the
lists below, and only what is on them is ever made.

To change a class that is on a list: a new field needs a default, or a place in `UPGRADES`; what
is removed is passed over; a field with another name keeps its old one here by
`field(name=...)`; a class that moves keeps its name here; a class that goes, or means
something else, gets an entry in `UPGRADES` that turns its old fields into new ones. The files
beside `tests/server/recovery/test_checkpoints.py` show that documents of earlier versions are read.
"""

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from math import isfinite
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Struct

from ganglion.engine.gangs import gates
from ganglion.engine.gangs.typical_pods import Census
from ganglion.engine.runtimes import estimates, expected_ends
from ganglion.engine.timesharing import service_levels
from ganglion.ledger.records import Flaw
from ganglion.lifecycle import budget_requests, budgets, cluster_gangs, clusters, losses
from ganglion.lifecycle.failures import comparison, guard, history, nodes, quarantine, stragglers
from ganglion.lifecycle.past import changes, cluster_reclaims, life
from ganglion.lifecycle.sweeps import elastic_width, halving, reconciler
from ganglion.lifecycle.waiting import delivered, sums
from ganglion.lifecycle.workspaces import idle_state as wards
from ganglion.lifecycle.workspaces import rule
from ganglion.metering import activity, attempts, lending, meter, supply
from ganglion.metering import clusters as cluster_meters
from ganglion.model import (
    behaviour,
    causes,
    events,
    kinds,
    placement,
    plan,
    policy,
    queue,
    reasons,
    resources,
    workload,
)
from ganglion.model.causes.former import cause_of, cordon_of, upgraded
from ganglion.model.events import access
from ganglion.model.fleet import booking, node, price
from ganglion.pricing import book
from ganglion.server.state import registry, replicas, rights, schedules, spending

Fields = dict[str, Any]

MODEL: tuple[ModuleType, ...] = (
    *(behaviour, booking, causes, events, access, kinds, node),
    *(placement, plan, policy, price, queue, reasons, resources, workload),
)
"""Modules and packages whose frozen structs and enumerations documents hold as events do."""

KINDS: Mapping[str, type] = {
    "activity": activity.ActivityInterval,
    "budget_request": budget_requests.BudgetRequest,
    "budget_requests": budget_requests.BudgetRequests,
    "census": Census,
    "clusters": clusters.ClusterBooks,
    "cluster_budgets": budgets.ClusterBudgets,
    "cluster_budget_carried": budgets.CarriedOver,
    "cluster_budget_raised": budgets.RaisedBy,
    "cluster_book": clusters.ClusterBook,
    "cluster_gang": cluster_gangs.DeliveredGang,
    "cluster_reclaim": cluster_reclaims.ClusterReclaim,
    "cluster_reclaims": cluster_reclaims.ClusterReclaims,
    "cluster_wait": delivered.DeliveredWait,
    "cluster_waits": delivered.ClusterWaits,
    "cluster_meter": cluster_meters.ClusterMeter,
    "cluster_meters": cluster_meters.ClusterMeters,
    "comparison": comparison.Comparison,
    "comparison_conduct": comparison.Conduct,
    "comparison_program": comparison.Program,
    "comparison_streak": comparison.Streak,
    "estimate_source": estimates.EstimateSource,
    "ends": history.FailureHistory,
    "flaw": Flaw,
    "gates": gates.Gates,
    "gates_tally": gates.GangCounts,
    "guard": guard.FleetGuard,
    "lending": lending.LendingMeter,
    "lending_level": lending.LendingLevel,
    "lending_side": lending.LendingSide,
    "lending_terms": lending.QueueTerms,
    "lent": lending.LentInterval,
    "life": life.GangLife,
    "life_asked": changes.AskedFor,
    "life_change": changes.GangChange,
    "life_kind": life.LifeKind,
    "life_mark": life.LifeMark,
    "levels": service_levels.Levels,
    "local_user": rights.LocalUser,
    "meter": meter.Meter,
    "metered_attempt": attempts.MeteredAttempt,
    "metered_node": supply.MeteredNode,
    "metered_share": attempts.NodeShare,
    "metered_usage": attempts.OpenUsage,
    "prices": book.PriceBook,
    "quarantine": quarantine.Quarantine,
    "replicas": replicas.Replicas,
    "replicas_past": replicas.Past,
    "rights": rights.AccessRights,
    "schedule": schedules.StandingSchedule,
    "schedules": schedules.Schedules,
    "span": losses.AttemptSpan,
    "spending": spending.Spending,
    "spent": spending.Spent,
    "stragglers": stragglers.Stragglers,
    "stragglers_pace": stragglers.AttemptPace,
    "submitted": registry.LiveWorkload,
    "sweep": reconciler.Sweep,
    "sweep_breath": elastic_width.ElasticWidth,
    "sweep_ladder": halving.Ladder,
    "sweep_rung": halving.Rung,
    "times": expected_ends.Times,
    "trail": registry.Trail,
    "wait_clock": sums.WaitClock,
    "wait_sum": sums.WaitSum,
    "ward": wards.Ward,
    "ward_tally": wards.IdleTally,
    "ward_warned": rule.Warned,
    "wards": wards.Wards,
    "watch": nodes.Watch,
}
"""Other classes by their names in documents. A name is never given to another class."""

BARE = frozenset({"comparison", "quarantine", "watch"})
"""Those of them that cannot be made without arguments, so that a new field has no default."""


def _sweep(fields: Fields) -> Fields:
    """Before format 2, why trials are to be stopped was a sentence."""
    return fields | {"given_up": _causes(fields["given_up"])}


def _causes(said: Mapping[str, Any]) -> Fields:
    return {name: cause_of(each) if isinstance(each, str) else each for name, each in said.items()}


def _guard(fields: Fields) -> Fields:
    """In early ledgers only the reason of a cordon says on whose account a node is cordoned."""
    kinds = {
        name: cordon_of(each) if type(each) is str else each
        for name, each in fields["_cordons"].items()
    }
    return fields | {"_cordons": kinds}


UPGRADES: Mapping[str, Callable[[Fields], Fields]] = {"sweep": _sweep, "guard": _guard}
"""Name of a kind -> the fields that it has now, out of those of any earlier version."""


UNFIT = (msgspec.MsgspecError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading something else than a document may raise."""


class Unreadable(ValueError):
    """A document with something in it that this version does not know."""


def document(value: object) -> bytes:
    """Turn a value into a document.

    Raises:
        TypeError: some part of it is of a class that is on no list.
    """
    return msgspec.json.encode(_plain(value))


def value_of(body: bytes) -> Any:  # noqa: ANN401 - whatever it was
    """Turn a document into a value again.

    Raises:
        Unreadable: it is none, or names something that is on no list.
    """
    try:
        return _made(msgspec.json.decode(body))
    except UNFIT as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error


def _of_model() -> dict[str, type]:
    return {
        name: found
        for module in MODEL
        for name, found in vars(module).items()
        if isinstance(found, type)
        and f"{found.__module__}.".startswith(f"{module.__name__}.")
        and issubclass(found, Struct | Enum)
    }


_MODEL = _of_model()
_NAMES = {kind: name for name, kind in (*_MODEL.items(), *KINDS.items())}
_ATOMS = (bool, int, str, float, type(None))


def _plain(value: Any) -> Any:  # noqa: ANN401, PLR0911 - one line for each sort of value
    kind = type(value)
    if kind is float and not isfinite(value):
        return {"float": str(value)}
    if kind is bytes:
        return {"bytes": b64encode(value).decode()}
    if kind in _ATOMS:
        return value
    if kind is list:
        return [_plain(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(each) for each in value]}
    if isinstance(value, dict):
        if all(type(key) is str for key in value):
            return {"table": {key: _plain(each) for key, each in value.items()}}
        return {"map": [[_plain(key), _plain(each)] for key, each in value.items()]}
    if kind in (set, frozenset):
        return {kind.__name__: [_plain(each) for each in sorted(value)]}
    if kind is deque:
        return {"deque": [value.maxlen, [_plain(each) for each in value]]}
    if isinstance(value, Enum):
        return {_named(kind): value.value}
    name = _named(kind)
    if name in _MODEL:
        return {name: msgspec.Raw(msgspec.json.encode(value))}
    return {name: {key: _plain(each) for key, each in _fields(value).items()}}


def _named(kind: type) -> str:
    name = _NAMES.get(kind)
    if name is None:
        raise TypeError(f"{kind.__module__}.{kind.__name__} is on no list of documents")
    return name


def _fields(value: Any) -> Fields:  # noqa: ANN401 - of a known class
    if isinstance(value, Struct):
        return {name: getattr(value, own) for own, name in _field_names(type(value))}
    return dict(vars(value))


def _field_names(kind: type[Struct]) -> Iterator[tuple[str, str]]:
    """Each field of a class, and its name in documents."""
    return zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)


def _made(plain: Any) -> Any:  # noqa: ANN401 - the reverse of `_plain`
    if isinstance(plain, list):
        return [_made(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    ((name, held),) = plain.items()
    if name in _MAKERS:
        return _MAKERS[name](held)
    if name in _MODEL:
        return msgspec.convert(upgraded(held), _MODEL[name], str_keys=True)
    if issubclass(KINDS[name], Enum):
        return KINDS[name](held)
    return _object(name, {key: _made(each) for key, each in held.items()})


def _object(name: str, known: Fields) -> object:
    """An object of a class by its fields; those that the class has no more are passed over."""
    kind, known = KINDS[name], UPGRADES.get(name, dict)(known)
    if issubclass(kind, Struct):
        own = {each: known[name] for each, name in _field_names(kind) if name in known}
        return kind(**own)
    made: object = object.__new__(kind) if name in BARE else kind()
    vars(made).update(known)
    return made


def _pairs(held: list[list[Any]]) -> dict[Any, Any]:
    return {_made(key): _made(each) for key, each in held}


_MAKERS: Mapping[str, Callable[[Any], Any]] = {
    "bytes": b64decode,
    "float": float,
    "tuple": lambda held: tuple(map(_made, held)),
    "table": lambda held: {key: _made(each) for key, each in held.items()},
    "map": _pairs,
    "set": lambda held: set(map(_made, held)),
    "frozenset": lambda held: frozenset(map(_made, held)),
    "deque": lambda held: deque(map(_made, held[1]), held[0]),
}
