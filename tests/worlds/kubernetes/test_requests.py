"""What pods take."""

from typing import Any

import msgspec
import pytest

from ganglion.model.errors import InputError
from ganglion.worlds.kubernetes.gpu_resources import is_gpu_resource
from ganglion.worlds.kubernetes.requests import Ask, ask_of, plus
from ganglion.worlds.kubernetes.types.pod import Pod


def pod(spec: dict[str, Any], **status: Any) -> Pod:
    return msgspec.convert({"metadata": {"name": "p"}, "spec": spec, "status": status}, Pod)


def box(name: str = "main", *, stays: bool = False, **requests: Any) -> dict[str, Any]:
    names = {
        "gpu": "nvidia.com/gpu",
        "disk": "ephemeral-storage",
        "hca": "rdma/hca",
        "big": "nvidia.com/mig-3g.40gb",
        "small": "nvidia.com/mig-1g.10gb",
    }
    asked = {names.get(key, key): value for key, value in requests.items()}
    found: dict[str, Any] = {"name": name, "resources": {"requests": asked}}
    return found | ({"restartPolicy": "Always"} if stays else {})


def cpu(spec: dict[str, Any], **status: Any) -> int:
    return ask_of(pod(spec, **status)).cpu_milli


def test_containers_run_beside_each_other() -> None:
    spec = {"containers": [box(cpu="500m", memory="1Gi", gpu="2"), box("b", cpu=1, memory="1")]}
    assert ask_of(pod(spec)) == Ask(1500, 1025, "nvidia.com/gpu", 2)


def test_init_containers_run_one_after_the_other_before_them() -> None:
    spec = {
        "containers": [box(cpu=1, memory="4Gi")],
        "initContainers": [box("a", cpu=3, memory="1Gi"), box("b", cpu=2, memory="1Gi")],
    }
    assert ask_of(pod(spec)) == Ask(3000, 4096)


def test_sidecars_stay_beside_whatever_starts_after_them() -> None:
    early, late = box("s", stays=True, cpu=1), box("t", stays=True, cpu=1)
    setup = box("i", cpu=5)
    assert cpu({"containers": [box(cpu=2)], "initContainers": [early, setup, late]}) == 6000
    assert cpu({"containers": [box(cpu=2)], "initContainers": [setup, early, late]}) == 5000
    assert cpu({"containers": [box(cpu=4)], "initContainers": [setup, early, late]}) == 6000


def test_a_limit_without_a_request_is_a_request() -> None:
    limits = {"cpu": "2", "nvidia.com/gpu": 4}
    only = {"name": "main", "resources": {"limits": limits, "requests": {"cpu": "1"}}}
    assert ask_of(pod({"containers": [only]})) == Ask(1000, 0, "nvidia.com/gpu", 4)


def test_what_the_whole_pod_asks_for_outranks_its_containers() -> None:
    containers = [box(cpu=8, memory="2Gi", gpu=1)]
    asked = {"requests": {"cpu": "3"}, "limits": {"memory": "9Gi", "nvidia.com/gpu": "7"}}
    spec = {"containers": containers, "resources": asked}
    assert ask_of(pod(spec)) == Ask(3000, 2048, "nvidia.com/gpu", 1)


def test_a_limit_of_the_whole_pod_stands_in_where_no_container_asks() -> None:
    limits = {"memory": "9Gi", "hugepages-2Mi": "4Mi"}
    spec = {"containers": [box(cpu=1)], "resources": {"limits": limits}}
    assert ask_of(pod(spec)) == Ask(1000, 9216, extras=(("hugepages-2Mi", 4 << 20),))


def test_huge_pages_of_the_whole_pod_are_its_limit_even_if_containers_ask_for_fewer() -> None:
    few = {"name": "main", "resources": {"limits": {"hugepages-2Mi": "2Mi"}}}
    spec = {"containers": [few], "resources": {"limits": {"hugepages-2Mi": "8Mi"}}}
    assert ask_of(pod(spec)).extras == (("hugepages-2Mi", 8 << 20),)


def test_overhead_of_the_runtime_comes_on_top() -> None:
    spec = {
        "containers": [box(cpu=1)],
        "resources": {"requests": {"cpu": "2"}},
        "overhead": {"cpu": "250m", "memory": "1.5Mi"},
    }
    assert ask_of(pod(spec)) == Ask(2250, 2)


def grown(name: str, allocated: Any, actual: Any = None) -> dict[str, Any]:
    resources = {"requests": {"cpu": actual}} if actual else None
    return {"name": name, "allocatedResources": {"cpu": allocated}, "resources": resources}


def test_a_pod_that_shrinks_holds_what_it_has_until_it_has_shrunk() -> None:
    spec = {"containers": [box(cpu=1)]}
    assert cpu(spec, containerStatuses=[grown("main", 4)]) == 4000
    assert cpu(spec, containerStatuses=[grown("main", 1, 4)]) == 4000
    assert cpu(spec, containerStatuses=[grown("main", 1, 1)]) == 1000
    assert cpu(spec, containerStatuses=[grown("another", 9), grown("main", 4)]) == 4000


def test_a_pod_that_grows_takes_what_it_wants_unless_its_node_cannot_give_it() -> None:
    spec = {"containers": [box(cpu=8)]}
    given = [grown("main", 4, 4)]
    assert cpu(spec, containerStatuses=given) == 8000
    never = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    assert cpu(spec, containerStatuses=given, conditions=[never]) == 4000
    later = never | {"reason": "Deferred"}
    assert cpu(spec, containerStatuses=given, conditions=[later]) == 8000


def test_sidecars_and_whole_pods_are_resized_too() -> None:
    spec = {"containers": [box(cpu=1)], "initContainers": [box("s", stays=True, cpu=1)]}
    assert cpu(spec, initContainerStatuses=[grown("s", 3)]) == 4000
    whole = {"containers": [box(cpu=1)], "resources": {"requests": {"cpu": "2"}}}
    assert cpu(whole, allocatedResources={"cpu": "5"}) == 5000
    assert cpu(whole, resources={"requests": {"cpu": "6"}}) == 6000


def test_other_resources_are_counted_in_bytes_and_devices() -> None:
    spec = {"containers": [box(disk="1Ki", hca="1"), box("b", disk="1k")]}
    assert ask_of(pod(spec)).extras == (("ephemeral-storage", 2024), ("rdma/hca", 1))


def test_nothing_asked_is_nothing_and_zero_gpus_are_no_gpus() -> None:
    assert ask_of(pod({"containers": [{"name": "main"}]})) == Ask()
    assert ask_of(pod({"containers": [box(gpu=0)]})) == Ask()


def test_a_second_gpu_resource_is_not_lost() -> None:
    spec = {"containers": [box(big=1, small=2)]}
    ask = ask_of(pod(spec))
    assert ask == Ask(0, 0, "nvidia.com/mig-1g.10gb", 2, (("nvidia.com/mig-3g.40gb", 1),))
    assert ask.gpus_by_resource() == {"nvidia.com/mig-1g.10gb": 2, "nvidia.com/mig-3g.40gb": 1}


def test_asks_add_up_in_any_order() -> None:
    one = Ask(1000, 10, "nvidia.com/gpu", 2, (("rdma/hca", 1),))
    two = Ask(500, 5, "amd.com/gpu", 1, (("nvidia.com/gpu", 1), ("rdma/hca", 2)))
    both = Ask(1500, 15, "amd.com/gpu", 1, (("nvidia.com/gpu", 3), ("rdma/hca", 3)))
    assert plus(one, two) == plus(two, one) == both
    assert plus(one, Ask()) == plus(Ask(), one) == one


def test_a_quantity_that_is_none_is_an_error() -> None:
    with pytest.raises(InputError, match="'lots'"):
        ask_of(pod({"containers": [box(cpu="lots")]}))


@pytest.mark.parametrize(
    "name", ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "amd.com/cpx_nps4", "habana.ai/gaudi"]
)
def test_gpus_are_known_by_name(name: str) -> None:
    assert is_gpu_resource(name)


@pytest.mark.parametrize("name", ["cpu", "rdma/hca", "nvidia.com/hostdev", "example.com/gpu"])
def test_other_resources_are_no_gpus(name: str) -> None:
    assert not is_gpu_resource(name)
