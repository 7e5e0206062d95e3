"""How wide a gang is, and its rank among equals: expected length, aged against starvation."""

from ganglion.model.workload import Gang

SECOND_MS = 1000
PARTS = 16
"""Parts that one doubling is divided into."""


def gpus_of(gang: Gang) -> int:
    """Thousandths of GPUs that all pods of a gang ask for."""
    total = 0
    for each in gang.pod_sets:
        gpu = each.request.gpu
        total += gpu.count * gpu.milli * each.count
    return total


def breadth(gang: Gang) -> int:
    """GPUs of a gang, or its CPU cores where it uses none; at least 1."""
    gpus = sum(each.count * each.request.gpu.count for each in gang.pod_sets)
    return gpus or max(cpus_of(gang) // 1000, 1)


def cpus_of(gang: Gang) -> int:
    """Thousandths of CPUs that all pods of a gang ask for."""
    return sum(each.count * each.request.cpu_milli for each in gang.pod_sets)


def aged_rank(expected_ms: int, submitted_ms: int, ageing_ms: int) -> int:
    """Where a gang stands among its equals; smaller goes first.

    A gang counts as submitted later by `ageing_ms` for every doubling of its expected length.
    So a shorter gang overtakes only gangs submitted less than `ageing_ms` x (doublings between
    them) before it: waiting makes up for length, and as the wait of all gangs grows alike the
    rank never has to be computed again.

    Args:
        expected_ms: expected run time, or service.
        submitted_ms: when it was submitted.
        ageing_ms: wait that makes up for one doubling; 0 = nothing does, the shortest first.
    """
    steps = doublings(expected_ms)
    return submitted_ms + ageing_ms * steps // PARTS if ageing_ms else steps


def doublings(length_ms: int) -> int:
    """Logarithm to base 2 of a length in seconds, in parts of `PARTS`, linear in between."""
    seconds = max(length_ms // SECOND_MS, 1)
    whole = seconds.bit_length() - 1
    return PARTS * whole + ((PARTS * seconds) >> whole) - PARTS
