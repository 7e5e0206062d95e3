"""Parts of GPUs by annotation."""

import pytest

from ganglion.worlds.kubernetes.cluster_view.orders import Say
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Stage
from tests.worlds.kubernetes.controller.test_rules import bound

MIG = "nvidia.com/mig-1g.10gb"
PRODUCT = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
NOTES = {"ganglion.dev/gpu-fraction": "0.5"}, {"ganglion.dev/gpu-memory": "5Gi"}


@pytest.mark.parametrize("notes", NOTES)
def test_no_part_of_a_gpu_is_given_of_a_mig_slice(notes: dict[str, str]) -> None:
    stage = Stage(settings=Settings(device_agent=True))
    stage.show(manifests.node("a", gpus=7, resource=MIG, labels=PRODUCT))
    stage.show(manifests.pod("p", gpus=0, annotations=notes))
    for _ in range(2):
        stage.turn()
        assert not bound(stage)
    labels = PRODUCT | {"nvidia.com/gpu.memory": "81559"}
    stage.show(manifests.node("b", gpus=1, labels=labels))
    stage.turn()
    assert bound(stage) == {"p": "b"}


@pytest.mark.parametrize("notes", NOTES)
def test_a_part_is_refused_with_the_way_out_where_no_agent_gives_it_to_containers(
    notes: dict[str, str],
) -> None:
    stage = Stage()
    labels = PRODUCT | {"nvidia.com/gpu.memory": "81559"}
    stage.show(manifests.node("a", gpus=1, labels=labels))
    stage.show(manifests.pod("p", gpus=0, annotations=notes), manifests.pod("whole", gpus=1))
    stage.turn()
    assert bound(stage) == {"whole": "a"}
    (said,) = [each.message for each in stage.orders if isinstance(each, Say)]
    assert said.startswith(f"asks for a part of a GPU by {next(iter(notes))}, and nothing on")
    assert "(devices.agent)" in said
