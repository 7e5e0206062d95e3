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

from ganglion.engine.forecast.start_estimates import SCORED, StartEstimates, Told
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.queues.budgets import QueueBudgets
from ganglion.engine.queues.decayed_usage import PastUse, Sum
from ganglion.engine.runtimes.calibration import Ratios
from ganglion.engine.runtimes.estimates import Estimates
from ganglion.engine.runtimes.history import RunTimeHistory
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.holdings import Holdings
from ganglion.engine.store.queue_rules import shapes_for
from ganglion.engine.timeline.reservation import Reservation
from ganglion.engine.timesharing.time_sharers import SharingPool, TimeSharers
from ganglion.model.events import StartExpected
from ganglion.model.policy import Policy

Parts = dict[str, Any]
"""Values by the name of the part."""

_FOLLOWS = frozenset({"shapes", "lane"})
_RECORD: Mapping[str, Any] = {
    each.name: each.default for each in fields(GangRecord) if each.name not in _FOLLOWS
}


def saved(state: ClusterState) -> Parts:
    """Take the values out of a state, which stays as it is; they are not copied."""
    tree, queues = state.fleet.tree, state.queues.shares.tree
    by_age = sorted(queues.order, key=queues.order.__getitem__)
    return {
        "policy": state.config.policy,
        "counters": _counters(state),
        "nodes": list(tree.described().values()),
        "gone": sorted(tree.gone() & tree.described().keys()),
        "queues": [queues.queues[name] for name in by_age],
        "typical": state.fleet.table.typical,
        "gangs": [_changed(record) for record in state.gangs.records.values()],
        "holding": list(state.holdings.occupants.records),
        "promised": list(state.holdings.promised),
        "fresh": list(state.gangs.fresh),
        "lists": {"asleep": list(state.gangs.asleep), **_lists(state.holdings)},
        "reservations": [_reservation(each) for each in state.timeline.future.reservations()],
        "kept": [(each.record.gang.id, each.placement) for each in state.timeline.kept],
        "bookings": state.timeline.bookings.all(),
        "gates": state.gangs.gates,
        "census": state.gangs.census,
        "alarms": state.gangs.alarms(),
        "estimates": _histories(state.gangs.estimates),
        "past": _past(state.queues.past),
        "prices": list(state.queues.budgets.prices.records),
        "budgets": _budgets(state.queues.budgets),
        "bands": _bands(state.forecast.bands),
        "backlog": state.forecast.backlog.saved(),
        "sharers": _pools(state.gangs.sharers),
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
        state.fleet.tree.put(node)
    state.fleet.tree.settle()
    for name in parts["gone"]:
        state.fleet.tree.drop(name)
    for queue in parts["queues"]:
        state.queues.shares.put(queue)
    state.fleet.table.measure_by(parts["typical"], {})
    for each in parts["gangs"]:
        gang = each["gang"]
        state.gangs.records[gang.id] = GangRecord(shapes=shapes_for(state, gang), lane=None, **each)
    state.gangs.gates, state.gangs.census = parts["gates"], parts["census"]
    _take_histories(state.gangs.estimates, parts["estimates"])
    _take_past(state.queues.past, parts["past"])
    _take_budgets(state.queues.budgets, parts)
    _take_pools(state.gangs.sharers, parts["sharers"])
    _hold(state, parts)
    _count_on(state, parts["counters"])
    state.rebuild()
    _after_rebuilding(state, parts)
    return state


def _hold(state: ClusterState, parts: Parts) -> None:
    """What is held, promised, reserved and kept, from which `rebuild` makes the rest."""
    records = state.gangs.records
    state.holdings.occupants.records = {gang: records[gang] for gang in parts["holding"]}
    state.holdings.list_promised(parts["promised"])
    lists = parts["lists"]
    state.gangs.asleep = dict.fromkeys(lists["asleep"])
    state.holdings.oversized = dict.fromkeys(lists["oversized"])
    state.holdings.stranded = dict.fromkeys(lists["stranded"])
    state.timeline.bookings.restore(parts["bookings"])
    held = [Reservation(records[gang], *rest) for gang, *rest in parts["reservations"]]
    state.timeline.future.restore({each.record.gang.id: each for each in held})
    for gang, placement in parts["kept"]:
        state.timeline.kept.put(records[gang], placement)


def _after_rebuilding(state: ClusterState, parts: Parts) -> None:
    """What rebuilding counted anew, as it was."""
    _count_on(state, parts["counters"])
    state.gangs.fresh = list(parts["fresh"])
    for at, gang in parts["alarms"]:
        state.gangs.alarm(at, gang)
    state.forecast.backlog.take(parts["backlog"])
    _take_bands(state.forecast.bands, parts["bands"])
    for pool, turns in zip(state.gangs.sharers.pools().values(), parts["sharers"], strict=True):
        pool.relearnt, pool.passed_by = turns["relearnt"], turns["passed_by"]
        pool.overdue = turns.get("late", {})


def _counters(state: ClusterState) -> dict[str, int]:
    progress = state.progress
    return {
        "freed": progress.freed,
        "vetoes": state.agenda.vetoes,
        "turn": progress.turn,
        "submissions": state.gangs.submissions,
        "clock": progress.clock,
    }


def _count_on(state: ClusterState, counters: Mapping[str, int]) -> None:
    progress = state.progress
    progress.freed, progress.turn = counters["freed"], counters["turn"]
    progress.clock, state.agenda.vetoes = counters["clock"], counters["vetoes"]
    state.gangs.submissions = counters["submissions"]


def _lists(holdings: Holdings) -> Parts:
    return {
        "short": list(holdings.short),
        "oversized": list(holdings.oversized),
        "stranded": list(holdings.stranded),
    }


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


def _history(runs: Iterable[int]) -> RunTimeHistory:
    found = RunTimeHistory()
    for each in runs:
        found.add(each)
    return found


def _past(past: PastUse) -> list[tuple[str, str | None, int, int, int]]:
    return [(*key, each.milli, each.at, each.weighted) for key, each in past.sums().items()]


def _take_past(past: PastUse, known: Iterable[tuple[str, str | None, int, int, int]]) -> None:
    for queue, user, milli, at, weighted in known:
        past.sums()[queue, user] = Sum(milli, at, weighted)


def _budgets(budgets: QueueBudgets) -> tuple[Any, ...]:
    return budgets.saved(), budgets.refused_at, budgets.now


def _take_budgets(budgets: QueueBudgets, parts: Parts) -> None:
    """Of versions before there are none."""
    budgets.prices.records.extend(parts.get("prices", ()))
    known, budgets.refused_at, now = parts.get("budgets", ((), 0, 0))
    budgets.take(known, now)


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
