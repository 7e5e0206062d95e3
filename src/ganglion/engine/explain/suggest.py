"""Changes that would start a gang, each one tried before it is suggested."""

from collections.abc import Callable, Iterator
from functools import partial

from msgspec.structs import replace

from ganglion.engine.explain.blockers import awaited_by
from ganglion.engine.explain.rehearsal import Rehearsals
from ganglion.engine.gangs.equivalence import asked_by
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.ordering.attempt import TrialOutcome, resolve
from ganglion.engine.placement.place import required_level
from ganglion.engine.queues.budget_account import asking, in_cents
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.queue_rules import shapes_for
from ganglion.model import events as ev
from ganglion.model.fleet.levels import DEPTH, LEVELS, Level
from ganglion.model.placement import Placement
from ganglion.model.reasons import Reason, Suggestion, Token
from ganglion.model.resources import GpuRequest, counted
from ganglion.model.workload import Gang, PodSet, Topology

SUGGESTIONS = 3
"""Most changes suggested."""

NAMED = 8
"""Most gangs named in one suggestion."""

QUEUES = 8
"""Most other queues tried."""

NOT_HELPED = (Token.HELD, Token.DEPENDENCY, Token.BUDGET, Token.POLICY)
"""Reasons that no other request would change; a budget can be raised."""

MOST_URGENT = 100
"""The highest priority."""

MINUTE = 60_000


def suggestions(
    state: ClusterState,
    gang: Gang,
    now: int,
    reason: Reason | None,
    holders: tuple[str, ...] = (),
) -> tuple[Suggestion, ...]:
    """Up to three changes, each verified to start the gang in the next cycle.

    Where no change of the request helps, the last one names whose end would.

    Args:
        state: left as it is.
        gang: what waits, or is not submitted.
        now: the time in ms.
        reason: why it waits.
        holders: running gangs that hold what it needs.
    """
    return tuple(suggestion for suggestion, _ in tried(state, gang, now, reason, holders))


def tried(
    state: ClusterState,
    gang: Gang,
    now: int,
    reason: Reason | None,
    holders: tuple[str, ...] = (),
) -> Iterator[tuple[Suggestion, Gang]]:
    """The same, each with the gang as it would be.

    A change that finds no place at all is left out by a search; each of the others is tried in a
    cycle, in which all that goes before the gang gets its turn first.
    """
    test, rehearsals = partial(try_out, state, now), Rehearsals(state, now)
    if reason is not None and reason.token is Token.BUDGET:
        yield from _larger_budgets(state, gang, now, test, rehearsals)
    if reason is None or reason.token in NOT_HELPED:
        return
    found = 0
    for change, changed in _variants(state, gang, now, test):
        given = rehearsals.given(gang, changed) if test(changed).placement else None
        if given:
            made = Suggestion(change, _level(given.placement), given.stops)
            yield _with_values(made, gang, changed), changed
            found += 1
        if found == SUGGESTIONS:
            return
    for change, changed in () if found else _to_wait_with(state, gang):
        awaited = awaited_by(state, now, holders, partial(rehearsals.starts, gang, changed))
        if awaited:
            told = f"{change}wait for {_names(awaited)} to end, or stop those that are yours"
            yield Suggestion(told, awaits=awaited), changed
            return


def _with_values(made: Suggestion, before: Gang, after: Gang) -> Suggestion:
    """A suggestion with the values that it is about, for programs."""
    if after.priority != before.priority:
        made = replace(made, priority=after.priority)
    if after.queue != before.queue:
        made = replace(made, queue=after.queue)
    if after.time_limit_ms != before.time_limit_ms:
        made = replace(made, time_limit_ms=after.time_limit_ms)
    for was, each in zip(before.pod_sets, after.pod_sets, strict=True):
        if each.count != was.count:
            made = replace(made, pods=each.count)
        if each.request.gpu.count != was.request.gpu.count:
            made = replace(made, gpus=max(made.gpus, each.request.gpu.count))
    return made


def _larger_budgets(
    state: ClusterState, gang: Gang, now: int, test: "TryOut", rehearsals: Rehearsals
) -> Iterator[tuple[Suggestion, Gang]]:
    """A request for what is missing in a budget above a gang, where one such budget is enough."""
    reason = test(gang).reason  # the numbers of now
    missing = reason.evidence.get("short_micro", 0) if reason else 0
    accounts = state.queues.budgets.accounts
    for queue in state.queues.shares.path(gang.queue) if missing else ():
        if queue not in accounts:
            continue
        raised = ev.BudgetRaised(now, 0, queue, in_cents(missing))
        given = rehearsals.given(gang, gang, first=(raised,))
        if given:
            change = f"have its budget raised: {asking(accounts[queue].budget.shown, missing)}"
            yield Suggestion(change, _level(given.placement), given.stops), gang


def _to_wait_with(state: ClusterState, gang: Gang) -> Iterator[tuple[str, Gang]]:
    """A gang as it is, then with changes with which the end of others may start it."""
    first = min(1 + max((lane.priority for lane in state.gangs.lanes), default=0), MOST_URGENT)
    may_rise = gang.priority < first and not gang.spare
    yield "", gang
    if may_rise:
        yield f"raise its priority to {first} and ", replace(gang, priority=first)
    for change, changed in (*_other_queues(state, gang), *_smaller(gang)):
        yield f"{change}, and ", changed
        if may_rise:
            yield f"{change}, with priority {first}, and ", replace(changed, priority=first)


def sketch(state: ClusterState, gang: Gang) -> GangRecord:
    """A record of a gang that was not submitted."""
    return GangRecord(gang, shapes_for(state, gang), None)


TryOut = Callable[[Gang], TrialOutcome]
"""What would become of a changed gang now."""


def try_out(state: ClusterState, now: int, gang: Gang) -> TrialOutcome:
    """What the next cycle would do with a gang if it waited and it were its turn.

    What queues deserve depends on what they ask for, so the gang is counted as waiting.
    """
    lanes = state.gangs.lanes
    lanes.expect(gang.queue, asked_by(gang), 1)
    state.deserved.refresh(now)
    try:
        return resolve(state, sketch(state, gang), now)
    finally:
        lanes.expect(gang.queue, asked_by(gang), -1)
        state.deserved.refresh(now)


def _level(placement: Placement) -> str:
    return "" if placement.level is Level.FLEET else placement.level


def _names(gangs: tuple[str, ...]) -> str:
    more = f" and {len(gangs) - NAMED} more" if len(gangs) > NAMED else ""
    return ", ".join(gangs[:NAMED]) + more


def _variants(
    state: ClusterState, gang: Gang, now: int, test: TryOut
) -> Iterator[tuple[str, Gang]]:
    yield from _wider(state, gang)
    yield from _other_types(state, gang)
    yield from _shorter(state, gang, now)
    yield from _other_queues(state, gang)
    yield from _fewer_pods(gang, test)
    yield from _fewer_gpus(gang, test)
    yield from _more_urgent(state, gang)


def _shorter(state: ClusterState, gang: Gang, now: int) -> Iterator[tuple[str, Gang]]:
    """A time limit with which it ends before a reservation begins."""
    starts = {each.start_ms for each in state.timeline.future.reservations() if each.start_ms > now}
    for start in sorted(starts, reverse=True):
        minutes = (start - now) // MINUTE
        limit = minutes * MINUTE
        if minutes and (not gang.time_limit_ms or limit < gang.time_limit_ms):
            yield f"limit its run time to {minutes} min", replace(gang, time_limit_ms=limit)


def _other_queues(state: ClusterState, gang: Gang) -> Iterator[tuple[str, Gang]]:
    leaves = [name for name in sorted(state.queues.by_name) if state.queues.shares.is_leaf(name)]
    for name in [name for name in leaves if name != gang.queue][:QUEUES]:
        yield f"submit it to queue {name}, if you may", replace(gang, queue=name)


def _more_urgent(state: ClusterState, gang: Gang) -> Iterator[tuple[str, Gang]]:
    """A priority above that of gangs that run."""
    if gang.spare:  # it gets its sweep's when its turn comes
        return
    running = (each.gang for each in state.holdings.settled())
    present = {each.priority for each in running if each.preemptible}
    for priority in sorted(each + 1 for each in present if each >= gang.priority):
        if priority <= MOST_URGENT:
            yield f"raise its priority to {priority}", replace(gang, priority=priority)


def _wider(state: ClusterState, gang: Gang) -> Iterator[tuple[str, Gang]]:
    required = required_level(gang)
    if required is None:
        return
    present = {Level.NODE, *state.fleet.tree.levels()}
    wider = [lv for lv in LEVELS[::-1] if DEPTH[lv] < DEPTH[required] and lv in present]
    for level in wider:
        told = "anywhere" if level is Level.FLEET else f"within one {level}"
        sets = tuple(replace(each, topology=Topology()) for each in gang.pod_sets)
        topology = Topology(required=None if level is Level.FLEET else level)
        yield (
            f"let it be placed {told} instead of within one {required}",
            replace(gang, topology=topology, pod_sets=sets),
        )


def _other_types(state: ClusterState, gang: Gang) -> Iterator[tuple[str, Gang]]:
    wanted = {kind for each in gang.pod_sets for kind in each.request.gpu.types}
    for kind in state.fleet.indexes.device_types():
        if wanted and kind not in wanted:
            yield (
                f"use {kind} GPUs instead of {' or '.join(sorted(wanted))}",
                _with_sets(gang, partial(replace, types=(kind,))),
            )


def _fewer_pods(gang: Gang, test: TryOut) -> Iterator[tuple[str, Gang]]:
    if len(gang.pod_sets) != 1 or gang.pod_sets[0].slices:
        return
    only = gang.pod_sets[0]

    def smaller(count: int) -> Gang:
        return replace(gang, pod_sets=(replace(only, count=count, min_count=0),))

    most = _largest(only.least - 1, lambda count: test(smaller(count)).placement)
    if most:
        yield f"ask for {counted(most, 'pod')} instead of {only.least}", smaller(most)


def _smaller(gang: Gang) -> Iterator[tuple[str, Gang]]:
    """With a pod less, half of those and so on; then with one GPU per pod."""
    only = gang.pod_sets[0]
    most = only.count if len(gang.pod_sets) == 1 and not only.slices else 1
    count = most - 1
    while count:
        sets = (replace(only, count=count, min_count=0),)
        yield f"ask for {counted(count, 'pod')} instead of {most}", replace(gang, pod_sets=sets)
        count >>= 1
    if any(each.request.gpu.count > 1 for each in gang.pod_sets):
        yield "ask for 1 GPU per pod", _with_sets(gang, partial(_at_most, 1))


def _fewer_gpus(gang: Gang, test: TryOut) -> Iterator[tuple[str, Gang]]:
    asked = max((each.request.gpu.count for each in gang.pod_sets), default=0)

    def smaller(count: int) -> Gang:
        return _with_sets(gang, partial(_at_most, count))

    most = _largest(asked - 1, lambda count: test(smaller(count)).placement)
    if most:
        yield f"ask for {counted(most, 'GPU')} per pod", smaller(most)


def _largest(most: int, holds: Callable[[int], object]) -> int:
    """The largest number up to `most` that holds, if smaller ones hold too; 0 = none."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _at_most(most: int, gpu: GpuRequest) -> GpuRequest:
    return replace(gpu, count=min(gpu.count, most))


def _with_sets(gang: Gang, change: Callable[[GpuRequest], GpuRequest]) -> Gang:
    def changed(each: PodSet) -> PodSet:
        gpu = each.request.gpu
        if not gpu.count:
            return each
        return replace(each, request=replace(each.request, gpu=change(gpu)))

    return replace(gang, pod_sets=tuple(changed(each) for each in gang.pod_sets))
