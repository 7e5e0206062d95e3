"""Orders that concern each other are carried out in their order, on a real API server."""

import asyncio

from ganglion.model.causes import Cause, CauseKind
from ganglion.worlds.kubernetes.cluster_view.orders import Answer, Evict, EvictDone, PodRef, Spare
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.order_writer import Hands
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.types.victims import victim_of
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.writes.real import leaving, on, pod, run_pod

LIMIT_S = 30.0


def test_a_victim_that_was_spared_and_is_chosen_again_leaves_with_its_mark(
    cluster: Cluster,
) -> None:
    """As by a scheduler that takes over, lifts what it cannot explain, and then decides."""
    cluster.create(manifests.pod("victim", nodeName="node-0"))
    run_pod(cluster, "victim")
    before = pod(cluster, "victim")
    ref = PodRef("", "default", "victim", before.metadata.uid)
    cause = Cause(CauseKind.PREEMPTED, gang="high")
    orders = [Spare("low", (ref,)), Evict("low", 1, (ref,), cause, "high")]
    answers: list[Answer] = []

    async def carry_out(api: Api) -> None:
        done = asyncio.Event()

        def note(answer: Answer) -> None:
            answers.append(answer)
            done.set()

        hands = Hands(api, lambda: True, note, Recorder(api, "test"), lambda _: before)
        working = asyncio.create_task(hands.run())
        await asyncio.sleep(0)
        hands.give(orders)
        await asyncio.wait_for(done.wait(), LIMIT_S)
        working.cancel()

    on(cluster.kubeconfig, carry_out)
    assert answers == [EvictDone("low", 1)]
    assert leaving(cluster, "victim")
    assert victim_of(pod(cluster, "victim")) == "high"
