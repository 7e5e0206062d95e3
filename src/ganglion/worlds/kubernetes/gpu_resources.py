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

FOREIGN_RESOURCES = (
    "aliyun.com/gpu-mem",
    "aliyun.com/gpu-core.percentage",
    "volcano.sh/vgpu-number",
    "volcano.sh/vgpu-memory",
    "volcano.sh/vgpu-cores",
    "volcano.sh/gpu-memory",
    "nvidia.com/gpumem",
    "nvidia.com/gpumem-percentage",
    "nvidia.com/gpucores",
    "tencent.com/vcuda-core",
    "tencent.com/vcuda-memory",
    "koordinator.sh/gpu-core",
    "koordinator.sh/gpu-memory",
    "koordinator.sh/gpu-memory-ratio",
)
"""Parts of GPUs that only the scheduler which invented them can keep books of."""
FOREIGN_PARTS = ("gpu-fraction", "gpu-memory")
"""Annotations of pods by which KAI shares GPUs; no limit of the container goes with them."""

_WHOLE = frozenset(GPU_RESOURCES)


def is_counted(name: str) -> bool:
    """Whether a resource is an extended one that is no GPU: nodes have whole numbers of it."""
    is_extended = "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")
    return is_extended and not is_gpu_resource(name)


@lru_cache(maxsize=4096)
def is_gpu_resource(name: str) -> bool:
    """Whether a resource is a GPU, a part of one, or another accelerator."""
    return name in _WHOLE or name.startswith(GPU_PREFIXES)
