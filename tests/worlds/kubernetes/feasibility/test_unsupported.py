"""Pods that are refused for what they are."""

import pytest
from msgspec import structs

from ganglion.worlds.kubernetes.feasibility.unsupported import unsupported
from ganglion.worlds.kubernetes.requests import ask_of
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.worlds.kubernetes.feasibility.make import on_nodes, pod, wants


def refused(pod: Pod) -> str:
    """Why a pod is refused for what it is."""
    return unsupported(pod, ask_of(pod))


def test_an_ordinary_pod_is_not_refused() -> None:
    box = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": 1, "rdma/hca": 1}}}
    affinity = on_nodes({"matchExpressions": [wants("size", "Gt", "4")]})
    assert refused(pod(containers=[box], affinity=affinity)) == ""


def test_devices_by_resource_claim_are_left_to_others() -> None:
    claims = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    ours = pod(resourceClaims=claims, schedulerName="ganglion")
    assert "resource claim (gpu), of which only the default scheduler keeps" in refused(ours)
    assert "without schedulerName ganglion" in refused(ours)
    gates = [{"name": "ganglion.dev/gate-canary"}]
    gated = pod(resourceClaims=claims, schedulerName="default-scheduler", schedulingGates=gates)
    assert "without gate ganglion.dev/gate-canary" in refused(gated)
    assert refused(pod(resourceClaims=claims, schedulerName="default-scheduler")) == ""


@pytest.mark.parametrize("resource", ["nvidia.com/gpumem", "volcano.sh/vgpu-number"])
def test_parts_of_gpus_in_the_words_of_another_scheduler_are_refused(resource: str) -> None:
    box = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1, resource: 1}}}
    said = refused(pod(containers=[box]))
    assert f"by {resource}" in said
    assert "write ganglion.dev/gpu-fraction" in said


@pytest.mark.parametrize("note", ["gpu-fraction", "gpu-memory"])
def test_fractions_of_kai_are_not_taken_for_pods_without_gpus(note: str) -> None:
    one = pod()
    meta = structs.replace(one.metadata, annotations={note: "0.5"})
    assert f"by {note}" in refused(structs.replace(one, metadata=meta))


def test_gpus_of_two_kinds_are_refused_by_name() -> None:
    asked = {"nvidia.com/mig-1g.10gb": 1, "nvidia.com/gpu": 1}
    box = {"name": "main", "resources": {"requests": asked}}
    said = refused(pod(containers=[box]))
    assert said.endswith("several kinds at once: nvidia.com/gpu, nvidia.com/mig-1g.10gb")


def test_affinity_that_makes_no_sense_is_refused_unless_one_term_does() -> None:
    odd = {"matchExpressions": [wants("size", "Gt", "many")]}
    fine = {"matchExpressions": [wants("size", "Gt", "4")]}
    assert "no term is sound" in refused(pod(affinity=on_nodes(odd)))
    assert refused(pod(affinity=on_nodes(odd, fine))) == ""
