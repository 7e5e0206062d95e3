"""How much of the fleet a gang takes at once."""

from ganglion.model.workload import Gang


def gpus_of(gang: Gang) -> int:
    """Thousandths of GPUs that all pods of a gang ask for."""
    gpus = ((each.request.gpu, each.count) for each in gang.pod_sets)
    return sum(gpu.count * gpu.milli * count for gpu, count in gpus)


def breadth(gang: Gang) -> int:
    """GPUs of a gang, or its CPU cores where it uses none; at least 1."""
    gpus = sum(each.count * each.request.gpu.count for each in gang.pod_sets)
    return gpus or max(cpus_of(gang) // 1000, 1)


def cpus_of(gang: Gang) -> int:
    """Thousandths of CPUs that all pods of a gang ask for."""
    return sum(each.count * each.request.cpu_milli for each in gang.pod_sets)
