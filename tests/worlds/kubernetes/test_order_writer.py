"""Orders that concern each other are carried out in their order, on a real API server."""

import asyncio

from ganglion.model.causes import Cause, CauseKind
from ganglion.worlds.kubernetes.cluster_view.orders import (
    Answer,
    Evict,
    EvictDone,
    Order,
    PodRef,
    Spare,
)
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.order_writer import Hands
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.victims import victim_of
from ganglion.worlds.kubernetes.workload_discovery.found import GangOwner
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.writes.real import leaving, on, pod, run_pod

LIMIT_S = 30.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"
SUSPENDED_FOR = "ganglion.dev/suspended-for"


def test_a_victim_that_was_spared_and_is_chosen_again_leaves_with_its_mark(
    cluster: Cluster,
) -> None:
    """As by a scheduler that takes over, lifts what it cannot explain, and then decides."""
    cluster.create(manifests.pod("victim", nodeName="node-0"))
    run_pod(cluster, "victim")
    before = pod(cluster, "victim")
    ref = _ref_of(before)
    answers = _carried_out(cluster, before, Spare("low", (ref,)), _eviction(ref))
    assert answers == [EvictDone("low", 1)]
    assert leaving(cluster, "victim")
    assert victim_of(pod(cluster, "victim")) == "high"


def test_a_suspended_owner_names_the_beneficiary_and_its_pods_are_not_written(
    cluster: Cluster,
) -> None:
    before, owner = _job(cluster)
    answers = _carried_out(cluster, before, _eviction(_ref_of(before), owner))
    assert answers == [EvictDone("low", 1)]
    made = cluster.get(owner.path)
    assert made["spec"]["suspend"] is True
    assert made["metadata"]["annotations"][SUSPENDED_FOR] == "high"
    assert pod(cluster, "victim") == before


def test_pods_whose_owner_is_not_suspended_are_marked_before_they_leave(cluster: Cluster) -> None:
    before, owner = _job(cluster)
    cluster.delete(owner.path)
    answers = _carried_out(cluster, before, _eviction(_ref_of(before), owner))
    assert answers == [EvictDone("low", 1)]
    assert leaving(cluster, "victim")
    assert victim_of(pod(cluster, "victim")) == "high"


def _job(cluster: Cluster) -> tuple[Pod, GangOwner]:
    """A Job and its only pod, which runs; no controller manages them."""
    cluster.create(manifests.job("j", gpus=1, count=1))
    made = cluster.get(f"{JOBS}/j")
    uid = made["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid}
    cluster.create(manifests.pod("victim", nodeName="node-0", owner=owner))
    run_pod(cluster, "victim")
    found = GangOwner("batch/v1", "Job", "default", "j", uid, f"{JOBS}/j", ("spec", "suspend"))
    return pod(cluster, "victim"), found


def _ref_of(pod: Pod) -> PodRef:
    return PodRef("", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _eviction(ref: PodRef, owner: GangOwner | None = None) -> Evict:
    cause = Cause(CauseKind.PREEMPTED, gang="high")
    return Evict("low", 1, (ref,), cause, "high", owner)


def _carried_out(cluster: Cluster, before: Pod, *orders: Order) -> list[Answer]:
    """What comes of orders about a pod that was seen so; returns with the first answer."""
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
    return answers
