"""What the fleet has and what is left of it, in numbers for people and graphs."""

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.topology.node_state import NodeState
from ganglion.model.fleet.capacity import FlavorReport
from ganglion.model.resources import WHOLE


def capacity(state: ClusterState) -> list[FlavorReport]:
    """One report per flavor, by name; counted by condition, so cheap for any number of nodes."""
    state.fleet.tree.settle()
    sums: dict[str, dict[str, int]] = {}
    for each, count in state.fleet.tree.counts.items():
        condition = state.fleet.table.known[each]
        flavor = state.fleet.table.classes[condition.node_class].flavor
        _add(sums.setdefault(flavor, {}), state, condition, count)
    for node, rank in zip(state.fleet.tree.nodes, range(len(state.fleet.tree.nodes)), strict=True):
        if state.fleet.tree.is_gone(node.name):
            _lose(sums[node.kind], state, rank)
    return [FlavorReport(flavor, **sums[flavor]) for flavor in sorted(sums)]


def gpus_in_use(state: ClusterState) -> tuple[int, int]:
    """(used, total) thousandths of GPUs in the whole fleet."""
    reports = capacity(state)
    return (
        sum(each.gpu_used_milli for each in reports),
        sum(each.gpu_total_milli for each in reports),
    )


def _add(sums: dict[str, int], state: ClusterState, condition: NodeState, count: int) -> None:
    node = state.fleet.table.classes[condition.node_class]
    healthy = len(condition.gpu) - len(condition.sick)
    usable = condition.usable
    more = {
        "nodes": 1,
        "open_nodes": int(condition.open),
        "gpu_total_milli": WHOLE * healthy,
        "gpu_used_milli": sum(WHOLE - free for free in condition.gpu),
        "gpu_free_milli": sum(usable) if condition.open else 0,
        "cpu_total_milli": node.cpu_milli,
        "cpu_used_milli": node.cpu_milli - condition.cpu,
        "memory_total_mib": node.memory_mib,
        "memory_used_mib": node.memory_mib - condition.memory,
        "whole_nodes": int(condition.open and not condition.tenancy),
    }
    for name, value in more.items():
        sums[name] = sums.get(name, 0) + count * value
    hole = sum(free == WHOLE for free in usable) if condition.open else 0
    sums["largest_hole"] = max(sums.get("largest_hole", 0), hole)


def _lose(sums: dict[str, int], state: ClusterState, rank: int) -> None:
    """A lost node no longer counts as capacity, though its pods may still hold some."""
    condition = state.fleet.table.known[state.fleet.tree.conditions[rank]]
    node = state.fleet.table.classes[condition.node_class]
    sums["nodes"] -= 1
    sums["gpu_total_milli"] -= WHOLE * (len(condition.gpu) - len(condition.sick))
    sums["cpu_total_milli"] -= node.cpu_milli
    sums["memory_total_mib"] -= node.memory_mib
