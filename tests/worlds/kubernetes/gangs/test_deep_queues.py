"""Deep queues whose heads cannot start, on a real API server.

What stands behind such a head, and in other queues, fits together: none of these gangs may
wait.
"""

import asyncio
from collections.abc import Sequence

import pytest

from benchmarks.controlplane.control_plane import ControlPlane
from benchmarks.kubernetes.deep_queues_round import drain, fill
from benchmarks.kubernetes.deep_queues_work import FITS, HEADS, Crew, Work, pods_of, work
from benchmarks.kubernetes.field import Field
from ganglion.extensions import load
from ganglion.model.plan import Phase
from ganglion.worlds.kubernetes.cluster_view.orders import Order
from ganglion.worlds.kubernetes.controller import ClusterController
from ganglion.worlds.kubernetes.names import SCHEDULER
from ganglion.worlds.kubernetes.scheduler import Scheduler
from tests.controlplane.cluster import Cluster
from tests.effort import sample

NODES, GANGS = 100, 60


class Watch:
    """Notes after every turn which gangs were left waiting, and how many are looked at next."""

    def __init__(self) -> None:
        self.waited: set[str] = set()
        self.looked_at = -1

    def __call__(
        self, controller: ClusterController, orders: Sequence[Order], seconds: float
    ) -> None:
        state = controller.scene.state
        waiting = [each for each in state.gangs.records.values() if each.phase is Phase.PENDING]
        self.waited |= {each.gang.name.partition("/")[2] for each in waiting}
        self.looked_at = len(state.gangs.lanes.open(state.progress.freed))


async def _settle(plane: ControlPlane, cluster: Cluster, made: Work, watch: Watch) -> list[Crew]:
    """Drain, then add more; returns the gangs of which anything was bound."""
    scheduler = Scheduler({"": cluster.endpoint}, "test", may=lambda: True, load=load, turned=watch)
    async with Field(plane) as field:
        await fill(field, made)
        scheduler.start()
        try:
            for crews in (made.fitting(), made.late()):
                pods = [pod for crew in crews for pod in pods_of(crew, SCHEDULER)]
                if crews[0] not in made.waiting:
                    await field.create(pods)
                await field.all_bound([pod["metadata"]["name"] for pod in pods], 60.0, None)
            assert not scheduler.trouble
        finally:
            await asyncio.to_thread(scheduler.stop)
        crews = [*made.waiting, *made.late()]
        return [crew for crew in crews if f"{crew.name}-0" in field.bound]


def test_nobody_who_fits_waits_behind_a_head(control_plane: ControlPlane, cluster: Cluster) -> None:
    made, watch = work(NODES, GANGS, 1), Watch()

    bound = asyncio.run(_settle(control_plane, cluster, made, watch))

    heads = {crew.name for crew in made.waiting if crew.kind != FITS}
    assert watch.waited == heads
    assert {crew.name for crew in bound} == {crew.name for crew in (*made.fitting(), *made.late())}
    assert {crew.kind for crew in made.waiting} == {FITS, *HEADS}


def test_heads_are_not_looked_at_again_while_nothing_is_freed(
    control_plane: ControlPlane, cluster: Cluster
) -> None:
    made, watch = work(NODES, GANGS, 2), Watch()

    asyncio.run(_settle(control_plane, cluster, made, watch))

    assert len(watch.waited) > 1
    assert watch.looked_at == 0


@pytest.mark.parametrize("seed", sample(range(1, 3), 2))
def test_the_benchmark_finds_nobody_stuck_or_disturbed(
    control_plane: ControlPlane, cluster: Cluster, seed: int
) -> None:
    del cluster  # empties the API server afterwards

    figures = asyncio.run(drain(control_plane, work(NODES, GANGS, seed)))

    assert figures["stuck"] == figures["heads"] == figures["disturbed"] == 0
    assert figures["per_min"] > 0
    assert figures["drain_s"] >= figures["ready_s"] > 0
