"""Pods that are on their way out when a scheduler starts."""

import pytest
from tests.controlplane import manifests
from tests.worlds.kubernetes.brain.stage import Stage

from ganglion.model.queue import Queue
from ganglion.worlds.kubernetes.gangs import markers


@pytest.mark.parametrize("label", markers.QUEUES)
def test_a_pod_that_leaves_is_charged_to_its_queue_whichever_label_names_it(label: str) -> None:
    stage = Stage(queues=(Queue("default"), Queue("team")))
    pod = manifests.pod("p", labels={label: "team"}, nodeName="n0")
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    stage.show(manifests.node("n0"), pod)
    stage.turn()
    (record,) = stage.brain.scene.state.records.values()
    assert record.gang.queue == "team"
