"""Which resources of nodes and pods are GPUs or other accelerators, by name.

Resources named here are devices to Ganglion: they are placed, shared out and charged. Every
other extended resource (network cards, licences) is only counted against what a node has.
"""

from functools import lru_cache

GPU_RESOURCES = (
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "amd.com/gpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "habana.ai/gaudi",
    "google.com/tpu",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neurondevice",
    "aws.amazon.com/neuroncore",
    "huawei.com/Ascend910",
    "huawei.com/Ascend310P",
    "cambricon.com/mlu",
    "hygon.com/dcu",
    "metax-tech.com/gpu",
    "mthreads.com/gpu",
    "rebellions.ai/ATOM",
    "furiosa.ai/npu",
)
"""Whole devices as the vendors' device plugins call them."""

GPU_PREFIXES = (
    "nvidia.com/mig-",
    "amd.com/spx_",
    "amd.com/dpx_",
    "amd.com/qpx_",
    "amd.com/cpx_",
)
"""Parts of devices: MIG profiles (`nvidia.com/mig-1g.10gb`), partitions (`amd.com/cpx_nps4`)."""

_WHOLE = frozenset(GPU_RESOURCES)


@lru_cache(maxsize=4096)
def is_gpu_resource(name: str) -> bool:
    """Whether a resource is a GPU, a part of one, or another accelerator."""
    return name in _WHOLE or name.startswith(GPU_PREFIXES)
