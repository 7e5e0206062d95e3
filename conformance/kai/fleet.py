"""Nodes and queues of a scenario in KAI's words, in ours.

All GPUs are of one flavor and quota counts all flavors together; a quota without bound is all
there is. Memory is counted in kilobytes where the engine says MiB, so that every amount stays
a whole number.
"""

from collections.abc import Iterable

from conformance.kai import schema as kai
from ganglion.model.fleet.levels import ABOVE_NODE, Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.queue import ANY_FLAVOR, Preemption, Queue
from ganglion.model.resources import WHOLE, Amount

FLAVOR = "gpu"
HOSTS = ("hostname", "kubernetes.io/hostname", "host", "node")
Levels = dict[str, Level]


def levels_of(case: kai.Case) -> Levels:
    """Our level of every label key that a topology names.

    A key called like a level is that level; the others take the narrowest levels that are
    left, in their order.
    """
    keys = list(dict.fromkeys(key for each in case.topologies for key in each.levels_top_down))
    levels = {key: Level.NODE for key in keys if key in HOSTS}
    by_name = {level.value: level for level in ABOVE_NODE}
    levels |= {key: by_name[key] for key in keys if key in by_name}
    others = [key for key in keys if key not in levels]
    free = [level for level in ABOVE_NODE if level not in levels.values()]
    return levels | dict(zip(others, free[len(free) - len(others) :], strict=False))


def node_of(node: kai.Node, case: kai.Case, levels: Levels) -> Node:
    """One node with its domains."""
    return Node(
        node.name,
        cpu_milli=_milli(node.cpu_cores),
        memory_mib=node.memory_bytes // 1000,
        devices=(Device(FLAVOR, node.gpu_memory_units),) * node.gpus,
        domains=_domains(node, case, levels),
        labels=node.labels,
        flavor=FLAVOR,
    )


def queues_of(case: kai.Case, preemption: Preemption) -> list[Queue]:
    """All queues, parents before children, otherwise in the order of the file."""
    left = list(case.queues)
    known: set[str | None] = {None, ""}
    fleet = sum(each.gpus for each in case.nodes) * WHOLE
    decimals = any(each.gpu.over_quota_weight % 1 for each in left)
    found: list[Queue] = []
    while left:
        ready = [each for each in left if each.parent in known] or left
        for each in ready:
            found.append(_queue(each, _preemption(each, case, preemption), decimals, fleet))
            known.add(each.name)
            left.remove(each)
    return found


def _queue(queue: kai.Queue, preemption: Preemption | None, decimals: bool, fleet: int) -> Queue:
    weight = queue.gpu.over_quota_weight * (WHOLE if decimals else 1)
    bounds = (queue.gpu, queue.cpu_cores, queue.memory_bytes)
    return Queue(
        queue.name,
        queue.parent or "",
        quota={ANY_FLAVOR: _amount((each.quota for each in bounds), fleet)},
        limit={ANY_FLAVOR: _amount((each.limit for each in bounds), None)},
        over_quota_weight=round(weight),
        priority=queue.priority,
        preemption=preemption,
    )


def _preemption(queue: kai.Queue, case: kai.Case, rights: Preemption) -> Preemption | None:
    """The delay of a queue's jobs, which KAI knows per job, as one of the queue.

    KAI's least run times are 0 where a queue names none, and no scenario does.
    """
    delays = {each.preemption_delay_minutes for each in case.jobs if each.queue == queue.name}
    delay = round(max(delays, default=0) * 60_000)
    if not delay and not rights.share_after_ms:
        return None
    return Preemption(rights.preempt, rights.reclaim, rights.borrowing, delay_ms=delay)


def _amount(bounds: Iterable[kai.Quantity], unlimited: int | None) -> Amount:
    gpu, cpu, memory = (None if each in (None, kai.UNLIMITED) else each for each in bounds)
    return Amount(
        gpu_milli=unlimited if gpu is None else _milli(gpu),
        cpu_milli=None if cpu is None else _milli(cpu),
        memory_mib=None if memory is None else round(float(memory)) // 1000,
    )


def _milli(amount: float | str) -> int:
    return round(float(amount) * WHOLE)


def _domains(node: kai.Node, case: kai.Case, levels: Levels) -> dict[Level, str]:
    """Domains by level, each named with those above it: a rack lies in one zone."""
    found: dict[Level, str] = {}
    for topology in case.topologies:
        path = ""
        for key in topology.levels_top_down:
            value = node.labels.get(key)
            if value and levels.get(key, Level.NODE) is not Level.NODE:
                path = f"{path}.{value}" if path else value
                found[levels[key]] = path
    return found
