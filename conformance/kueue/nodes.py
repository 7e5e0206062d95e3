"""Nodes for a scenario: its cluster, and one roomy node for every flavor without one."""

from collections.abc import Iterator

from conformance.kueue import schema as said
from conformance.kueue.queues import DEFAULT_QUEUE, milli
from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import ABOVE_NODE, Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.resources import WHOLE
from ganglion.specs.wording import meant

HOST = ("host", "hostname", "kubernetes.io/hostname")
"""Names of the level of single nodes."""

UNKNOWN = Level.NVLINK
"""Placeholder for levels that the cluster does not have: as in Kueue, pods that want one wait."""

MEMORY_MIB = 1 << 30
ROOMY_CPU_MILLI = 10**10


class Ground:
    """Which nodes and levels a scenario has.

    Args:
        case: the scenario.
        clusters: clusters that scenarios share, by name.
        apart: whether a flavor without topology lies beside the cluster rather than on it.
    """

    def __init__(self, case: said.Case, clusters: dict[str, said.Cluster], apart: bool) -> None:
        self._case = case
        if case.cluster and case.cluster not in clusters:
            hint = meant(case.cluster, clusters)
            raise FieldError(f"there is no cluster {case.cluster}", key="cluster", hint=hint)
        self.cluster = case.cluster_inline or clusters.get(case.cluster)
        names = [q.flavor for queue in case.queues or (DEFAULT_QUEUE,) for q in queue.quota]
        names += [q.flavor for cohort in case.cohorts for q in cohort.quota]
        names += [each.name for each in case.flavors or ()]
        known = {each.name: each.topology for each in case.flavors or ()}
        self.flavors = {
            name: known.get(name, case.flavors is None and self.cluster is not None)
            for name in dict.fromkeys(names)
        }
        if self.cluster and not apart and not any(self.flavors.values()):
            self.flavors = dict.fromkeys(self.flavors, True)

    @property
    def mixed(self) -> bool:
        """Whether pods have a choice between the cluster and other nodes."""
        return len(set(self.flavors.values())) > 1

    def level(self, name: str) -> Level:
        """Our level for a level of the cluster: the last ones, in the same order."""
        levels = [
            each for each in (self.cluster.levels if self.cluster else ()) if each not in HOST
        ]
        if name in HOST or self.cluster is None:
            return Level.NODE
        if name not in levels:
            return UNKNOWN
        return ABOVE_NODE[-1 - len(levels) : -1][levels.index(name)]

    def nodes(self) -> Iterator[Node]:
        """All nodes."""
        fabric = next((name for name, on in self.flavors.items() if on), "")
        if self.cluster and fabric:
            for name, node in self.cluster.nodes.items():
                yield self.node(name, node, fabric)
        for name, on in self.flavors.items():
            if not on:
                yield from (self._roomy(name, cpu) for cpu in self._apart(name) or ("",))

    def node(self, name: str, node: said.Node, flavor: str) -> Node:
        """A node of the cluster."""
        taints = {f"taint/{each}": "yes" for each in node.taints}
        return Node(
            name,
            cpu_milli=milli(node.cpu),
            memory_mib=MEMORY_MIB,
            devices=(Device(flavor),) * round(node.gpu),
            domains=self.domains(node),
            labels={**node.labels, **taints},
            flavor=flavor,
            max_pods=node.pods,
            cordoned="not ready" if node.not_ready else "cordoned" if node.cordoned else "",
        )

    def domains(self, node: said.Node) -> dict[Level, str]:
        """Domains of a node; racks of two blocks may have one name."""
        levels = self.cluster.levels if self.cluster else ()
        return {
            self.level(level): "/".join(node.at[: index + 1])
            for index, level in enumerate(levels)
            if level not in HOST and index < len(node.at)
        }

    def key(self, node: str) -> str:
        """How the file names a node's place: itself, or its domains when hosts are no level."""
        if self.cluster is None or node not in self.cluster.nodes:
            return node
        if any(level in HOST for level in self.cluster.levels):
            return node
        return "/".join(self.cluster.nodes[node].at)

    def flavor(self, node: str, resource: str) -> str:
        """Which flavor a resource of a node is counted in."""
        if not node.startswith("~"):
            return next(name for name, on in self.flavors.items() if on)
        flavor, _, cpu = node[1:].partition("+")
        return cpu if cpu and resource == "cpu" else flavor

    def taints(self) -> set[str]:
        """All taints of the cluster."""
        nodes = self.cluster.nodes.values() if self.cluster else ()
        return {taint for node in nodes for taint in node.taints}

    def _of(self, kind: str, without: str) -> list[str]:
        """Flavors with quota of one resource and none of another."""
        quotas = self._quotas()
        found = dict.fromkeys(q.flavor for q in quotas if getattr(q, kind) is not None)
        other = {q.flavor for q in quotas if getattr(q, without) is not None}
        return [name for name in found if name not in other]

    def _quotas(self) -> list[said.Quota]:
        owned = [each.quota for each in self._case.queues or (DEFAULT_QUEUE,)]
        owned += [each.quota for each in self._case.cohorts]
        return [quota for quotas in owned for quota in quotas]

    def _apart(self, flavor: str) -> list[str]:
        """Flavors of CPU beside one of GPUs only: resources of two groups."""
        alone = flavor in self._of("gpu", without="cpu")
        return self._of("cpu", without="gpu") if alone else []

    def _roomy(self, flavor: str, cpu: str = "") -> Node:
        asked = sum(
            milli(each.per_pod.get("gpu", 0)) * each.count
            for workload in self._case.workloads
            for each in workload.sets
        )
        room = -(-(asked + self._owned(flavor)) // WHOLE)
        devices = (Device(flavor),) * (0 if flavor in self._of("cpu", without="gpu") else room)
        name = f"~{flavor}+{cpu}" if cpu else f"~{flavor}"
        return Node(name, ROOMY_CPU_MILLI, MEMORY_MIB, devices, flavor=flavor, cpu_flavor=cpu)

    def _owned(self, flavor: str) -> int:
        """GPUs that queues own of a flavor: what they keep back must be there as well."""
        quotas = self._quotas()
        return sum(milli(q.gpu.nominal or 0) for q in quotas if q.gpu and q.flavor == flavor)
