"""Why not, and what would help: explanations on demand and verdicts before a submission."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from msgspec.structs import replace

from ganglion.engine.find import find
from ganglion.engine.order import waiting_in_order
from ganglion.engine.place import required_level
from ganglion.engine.record import GangRecord
from ganglion.engine.shapes import shapes_of
from ganglion.engine.state import ClusterState
from ganglion.model.levels import DEPTH, LEVELS, Level
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase, Verdict
from ganglion.model.reasons import Explanation, Reason, Suggestion, Token
from ganglion.model.resources import GpuRequest, counted
from ganglion.model.workload import Gang, PodSet, Topology

SUGGESTIONS = 3
"""Most changes suggested."""

AHEAD = 5
"""Most gangs named as being ahead."""

_HELPED = (Token.CAPACITY, Token.TOPOLOGY, Token.CONSTRAINT, Token.QUOTA, Token.DRAINING)
_UNSEEN = Reason(Token.ORDER, "it has not been looked at yet; others of its queue go first")


def explain(state: ClusterState, gang: str, now: int) -> Explanation:
    """Everything known about one gang's wait.

    Args:
        state: left as it is.
        gang: id of the gang.
        now: the time in ms.

    Raises:
        NotFound: there is no such gang.
    """
    record = state.record(gang)
    if record.phase is not Phase.PENDING:
        return Explanation(gang, record.phase)
    state.tree.settle()
    reason = record.reason or _present_reason(state, record, now)
    order = waiting_in_order(state)
    position = order.index(gang) + 1 if gang in order else 0
    return Explanation(
        gang,
        record.phase,
        reason,
        histogram(state, record),
        tuple(order[: min(position - 1, AHEAD)]) if position else (),
        max(position - 1, 0),
        position,
        suggestions(state, record.gang, now, reason),
    )


def verdict(state: ClusterState, gang: Gang, now: int) -> Verdict:
    """What would happen to a gang that is not submitted; the state is left as it is.

    A gang that would wait only because of others ahead of it is given a placement.
    """
    state.tree.settle()
    state.shares.path(gang.queue)
    record = _sketch(state, gang)
    gate = state.gates.reason(gang, 0)
    if gate:
        return Verdict(reason=gate)
    reason, found = find(state, record, now)
    if found:
        return Verdict(placement=found)
    return Verdict(reason=reason, suggestions=suggestions(state, gang, now, reason))


def histogram(state: ClusterState, record: GangRecord) -> dict[str, int]:
    """Nodes by the first obstacle that one pod of the most demanding set meets there."""
    shape = max(record.shapes, key=lambda each: each.request.gpu.count)
    sight = state.table.sight(shape)
    found: dict[str, int] = {}
    for condition, count in state.tree.counts.items():
        if count:
            name = state.table.obstacle(sight, condition) or "has room for a pod"
            found[name] = found.get(name, 0) + count
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def suggestions(
    state: ClusterState, gang: Gang, now: int, reason: Reason | None
) -> tuple[Suggestion, ...]:
    """Up to three changes, each verified to find a place and quota now."""
    if reason is None or reason.token not in _HELPED:
        return ()
    try_out = partial(_try_out, state, now)
    found = (
        Suggestion(change, "" if placement.level is Level.FLEET else placement.level)
        for change, changed in _variants(state, gang, try_out)
        if (placement := try_out(changed))
    )
    return tuple(islice(found, SUGGESTIONS))


def _try_out(state: ClusterState, now: int, gang: Gang) -> Placement | None:
    return find(state, _sketch(state, gang), now)[1]


def _present_reason(state: ClusterState, record: GangRecord, now: int) -> Reason:
    """The reason as of now: what the last cycle found may have changed since."""
    reason, _ = find(state, record, now)
    return reason or state.reason(record.gang.id) or _UNSEEN


def _sketch(state: ClusterState, gang: Gang) -> GangRecord:
    return GangRecord(gang, shapes_of(gang, state.plugins.filters), None)


TryOut = Callable[[Gang], Placement | None]
"""Where a changed gang would go now."""


def _variants(state: ClusterState, gang: Gang, try_out: TryOut) -> Iterator[tuple[str, Gang]]:
    yield from _wider(state, gang)
    yield from _other_types(state, gang)
    yield from _fewer_pods(gang, try_out)
    yield from _fewer_gpus(gang, try_out)


def _wider(state: ClusterState, gang: Gang) -> Iterator[tuple[str, Gang]]:
    required = required_level(gang)
    if required is None:
        return
    present = {Level.NODE, *state.tree.levels()}
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
    for kind in state.indexes.device_types():
        if wanted and kind not in wanted:
            yield (
                f"use {kind} GPUs instead of {' or '.join(sorted(wanted))}",
                _with_sets(gang, partial(replace, types=(kind,))),
            )


def _fewer_pods(gang: Gang, try_out: TryOut) -> Iterator[tuple[str, Gang]]:
    if len(gang.pod_sets) != 1 or gang.pod_sets[0].slices:
        return
    only = gang.pod_sets[0]

    def smaller(count: int) -> Gang:
        return replace(gang, pod_sets=(replace(only, count=count, min_count=0),))

    most = _largest(only.least - 1, lambda count: try_out(smaller(count)))
    if most:
        yield f"ask for {counted(most, 'pod')} instead of {only.least}", smaller(most)


def _fewer_gpus(gang: Gang, try_out: TryOut) -> Iterator[tuple[str, Gang]]:
    asked = max((each.request.gpu.count for each in gang.pod_sets), default=0)

    def smaller(count: int) -> Gang:
        return _with_sets(gang, partial(_at_most, count))

    most = _largest(asked - 1, lambda count: try_out(smaller(count)))
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
