"""Binding pods to nodes: gang by gang, in parallel, judged by what is so afterwards.

A gang is as many requests as it has pods; nothing binds it at once. So gangs are begun in the
order given and finished before later ones get a share of the connections, and where the first
order of a gang carries notes (as the places of the others, from which a crash is mended) it is
bound alone before the rest may follow.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.write_rules.devices import record
from ganglion.worlds.kubernetes.writes.calls import (
    PACE,
    RankedCall,
    RetryPace,
    reader,
    settle,
    work_off,
)
from ganglion.worlds.kubernetes.writes.outcome import WriteOutcome, WriteVerdict, path_of


class BindOrder(Struct, frozen=True):
    """Bind one pod.

    Attributes:
        namespace: of the pod.
        name: of the pod.
        uid: of the pod as it was seen; one made anew under the name is not bound.
        node: name in the cluster.
        devices: indexes of chosen devices to record; empty = the node chooses.
        resource: extended resource the devices are counted as.
        notes: further annotations the pod gets in the same write; they make the order go first.
    """

    namespace: str
    name: str
    uid: str
    node: str
    devices: tuple[int, ...] = ()
    resource: str = "nvidia.com/gpu"
    notes: tuple[tuple[str, str], ...] = ()


def binding(order: BindOrder) -> dict[str, Any]:
    """Return the Binding: its annotations are merged into the pod's in the same write."""
    annotations = record(order.devices, order.resource) | dict(order.notes)
    about = {"name": order.name, "namespace": order.namespace, "uid": order.uid}
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": about | ({"annotations": annotations} if annotations else {}),
        "target": {"apiVersion": "v1", "kind": "Node", "name": order.node},
    }


def judge(pod: Pod, node: str) -> WriteOutcome | None:
    """Return what a pod that was read back says about its binding; None = it can still be bound."""
    if there := pod.spec.node_name:
        if there == node:
            return WriteOutcome(WriteVerdict.ALREADY_HERE, node=node)
        return WriteOutcome(WriteVerdict.ELSEWHERE, f"pod {pod.key} runs on {there}", there)
    if pod.is_leaving or pod.is_over:
        return WriteOutcome(
            WriteVerdict.GONE, f"pod {pod.key} is {'over' if pod.is_over else 'leaving'}"
        )
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        return WriteOutcome(WriteVerdict.GATED, f"pod {pod.key} is held by {gates}")
    return None


async def bind(api: Api, order: BindOrder, pace: RetryPace = PACE) -> WriteOutcome:
    """Bind one pod."""
    body = binding(order)
    outcome = await settle(
        lambda: api.create(path_of(order, "binding"), body),
        reader(api, order, lambda pod: judge(pod, order.node)),
        pace,
        WriteVerdict.BOUND,
    )
    if outcome.verdict is WriteVerdict.BOUND:
        return WriteOutcome(WriteVerdict.BOUND, node=order.node)
    return outcome


async def bind_gangs(
    api: Api, gangs: Sequence[Sequence[BindOrder]], pace: RetryPace = PACE
) -> dict[str, WriteOutcome]:
    """Bind the pods of several gangs.

    Args:
        api: the cluster's.
        gangs: orders by gang; the first of a gang goes alone when it carries notes, and when
            it is not bound the others are withheld.
        pace: how hard to try, and how many at once.

    Returns:
        Pod uid -> outcome, for every order.
    """
    outcomes: dict[str, WriteOutcome] = {}
    jobs = [
        job for rank, gang in enumerate(gangs) for job in _begin(api, rank, gang, pace, outcomes)
    ]
    await work_off(jobs, min(pace.at_once, sum(map(len, gangs))))
    return outcomes


async def bind_all(
    api: Api, orders: Sequence[BindOrder], pace: RetryPace = PACE
) -> dict[str, WriteOutcome]:
    """Bind pods that do not depend on each other. Returns pod uid -> outcome."""
    return await bind_gangs(api, [(order,) for order in orders], pace)


def _begin(
    api: Api,
    rank: int,
    gang: Sequence[BindOrder],
    pace: RetryPace,
    outcomes: dict[str, WriteOutcome],
) -> list[RankedCall]:
    rest = [RankedCall((rank, i), _run(api, order, pace, outcomes)) for i, order in enumerate(gang)]
    if len(gang) < 2 or not gang[0].notes:
        return rest
    return [RankedCall((rank, 0), _lead(rest, gang, outcomes))]


def _run(
    api: Api, order: BindOrder, pace: RetryPace, outcomes: dict[str, WriteOutcome]
) -> Callable[[], Awaitable[Sequence[RankedCall]]]:
    async def run() -> tuple[RankedCall, ...]:
        outcomes[order.uid] = await bind(api, order, pace)
        return ()

    return run


def _lead(
    jobs: list[RankedCall], gang: Sequence[BindOrder], outcomes: dict[str, WriteOutcome]
) -> Callable[[], Awaitable[Sequence[RankedCall]]]:
    async def run() -> Sequence[RankedCall]:
        await jobs[0].run()
        first = outcomes[gang[0].uid]
        if first.is_bound:
            return jobs[1:]
        message = f"{gang[0].namespace}/{gang[0].name} came first: {first.message}"
        outcomes.update(
            {each.uid: WriteOutcome(WriteVerdict.WITHHELD, message) for each in gang[1:]}
        )
        return ()

    return run
