"""The rules once more, straight from the objects: every pod against every pod, every order."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from math import floor, log
from typing import Any

from ganglion.worlds.kubernetes.types.affinity import PodTerm, SpreadConstraint
from ganglion.worlds.kubernetes.types.meta import LabelSelector, Requirement
from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod

Placed = Sequence[tuple[Pod, str]]
Nodes = Mapping[str, Node]
Namespaces = Mapping[str, Mapping[str, str]]


def fits(pod: Pod, node: str, nodes: Nodes, placed: Placed, spaces: Namespaces) -> bool:
    """Whether one pod may join the others on a node, by the dynamic rules."""
    return (
        room(pod, node, nodes, placed)
        and not clashes(pod, node, placed)
        and distance(pod, node, nodes, placed, spaces)
        and company(pod, node, nodes, placed, spaces)
        and all(even(pod, node, nodes, placed, each) for each in hard(pod))
    )


def together(members: Placed, nodes: Nodes, placed: Placed, spaces: Namespaces) -> bool:
    """Whether all members may go where they are meant to, at once."""
    everybody = [*placed, *members]
    for at, (pod, node) in enumerate(members):
        others = [*placed, *members[:at], *members[at + 1 :]]
        if not allowed(pod, nodes[node]):
            return False
        if clashes(pod, node, others) or not distance(pod, node, nodes, others, spaces):
            return False
        if not room(pod, node, nodes, others):
            return False
        if any(not balanced(pod, node, nodes, everybody, each) for each in hard(pod)):
            return False
    return any(
        all(
            company(pod, node, nodes, [*placed, *order[:at]], spaces)
            for at, (pod, node) in enumerate(order)
        )
        for order in permutations(members)
    )


def allowed(pod: Pod, node: Node) -> bool:
    """Whether a pod may use a node whatever else runs there."""
    keys = {each.key for each in pod.spec.tolerations}
    wanted = pod.spec.node_selector.items()
    return (
        not node.spec.unschedulable
        and all(each.key in keys for each in node.spec.taints)
        and all(node.metadata.labels.get(key) == value for key, value in wanted)
    )


def room(pod: Pod, node: str, nodes: Nodes, placed: Placed) -> bool:
    here = [other for other, where in placed if where == node]
    for name, amount in asked(pod).items():
        there = int(nodes[node].status.allocatable.get(name, 0))
        if amount and there - sum(asked(other).get(name, 0) for other in here) < amount:
            return False
    return True


def asked(pod: Pod) -> dict[str, int]:
    return {k: int(v) for c in pod.spec.containers for k, v in c.resources.requests.items()}


def clashes(pod: Pod, node: str, placed: Placed) -> bool:
    return any(
        mine.host_port == other.host_port
        and mine.protocol == other.protocol
        and ("" in (mine.host_ip, other.host_ip) or mine.host_ip == other.host_ip)
        for there, where in placed
        if where == node
        for mine in ports(pod)
        for other in ports(there)
    )


def ports(pod: Pod) -> list[Any]:
    return [each for c in pod.spec.containers for each in c.ports if each.host_port]


def distance(pod: Pod, node: str, nodes: Nodes, placed: Placed, spaces: Namespaces) -> bool:
    for other, where in placed:
        for term in apart(pod):
            if same(term.topology_key, node, where, nodes) and means(term, pod, other, spaces):
                return False
        for term in apart(other):
            if same(term.topology_key, node, where, nodes) and means(term, other, pod, spaces):
                return False
    return True


def company(pod: Pod, node: str, nodes: Nodes, placed: Placed, spaces: Namespaces) -> bool:
    terms = near(pod)
    if any(each.topology_key not in nodes[node].metadata.labels for each in terms):
        return False
    meant = [(o, w) for o, w in placed if all(means(t, pod, o, spaces) for t in terms)]
    if all(any(same(t.topology_key, node, w, nodes) for _, w in meant) for t in terms):
        return True
    somewhere = any(t.topology_key in nodes[w].metadata.labels for _, w in meant for t in terms)
    return not somewhere and all(means(t, pod, pod, spaces) for t in terms)


def even(pod: Pod, node: str, nodes: Nodes, placed: Placed, rule: SpreadConstraint) -> bool:
    """Before the pod is placed."""
    own = nodes[node].metadata.labels.get(rule.topology_key)
    if own is None:
        return False
    counts = standing(pod, nodes, placed, rule)
    itself = int(chosen(rule.label_selector, pod.metadata.labels))
    return counts.get(own, 0) + itself - fewest(counts, rule) <= rule.max_skew


def balanced(pod: Pod, node: str, nodes: Nodes, placed: Placed, rule: SpreadConstraint) -> bool:
    """After all are placed."""
    own = nodes[node].metadata.labels.get(rule.topology_key)
    if own is None:
        return False
    counts = standing(pod, nodes, placed, rule)
    blind = not counted(pod, nodes[node], rule, hard(pod))
    unseen = int(blind and chosen(rule.label_selector, pod.metadata.labels))
    return counts.get(own, 0) + unseen - fewest(counts, rule) <= rule.max_skew


def standing(
    pod: Pod,
    nodes: Nodes,
    placed: Placed,
    rule: SpreadConstraint,
    rules: Sequence[SpreadConstraint] | None = None,
) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, each in nodes.items():
        if counted(pod, each, rule, hard(pod) if rules is None else rules):
            value = each.metadata.labels[rule.topology_key]
            counts[value] = counts.get(value, 0) + sum(
                chosen(rule.label_selector, other.metadata.labels)
                for other, where in placed
                if where == name
                and other.metadata.namespace == pod.metadata.namespace
                and not other.metadata.deletion_timestamp
            )
    return counts


def counted(
    pod: Pod, node: Node, rule: SpreadConstraint, rules: Sequence[SpreadConstraint]
) -> bool:
    labels = node.metadata.labels
    if any(each.topology_key not in labels for each in rules):
        return False
    if rule.node_affinity_policy == "Honor" and not _may_go(pod, node):
        return False
    keys = {each.key for each in pod.spec.tolerations}
    barring = (t for t in node.spec.taints if t.effect != "PreferNoSchedule")
    return rule.node_taints_policy != "Honor" or all(t.key in keys for t in barring)


def _may_go(pod: Pod, node: Node) -> bool:
    labels = node.metadata.labels
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    return all(labels.get(k) == v for k, v in pod.spec.node_selector.items()) and (
        not required
        or any(
            all(_holds_of_node(each, labels) for each in term.match_expressions)
            for term in required.node_selector_terms
        )
    )


def fewest(counts: Mapping[str, int], rule: SpreadConstraint) -> int:
    return 0 if len(counts) < (rule.min_domains or 1) else min(counts.values())


def hard(pod: Pod) -> list[SpreadConstraint]:
    rules = pod.spec.topology_spread_constraints
    return [each for each in rules if each.when_unsatisfiable == "DoNotSchedule"]


def near(pod: Pod) -> tuple[PodTerm, ...]:
    found = pod.spec.affinity and pod.spec.affinity.pod_affinity
    return found.required_during_scheduling_ignored_during_execution if found else ()


def apart(pod: Pod) -> tuple[PodTerm, ...]:
    found = pod.spec.affinity and pod.spec.affinity.pod_anti_affinity
    return found.required_during_scheduling_ignored_during_execution if found else ()


def worth(
    pod: Pod, open_to: Sequence[str], nodes: Nodes, placed: Placed, spaces: Namespaces
) -> dict[str, int]:
    """Points of each node that is open to a pod by what it prefers, as the API's words have it."""
    affinity = {name: _wished(pod, nodes[name]) for name in open_to}
    taints = {name: _avoided(pod, nodes[name]) for name in open_to}
    near = {name: _drawn(pod, name, nodes, placed, spaces) for name in open_to}
    most, worst = max(affinity.values()), max(taints.values())
    low, high = min(near.values()), max(near.values())
    even = _evenness(pod, open_to, nodes, placed)
    return {
        name: 2 * (100 * affinity[name] // most if most else 0)
        + 3 * (100 - (100 * taints[name] // worst if worst else 0))
        + 2 * (int(100 * ((near[name] - low) / (high - low))) if high > low else 0)
        + 2 * even.get(name, 0)
        for name in open_to
    }


def _wished(pod: Pod, node: Node) -> int:
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    wishes = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
    return sum(
        each.weight
        for each in wishes
        if all(_holds_of_node(e, node.metadata.labels) for e in each.preference.match_expressions)
    )


def _holds_of_node(each: Requirement, labels: Mapping[str, str]) -> bool:
    if each.operator in ("Gt", "Lt"):
        if each.key not in labels:
            return False
        have, bound = int(labels[each.key]), int(each.values[0])
        return have > bound if each.operator == "Gt" else have < bound
    return _holds(each, labels)


def _avoided(pod: Pod, node: Node) -> int:
    worse = [each for each in node.spec.taints if each.effect == "PreferNoSchedule"]
    return sum(
        not any(
            each.key in ("", taint.key)
            and each.effect in ("", taint.effect)
            and (each.operator == "Exists" or each.value == taint.value)
            for each in pod.spec.tolerations
        )
        for taint in worse
    )


def _drawn(pod: Pod, node: str, nodes: Nodes, placed: Placed, spaces: Namespaces) -> int:
    total = 0
    for other, where in placed:
        for holder, meant in ((pod, other), (other, pod)):
            for weight, term in _liked(holder):
                if same(term.topology_key, node, where, nodes) and means(
                    term, holder, meant, spaces
                ):
                    total += weight
    return total


def _liked(pod: Pod) -> list[tuple[int, PodTerm]]:
    affinity, found = pod.spec.affinity, []
    for sign, rules in (
        (1, affinity.pod_affinity if affinity else None),
        (-1, affinity.pod_anti_affinity if affinity else None),
    ):
        wishes = rules.preferred_during_scheduling_ignored_during_execution if rules else ()
        found += [(sign * each.weight, each.pod_affinity_term) for each in wishes]
    return found


def _evenness(pod: Pod, open_to: Sequence[str], nodes: Nodes, placed: Placed) -> dict[str, int]:
    rules = soft(pod)
    known = [n for n in open_to if all(r.topology_key in nodes[n].metadata.labels for r in rules)]
    if not rules or not known:
        return {}
    crowding = dict.fromkeys(known, 0.0)
    for rule in rules:
        domains = {name: nodes[name].metadata.labels[rule.topology_key] for name in known}
        weight = log(len(set(domains.values())) + 2)
        counts = standing(pod, nodes, placed, rule, rules)
        for name, value in domains.items():
            crowding[name] += counts.get(value, 0) * weight + rule.max_skew - 1
    rounded = {name: floor(each + 0.5) for name, each in crowding.items()}
    low, high = min(rounded.values()), max(rounded.values())
    return {
        name: 100 * (high + low - each) // high if high else 100 for name, each in rounded.items()
    }


def soft(pod: Pod) -> list[SpreadConstraint]:
    rules = pod.spec.topology_spread_constraints
    return [each for each in rules if each.when_unsatisfiable == "ScheduleAnyway"]


def same(key: str, one: str, other: str, nodes: Nodes) -> bool:
    value = nodes[one].metadata.labels.get(key)
    return value is not None and nodes[other].metadata.labels.get(key) == value


def means(term: PodTerm, holder: Pod, other: Pod, spaces: Namespaces) -> bool:
    inside = other.metadata.namespace in term.namespaces
    if term.namespace_selector is not None:
        inside = inside or chosen(term.namespace_selector, spaces[other.metadata.namespace])
    elif not term.namespaces:
        inside = other.metadata.namespace == holder.metadata.namespace
    mine, theirs = holder.metadata.labels, other.metadata.labels
    if any(k in mine and theirs.get(k) != mine[k] for k in term.match_label_keys):
        return False
    if any(k in mine and theirs.get(k) == mine[k] for k in term.mismatch_label_keys):
        return False
    return inside and chosen(term.label_selector, theirs)


def chosen(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    equal = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return equal and all(_holds(each, labels) for each in selector.match_expressions)


def _holds(each: Requirement, labels: Mapping[str, str]) -> bool:
    return {
        "In": labels.get(each.key) in each.values,
        "NotIn": labels.get(each.key) not in each.values,
        "Exists": each.key in labels,
        "DoesNotExist": each.key not in labels,
    }[each.operator]


def by_name(nodes: Iterable[Node]) -> dict[str, Node]:
    return {each.metadata.name: each for each in nodes}
