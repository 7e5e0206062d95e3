"""What a pod's own words mean for the engine: how many GPUs, of which models, how important."""

from typing import Any

import pytest
from msgspec import convert

from ganglion.model.errors import InputError
from ganglion.model.resources import GpuRequest
from ganglion.worlds.kubernetes.cluster_view.gang_of import TypesOf, models_of, request_of
from ganglion.worlds.kubernetes.requests import ask_of
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.controller.stage import Stage

Body = dict[str, Any]
TYPES = "ganglion.dev/gpu-types"
PRIORITY = "ganglion.dev/priority"


def stands_for(*types: str) -> TypesOf:
    return lambda _resource, _count: types


ANY = stands_for()


def asked(gpus: int, types_of: TypesOf = ANY, **notes: str) -> GpuRequest:
    said = {f"ganglion.dev/{key.replace('_', '-')}": text for key, text in notes.items()}
    pod = convert(w.bare("p", gpus, annotations=said, uid="u"), Pod, strict=False)
    return request_of(pod, ask_of(pod), types_of).gpu


def test_pods_that_name_no_model_take_what_their_resource_stands_for() -> None:
    assert asked(2, stands_for("L4", "T4")) == GpuRequest(2, types=("L4", "T4"))
    assert asked(2) == GpuRequest(2)


def test_models_are_allowed_in_the_order_in_which_they_are_named() -> None:
    assert asked(8, gpu_types="H100, a100,H100").types == ("H100", "A100")


def test_one_gpu_may_be_one_that_is_shared_if_no_whole_one_of_the_models_is_there() -> None:
    found = asked(1, gpu_types="H100,A100").types
    assert found[:2] == ("H100", "A100")
    assert set(found[2:]) == {
        f"{model}-{end}" for model in ("H100", "A100") for end in ("SHARED", "SLICED", "MPS")
    }


def test_only_devices_that_the_resource_stands_for_will_do() -> None:
    nvidia = stands_for("A100", "H100", "H100-SHARED", "L4")
    assert asked(1, nvidia, gpu_types="H100,T4").types == ("H100", "H100-SHARED")
    assert asked(8, nvidia, gpu_types="L4,A100").types == ("L4", "A100")
    assert asked(8, nvidia, gpu_types="MI300X").types == ("MI300X (nvidia.com/gpu)",)


def test_a_slice_is_of_the_model_that_it_is_cut_from() -> None:
    slices = stands_for("A100-1G.5GB", "H100-1G.10GB", "H100-PRO")
    assert asked(1, slices, gpu_types="H100").types == ("H100-1G.10GB",)


def test_parts_of_gpus_are_of_the_models_that_are_named() -> None:
    half = asked(0, gpu_fraction="0.5", gpu_types="L4")
    assert half == GpuRequest(1, milli=500, types=("L4",))
    assert asked(0, gpu_memory="10Gi", gpu_types="L4") == GpuRequest(
        1, share_mib=10240, types=("L4",)
    )


def test_pods_without_gpus_have_no_models() -> None:
    assert asked(0, gpu_types="L4") == GpuRequest()


@pytest.mark.parametrize("text", ["H100,,A100", ",", "80GB", "H100 A100", "H100;A100"])
def test_a_list_of_models_that_is_none_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(InputError) as refused:
        models_of({TYPES: text})
    assert refused.value.message.startswith(f"{TYPES}: ")
    assert refused.value.hint


def placed(stage: Stage, *pods: Body) -> dict[str, Any]:
    """Gangs of pods by name, as the engine knows them."""
    stage.show(*pods)
    stage.turn()
    records = stage.controller.scene.state.gangs.records.values()
    return {each.gang.name.partition("/")[2]: each.gang for each in records}


def noted(name: str, key: str = "", text: str = "", priority: int | None = None) -> Body:
    body = w.bare(name, annotations={key: text} if key else {})
    if priority is not None:
        body["spec"]["priority"] = priority
    return body


def test_pods_without_a_priority_class_have_the_priority_that_they_say() -> None:
    found = placed(
        Stage(),
        noted("plain"),
        noted("said", PRIORITY, "75", 0),
        noted("classed", PRIORITY, "75", 1000),
        noted("below", PRIORITY, "75", -10),
    )
    assert {name: each.priority for name, each in found.items()} == {
        "plain": 0,
        "said": 75,
        "classed": 1000,
        "below": -10,
    }


@pytest.mark.parametrize("text", ["high", "101", "-1", "1.5", "0000000050"])
def test_a_priority_that_is_none_keeps_a_gang_waiting_and_says_so(text: str) -> None:
    stage = Stage()
    assert not placed(stage, noted("odd", PRIORITY, text))
    (why,) = stage.controller.scene.gangs.complaints.values()
    assert why == f"{PRIORITY}: should be a number from 0 to 100, not {text!r}"


def test_a_model_that_is_none_keeps_a_gang_waiting_and_says_so() -> None:
    stage = Stage()
    assert not placed(stage, noted("odd", TYPES, "8x"))
    (why,) = stage.controller.scene.gangs.complaints.values()
    assert why.startswith(f"{TYPES}: '8X' is no model of GPU")
