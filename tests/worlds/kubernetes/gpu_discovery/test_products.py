"""Product labels become the names that people write."""

import pytest

from ganglion.specs.grammar.gpus import parse_gpus
from ganglion.worlds.kubernetes.gpu_discovery.products import product_of, read


@pytest.mark.parametrize(
    ("label", "model"),
    [
        ("NVIDIA-H100-80GB-HBM3", "H100"),
        ("NVIDIA-H100-PCIe", "H100"),
        ("NVIDIA-H100-NVL", "H100"),
        ("NVIDIA-A100-SXM4-40GB", "A100"),
        ("NVIDIA-B300-SXM6-AC", "B300"),
        ("NVIDIA-GB200", "GB200"),
        ("NVIDIA-GH200-480GB", "GH200"),
        ("NVIDIA-H100-80GB-HBM3-SHARED", "H100"),
        ("Tesla-V100-SXM2-16GB", "V100"),
        ("Tesla-T4", "T4"),
        ("NVIDIA-RTX-A6000", "A6000"),
        ("NVIDIA-GeForce-RTX-4090", "RTX4090"),
        ("NVIDIA-RTX-6000-Ada-Generation", "RTX6000ADA"),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "RTXPRO6000"),
        ("nvidia-h100-mega-80gb", "H100"),
        ("nvidia-tesla-a100", "A100"),
        ("H100_NVLINK_80GB", "H100"),
        ("AMD_Instinct_MI300X_OAM", "MI300X"),
        ("AMD_Instinct_MI250X_MI250", "MI250X"),
        ("Intel-Gaudi-2-96GB", "GAUDI2"),
        ("Max_1550", "MAX-1550"),
        ("8060S", "GPU-8060S"),
    ],
)
def test_a_label_names_the_model_that_can_be_asked_for(label: str, model: str) -> None:
    assert read(label).model == model
    assert parse_gpus(f"{model}:4").types == (model,)


def test_a_label_that_names_nothing_is_a_gpu() -> None:
    assert read("---").model == "GPU"


def test_the_profile_of_a_slice_is_set_apart_from_the_model() -> None:
    found = read("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb")
    assert (found.model, found.profile) == ("A100", "1G.5GB")


@pytest.mark.parametrize(
    ("instance", "model"),
    [
        ("p4d.24xlarge", "A100"),
        ("p5.48xlarge", "H100"),
        ("p5en.48xlarge", "H200"),
        ("p6e-gb200.36xlarge", "GB200"),
        ("g6.12xlarge", "L4"),
        ("g6e.12xlarge", "L40S"),
        ("a3-highgpu-8g", "H100"),
        ("a3-ultragpu-8g", "H200"),
        ("a4x-highgpu-4g", "GB200"),
        ("Standard_ND96isr_H100_v5", "H100"),
        ("Standard_ND128isr_NDR_GB200_v6", "GB200"),
        ("Standard_NC6s_v3", "V100"),
        ("BM.GPU.H100.8", "H100"),
        ("BM.GPU.A100-v2.8", "A100"),
        ("BM.GPU4.8", "A100"),
        ("VM.GPU.A10.1", "A10"),
        ("m5.large", "GPU"),
        ("", "GPU"),
    ],
)
def test_instance_types_tell_the_model_where_labels_do_not(instance: str, model: str) -> None:
    labels = {"node.kubernetes.io/instance-type": instance}
    assert product_of("nvidia.com/gpu", labels).model == model


def test_a_product_label_outranks_the_instance_type() -> None:
    labels = {
        "node.kubernetes.io/instance-type": "p5.48xlarge",
        "nvidia.com/gpu.product": "NVIDIA-H200",
    }
    assert product_of("nvidia.com/gpu", labels).model == "H200"


def test_amd_is_known_by_its_device_id_where_the_driver_knows_no_name() -> None:
    assert product_of("amd.com/gpu", {"beta.amd.com/gpu.device-id": "74a1"}).model == "MI300X"
    assert product_of("amd.com/gpu", {"amd.com/gpu.device-id": "ffff"}).model == "AMD"


@pytest.mark.parametrize(
    ("label", "count", "linked"),
    [
        ("NVIDIA-H100-80GB-HBM3", 8, True),
        ("NVIDIA-H100-PCIe", 8, False),
        ("NVIDIA-H100-NVL", 2, False),
        ("NVIDIA-H200-NVL", 8, False),
        ("NVIDIA-H200", 8, True),
        ("NVIDIA-A100-SXM4-80GB", 4, True),
        ("NVIDIA-L40S", 8, False),
        ("NVIDIA-GB200", 4, True),
        ("h100", 8, True),
        ("h100", 2, False),
        ("AMD_Instinct_MI300X_OAM", 8, True),
        ("Tesla-T4", 4, False),
    ],
)
def test_boards_are_linked_and_cards_are_not(label: str, count: int, linked: bool) -> None:
    assert read(label).is_linked(count) is linked
