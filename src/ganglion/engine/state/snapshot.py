"""What a state consists of, without what follows from it, as plain values; and a state of these.

Values are made of the model's structs, records of gangs, learnt histories, and tuples, lists and
tables of them. No part refers to another: gangs are named by their ids. What follows (the tree,
lanes, indexes, what queues use) is made anew by `ClusterState.rebuild`, with the plugins that
are in force then.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from msgspec.structs import fields

from ganglion.engine.forecast.backlog import Backlog
from ganglion.engine.forecast.start_estimates import SCORED, StartEstimates, Told
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.queues.decayed_usage import PastUse, Sum
from ganglion.engine.runtimes.calibration import Ratios
from ganglion.engine.runtimes.estimates import Estimates
from ganglion.engine.runtimes.history import History
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.queue_rules import shapes_for
from ganglion.engine.timeline.reservation import Reservation
from ganglion.engine.timesharing.time_sharers import SharingPool, TimeSharers
from ganglion.model.events import StartExpected
from ganglion.model.policy import Policy

Parts = dict[str, Any]
"""Values by the name of the part."""

_COUNTERS = ("freed", "vetoes", "turn", "submissions", "clock")
_LISTS = ("asleep", "short", "oversized", "stranded")
_FOLLOWS = frozenset({"shapes", "lane"})
_RECORD: Mapping[str, Any] = {
    each.name: each.default for each in fields(GangRecord) if each.name not in _FOLLOWS
}


def saved(state: ClusterState) -> Parts:
    """Take the values out of a state, which stays as it is; they are not copied."""
    tree, queues = state.tree, state.shares.tree
    by_age = sorted(queues.order, key=queues.order.__getitem__)
    return {
        "policy": state.policy,
        "counters": {name: getattr(state, name) for name in _COUNTERS},
        "nodes": list(tree.described().values()),
        "gone": sorted(tree.gone() & tree.described().keys()),
        "queues": [queues.queues[name] for name in by_age],
        "typical": state.table.typical,
        "gangs": [_changed(record) for record in state.records.values()],
        "holding": list(state.occupants.records),
        "promised": list(state.promised),
        "fresh": list(state.fresh),
        "lists": {name: list(getattr(state, name)) for name in _LISTS},
        "reservations": [_reservation(each) for each in state.future.reservations()],
        "kept": [(each.record.gang.id, each.placement) for each in state.kept],
        "bookings": state.bookings.all(),
        "gates": state.gates,
        "census": state.census,
        "alarms": state.alarms(),
        "estimates": _histories(state.estimates),
        "past": _past(state.past),
        "bands": _bands(state.bands),
        "backlog": state.backlog.saved(),
        "sharers": _pools(state.sharers),
    }


def state_of(parts: Parts, plugins: Plugins) -> ClusterState:
    """Make a state of such values.

    Args:
        parts: as `saved` gave them; used up.
        plugins: those of the policy in force.
    """
    policy: Policy = parts["policy"]
    state = ClusterState(policy, plugins)
    for node in parts["nodes"]:
        state.tree.put(node)
    state.tree.settle()
    for name in parts["gone"]:
        state.tree.drop(name)
    for queue in parts["queues"]:
        state.shares.put(queue)
    state.table.measure_by(parts["typical"], {})
    for each in parts["gangs"]:
        gang = each["gang"]
        state.records[gang.id] = GangRecord(shapes=shapes_for(state, gang), lane=None, **each)
    state.gates, state.census = parts["gates"], parts["census"]
    _take_histories(state.estimates, parts["estimates"])
    _take_past(state.past, parts["past"])
    _take_pools(state.sharers, parts["sharers"])
    _hold(state, parts)
    for name, value in parts["counters"].items():
        setattr(state, name, value)
    state.rebuild()
    _after_rebuilding(state, parts)
    return state


def _hold(state: ClusterState, parts: Parts) -> None:
    """What is held, promised, reserved and kept, from which `rebuild` makes the rest."""
    records = state.records
    state.occupants.records = {gang: records[gang] for gang in parts["holding"]}
    state.promised = dict.fromkeys(parts["promised"])
    for name, gangs in parts["lists"].items():
        setattr(state, name, dict.fromkeys(gangs))
    state.bookings.restore(parts["bookings"])
    held = [Reservation(records[gang], *rest) for gang, *rest in parts["reservations"]]
    state.future.restore({each.record.gang.id: each for each in held})
    for gang, placement in parts["kept"]:
        state.kept.put(records[gang], placement)


def _after_rebuilding(state: ClusterState, parts: Parts) -> None:
    """What rebuilding counted anew, as it was."""
    for name, value in parts["counters"].items():
        setattr(state, name, value)
    state.fresh = list(parts["fresh"])
    for name in ("oversized", "stranded"):
        setattr(state, name, dict.fromkeys(parts["lists"][name]))
    for at, gang in parts["alarms"]:
        state.alarm(at, gang)
    state.backlog = Backlog(state)
    state.backlog.take(parts["backlog"])
    _take_bands(state.bands, parts["bands"])
    for pool, turns in zip(state.sharers.pools().values(), parts["sharers"], strict=True):
        pool.relearnt, pool.passed_by = turns["relearnt"], turns["passed_by"]
        pool.overdue = turns.get("late", {})


def _changed(record: GangRecord) -> Parts:
    """The fields of a record that say more than a fresh one would."""
    values = ((name, getattr(record, name), default) for name, default in _RECORD.items())
    return {name: value for name, value, default in values if value != default}


def _reservation(held: Reservation) -> tuple[Any, ...]:
    return held.record.gang.id, held.placement, held.start_ms, held.end_ms, held.drains


def _histories(estimates: Estimates) -> list[tuple[Hashable, list[int]]]:
    return [(key, each.runs()) for key, each in estimates.histories().items()]


def _take_histories(estimates: Estimates, known: Iterable[tuple[Hashable, list[int]]]) -> None:
    for key, runs in known:
        estimates.histories()[key] = _history(runs)


def _history(runs: Iterable[int]) -> History:
    found = History()
    for each in runs:
        found.add(each)
    return found


def _past(past: PastUse) -> list[tuple[str, str | None, int, int, int]]:
    return [(*key, each.milli, each.at, each.weighted) for key, each in past.sums().items()]


def _take_past(past: PastUse, known: Iterable[tuple[str, str | None, int, int, int]]) -> None:
    for queue, user, milli, at, weighted in known:
        past.sums()[queue, user] = Sum(milli, at, weighted)


def _bands(bands: StartEstimates) -> Parts:
    return {
        "ratios": [(kind, each.runs()) for kind, each in bands.ratios.windows.items()],
        "latest": list(bands.ratios.latest.items()),
        "told": [(each.event, each.teaches) for each in bands.open.values()],
        "deadlines": sorted(bands.deadlines),
        "untold": list(bands.untold),
        "unknown": list(bands.unknown),
        "scores": list(bands.scores),
        "ends": bands.load.ends,
    }


def _take_bands(bands: StartEstimates, known: Parts) -> None:
    ratios = Ratios()
    ratios.windows = {kind: _history(runs) for kind, runs in known["ratios"]}
    ratios.latest = dict(known["latest"])
    told: Iterable[tuple[StartExpected, bool]] = known["told"]
    bands.ratios = ratios
    bands.open = {event.gang: Told(event, teaches) for event, teaches in told}
    bands.deadlines = [tuple(each) for each in known["deadlines"]]
    bands.untold = dict.fromkeys(known["untold"])
    bands.unknown = dict.fromkeys(known["unknown"])
    bands.scores = deque((tuple(each) for each in known["scores"]), SCORED)
    bands.load.ends = known["ends"]


def _pools(sharers: TimeSharers) -> list[Parts]:
    return [
        {
            "queue": queue,
            "priority": priority,
            "quantum_ms": pool.quantum_ms,
            "levels": pool.levels,
            "learnt": pool.learnt(),
            "relearnt": pool.relearnt,
            "passed_by": pool.passed_by,
            "late": pool.overdue,
            "fifo": pool.fifo.learnt(),
        }
        for (queue, priority), pool in sharers.pools().items()
    ]


def _take_pools(sharers: TimeSharers, known: Iterable[Parts]) -> None:
    for each in known:
        pool = SharingPool(each["quantum_ms"], each["levels"])
        pool.take(each["learnt"][:3])  # versions before wrote ages after them, and no `fifo`
        if "fifo" in each:
            pool.fifo.take(each["fifo"])
        sharers.pools()[each["queue"], each["priority"]] = pool
