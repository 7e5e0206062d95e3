"""Trials of a cluster's sweep are given up and take their turn, on a real API server."""

from collections.abc import Mapping

import pytest
from yaml import safe_load

from ganglion.server.cluster.controllers.eyes import sight_of
from ganglion.server.cluster.controllers.keeper import Lives
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import load as endpoint_of
from ganglion.worlds.kubernetes.submit import compile_workload
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.rbac import bind_chart_role
from tests.worlds.kubernetes.scheduling import scheduling
from tests.worlds.kubernetes.submit.make import workload

SWEEP = """
{name: hpo, image: i, run: [train, '{x}'], gpus: 1, params: {x: [0, 1, 2, 3]}, parallel: 1..4,
 early_stop: {metric: loss, factor: 2}, priority: 60}
"""
JOB = "/apis/batch/v1/namespaces/default/jobs/hpo"

pytestmark = pytest.mark.usefixtures("manager")


def trials(cluster: Cluster) -> dict[int, Object]:
    """The pods of the sweep that run."""
    labelled = "batch.kubernetes.io/job-completion-index"
    pods = cluster.pods(labelSelector="ganglion.dev/workload=hpo").values()
    running = [each for each in pods if each["status"].get("phase") == "Running"]
    return {int(each["metadata"]["labels"][labelled]): each for each in running}


def priorities(scheduler: Scheduler) -> Mapping[int, int]:
    """Of the trials that have not ended."""
    with scheduler.read() as controller:
        records = controller.scene.state.gangs.records.values()
        return {each.gang.index: each.gang.priority for each in records}


def report(cluster: Cluster, pod: Object, loss: float) -> None:
    note = {"ganglion.dev/report": f'{{"step": 1, "loss": {loss}}}'}
    path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
    cluster.patch(path, {"metadata": {"annotations": note}})


def test_a_bad_trial_ends_for_good_and_a_spare_one_takes_the_turn_of_one_that_ends(
    cluster: Cluster, kubelets: Kubelets
) -> None:
    cluster.add_nodes(1, gpus=4)
    with scheduling(cluster) as scheduler:
        lives = Lives(
            endpoint_of(bind_chart_role(cluster, "lives")),
            "test",
            sight_of(scheduler, ""),
            may=lambda: True,
        )
        lives.start()
        try:
            cluster.create(
                *compile_workload(workload(SWEEP), namespace="default", document=safe_load(SWEEP))
            )
            cluster.wait(lambda: len(trials(cluster)) == 4, "four trials that run")
            assert priorities(scheduler) == {0: 60, 1: -1, 2: -1, 3: -1}
            report(cluster, trials(cluster)[0], 0.5)
            report(cluster, trials(cluster)[1], 0.9)
            cluster.wait(
                lambda: cluster.get(JOB)["status"].get("failedIndexes") == "1", "the end of a trial"
            )
            assert set(trials(cluster)) == {0, 2, 3}
            kubelets.end(trials(cluster)[0])
            cluster.wait(lambda: priorities(scheduler).get(2) == 60, "the turn of a spare trial")
            assert set(trials(cluster)) == {2, 3}
            for trial in (2, 3):
                kubelets.end(trials(cluster)[trial])
            cluster.wait(
                lambda: cluster.get(JOB)["status"].get("completedIndexes") == "0,2,3", "the others"
            )
        finally:
            lives.stop()
