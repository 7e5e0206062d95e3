"""The topology tree: domains above, nodes below, each node in a condition.

Nodes are numbered by rank of name, so that ties fall the same way whatever the order in
which nodes appeared. Readers that keep an index of their own (`Picker`, `Fits`) follow the
logs of changes with a cursor, and pay only for what changed since they last looked.
"""

from collections import Counter
from heapq import heappop, heappush

from ganglion.engine.topology.node_state import UNBOUNDED, NodeState, ShapeView, added, widened
from ganglion.engine.topology.node_state_table import NodeStateTable, class_of, extras_of
from ganglion.model.errors import NotFound
from ganglion.model.fleet.levels import ABOVE_NODE, Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.resources import WHOLE

LOG_LIMIT = 1 << 16
"""Changes kept for the readers; one that fell further behind builds its index anew."""


class Domain:
    """One domain above the nodes.

    Attributes:
        level: its level; the root is the fleet.
        name: its own name.
        path: `zone=a/rack=r1`; empty for the fleet.
        parent: number of the domain around it; -1 for the fleet.
        children: numbers of the domains right below.
        nodes: ranks of the nodes that hang on it directly.
    """

    __slots__ = ("children", "level", "name", "nodes", "parent", "path")

    def __init__(self, level: Level, name: str, path: str, parent: int) -> None:
        self.level, self.name, self.path, self.parent = level, name, path, parent
        self.children: list[int] = []
        self.nodes: list[int] = []


class Tree:
    """All nodes and domains of the fleet.

    Attributes:
        nodes, names: by rank.
        conditions: condition number of each node, by rank.
        pods: pods on each node, by rank.
        parents: the domain each node hangs on, by rank.
        flavors: the flavor each node is charged in, by rank.
        cpu_flavors: the same for CPU and memory.
        index: name -> rank.
        domains: domain 0 is the fleet.
        counts: condition -> how many nodes are in it, at least one.
        arrivals: conditions that got their first node, in order of time.
        changes: ranks of nodes whose condition changed, in order of time.
        epoch: grows whenever ranks or logs start anew.
        descriptions: grows whenever a node is described or dropped.
        problems: what is odd in the topology, in plain words.
        sick: node -> indexes of its devices that must not be given out; others are left out.
    """

    def __init__(self, table: NodeStateTable) -> None:
        self.table = table
        self.nodes: list[Node] = []
        self.names: list[str] = []
        self.conditions: list[int] = []
        self.pods: list[int] = []
        self.parents: list[int] = []
        self.flavors: list[str] = []
        self.cpu_flavors: list[str] = []
        self.index: dict[str, int] = {}
        self.domains: list[Domain] = [Domain(Level.FLEET, "", "", -1)]
        self.counts: dict[int, int] = {}
        self.arrivals: list[int] = []
        self.changes: list[int] = []
        self.epoch = 0
        self.problems: list[str] = []
        self.descriptions = 0
        self.sick: dict[str, frozenset[int]] = {}
        self._buckets: dict[int, list[int]] = {}
        self._gone: set[str] = set()
        self._fresh: dict[str, Node] = {}
        self._devices: Counter[str] = Counter()

    def put(self, node: Node) -> None:
        """Add a node, or change the description of a known one; its pods stay."""
        self._intern_empty(node)  # what cannot be described is refused before anything changes
        self.descriptions += 1
        self._gone.discard(node.name)
        self._note_sick(node)
        rank = self.index.get(node.name)
        if rank is None or node.name in self._fresh or node.domains != self.nodes[rank].domains:
            self._fresh[node.name] = node
            return
        self._describe(rank, node)

    def known(self, name: str) -> Node | None:
        """A node as last described, also one that joined since the last `settle`."""
        rank = self.index.get(name)
        return self._fresh.get(name) or (None if rank is None else self.nodes[rank])

    def list_as(self, name: str, node: Node | None, gone: bool) -> None:
        """What `described` and `gone` say of a node is this again; the rest is made anew then."""
        self.nodes = [each for each in self.nodes if each.name != name]
        self._fresh.pop(name, None)
        self._gone.discard(name)
        if node:
            self._fresh[name] = node
        if gone:
            self._gone.add(name)

    def described(self) -> dict[str, Node]:
        """All nodes as last described, those that joined since the last `settle` included."""
        return {node.name: node for node in self.nodes} | self._fresh

    def drop(self, name: str) -> None:
        """A node is gone: nothing starts there; it is forgotten once it is empty."""
        rank = self.rank(name)
        self.descriptions += 1
        self._gone.add(name)
        self._describe(rank, self.nodes[rank])

    def _note_sick(self, node: Node) -> None:
        sick = frozenset(i for i, device in enumerate(node.devices) if not device.healthy)
        if sick:
            self.sick[node.name] = sick
        else:
            self.sick.pop(node.name, None)

    def is_gone(self, name: str) -> bool:
        """Whether a known node is gone."""
        return name in self._gone

    def rank(self, name: str) -> int:
        """Rank of a node. Raises NotFound."""
        self.settle()
        rank = self.index.get(name)
        if rank is None:
            raise NotFound(f"there is no node {name}")
        return rank

    def node(self, name: str) -> Node:
        """A node as last described. Raises NotFound."""
        rank = self.rank(name)
        return self.nodes[rank]

    def device(self, node: str, index: int) -> Device | None:
        """A device of a node as last described; None = the node has it no more."""
        devices = self.node(node).devices
        return devices[index] if index < len(devices) else None

    def gone(self) -> frozenset[str]:
        """Nodes that are gone and not yet forgotten."""
        return frozenset(self._gone & self.index.keys())

    def settle(self) -> None:
        """Give ranks to nodes that joined since the last call."""
        if self._fresh:
            self._rebuild()
        elif len(self.changes) > LOG_LIMIT or len(self.arrivals) > LOG_LIMIT:
            self.renew()

    @property
    def version(self) -> tuple[int, int]:
        """Another one after every change of a node's condition."""
        return self.epoch, len(self.changes)

    def compact(self) -> None:
        """Let the table forget the conditions that no node is in."""
        numbers = self.table.forget(self.conditions)
        self.conditions = [numbers[each] for each in self.conditions]
        self.renew()

    def renew(self) -> None:
        """Start the logs anew; every reader builds its index again when it next looks."""
        self.epoch += 1
        self._buckets, self.counts = {}, {}
        for rank, condition in enumerate(self.conditions):
            self._buckets.setdefault(condition, []).append(rank)
            self.counts[condition] = self.counts.get(condition, 0) + 1
        self.arrivals, self.changes = list(self.counts), []

    def move(self, rank: int, condition: int) -> None:
        """Put a node into a condition."""
        old = self.conditions[rank]
        if old == condition:
            return
        self.conditions[rank] = condition
        counts = self.counts
        left = counts[old] - 1
        if left:
            counts[old] = left
        else:
            del counts[old]
        present = counts.get(condition, 0)
        counts[condition] = present + 1
        bucket = self._buckets.get(condition)
        if bucket is None:
            self._buckets[condition] = [rank]
        else:
            heappush(bucket, rank)
        if not present:
            self.arrivals.append(condition)
        self.changes.append(rank)

    def first(self, condition: int) -> int:
        """Lowest rank among the nodes in a condition, of which there must be one."""
        bucket = self._buckets[condition]
        conditions = self.conditions
        while conditions[bucket[0]] != condition:
            heappop(bucket)
        return bucket[0]

    def members(self, condition: int) -> list[int]:
        """Ranks of all nodes in a condition, ascending."""
        conditions = self.conditions
        return sorted({r for r in self._buckets.get(condition, ()) if conditions[r] == condition})

    def join(self, rank: int, sight: ShapeView, devices: tuple[int, ...], milli: int) -> None:
        """A pod takes its share of a node."""
        self.pods[rank] += 1
        self.move(rank, self.table.joined(self.conditions[rank], sight, devices, milli))

    def leave(self, rank: int, sight: ShapeView, devices: tuple[int, ...], milli: int) -> None:
        """A pod gives its share back."""
        left = self.pods[rank] = self.pods[rank] - 1
        condition = self.table.left(self.conditions[rank], sight, devices, milli, not left)
        self.move(rank, condition)

    def ancestors(self, rank: int) -> list[int]:
        """Domains around a node, the narrowest first, the fleet last."""
        found = []
        at = self.parents[rank]
        while at >= 0:
            found.append(at)
            at = self.domains[at].parent
        return found

    def ranks_in(self, domain: int) -> list[int]:
        """Ranks of all nodes in a domain, ascending."""
        if domain == 0:
            return list(range(len(self.nodes)))
        found: list[int] = []
        stack = [domain]
        while stack:
            here = self.domains[stack.pop()]
            found += here.nodes
            stack += here.children
        return sorted(found)

    def levels(self) -> list[Level]:
        """Levels above node that occur, narrowest first; the fleet last."""
        present = {domain.level for domain in self.domains}
        return [level for level in (Level.FLEET, *ABOVE_NODE) if level in present][::-1]

    def emptied(self) -> "Tree":
        """The same fleet without pods, cordons and sick devices; lost nodes stay shut."""
        self.settle()
        other = Tree(self.table)
        other.nodes, other.names, other.index = self.nodes, self.names, self.index
        other.parents, other.flavors, other.domains = self.parents, self.flavors, self.domains
        other.cpu_flavors = self.cpu_flavors
        other.pods = [0] * len(self.nodes)
        other.conditions = list(map(self._emptied, self.conditions))
        for name in sorted(self._gone & self.index.keys()):
            rank = self.index[name]
            other.conditions[rank] = self._shut(other.conditions[rank])
        other.renew()
        return other

    def _emptied(self, condition: int) -> int:
        return self.table.bare(self.table.known[condition].node_class)

    def _shut(self, condition: int) -> int:
        return self.table.intern(self.table.known[condition]._replace(open=False))

    def _describe(self, rank: int, node: Node) -> None:
        old, seen = self.table.known[self.conditions[rank]], self.nodes[rank]
        self.nodes[rank], self.flavors[rank] = node, node.kind
        self.cpu_flavors[rank] = node.cpu_kind
        self.move(rank, self.table.intern(self._adjusted(node, old, seen)))
        if _types(node) != _types(seen):
            self._devices.subtract(_types(seen))
            self._devices.update(_types(node))
            self._measure()

    def _measure(self) -> None:
        self.table.measure_by(self.table.typical, dict(+self._devices))

    def counted_devices(self) -> Counter[str]:
        """Devices by type, counted anew."""
        return Counter(kind for node in self.nodes for kind in _types(node))

    def _adjusted(self, node: Node, old: NodeState, seen: Node) -> NodeState:
        """The condition of a node whose description changed while pods run on it."""
        fresh = self._empty(node)
        used = [WHOLE - free for free in old.gpu] + [0] * len(fresh.gpu)
        fresh = widened(fresh, max((i + 1 for i, milli in enumerate(used) if milli), default=0))
        slots = fresh.slots
        if slots != UNBOUNDED:
            slots -= self.pods[self.index[node.name]]
        return fresh._replace(
            tenancy=old.tenancy,
            cpu=fresh.cpu - (seen.cpu_milli - old.cpu),
            memory=fresh.memory - (seen.memory_mib - old.memory),
            slots=slots,
            gpu=tuple(free - used[index] for index, free in enumerate(fresh.gpu)),
            extras=added(added(old.extras, extras_of(seen), -1), fresh.extras, 1),
        )

    def _empty(self, node: Node) -> NodeState:
        sick = tuple(i for i, device in enumerate(node.devices) if not device.healthy)
        return NodeState(
            self.table.class_id(class_of(node)),
            not node.cordoned and node.name not in self._gone,
            "",
            node.cpu_milli,
            node.memory_mib,
            node.max_pods,
            sick,
            (WHOLE,) * len(node.devices),
            extras_of(node),
        )

    def _rebuild(self) -> None:
        kept = {
            name: (self._fresh.get(name, self.nodes[rank]), rank)
            for name, rank in self.index.items()
            if self.pods[rank] or name not in self._gone
        }
        states = {
            name: (self.table.intern(self._adjusted(node, old, seen)), self.pods[rank])
            for name, (node, rank) in kept.items()
            for old, seen in ((self.table.known[self.conditions[rank]], self.nodes[rank]),)
        }
        merged = {name: node for name, (node, _) in kept.items()} | self._fresh
        self._gone &= merged.keys()
        self._fresh = {}
        self._lay_out([merged[name] for name in sorted(merged)], states)

    def _lay_out(self, nodes: list[Node], states: dict[str, tuple[int, int]]) -> None:
        self.nodes, self.names = nodes, [node.name for node in nodes]
        self.flavors = [node.kind for node in nodes]
        self.cpu_flavors = [node.cpu_kind for node in nodes]
        self.index = {name: rank for rank, name in enumerate(self.names)}
        known = [states.get(node.name) or (self._intern_empty(node), 0) for node in nodes]
        self.conditions = [condition for condition, _ in known]
        self.pods = [pods for _, pods in known]
        self._devices = self.counted_devices()
        self._measure()
        self.renew()
        self._grow_domains()

    def _intern_empty(self, node: Node) -> int:
        return self.table.intern(self._empty(node))

    def _grow_domains(self) -> None:
        self.domains = [Domain(Level.FLEET, "", "", -1)]
        self.parents, self.problems = [], []
        by_path: dict[str, int] = {"": 0}
        homes: dict[tuple[Level, str], str] = {}
        for rank, node in enumerate(self.nodes):
            at = 0
            for level in ABOVE_NODE:
                name = node.domains.get(level)
                if name is not None:
                    at = self._child(at, level, name, by_path, homes)
            self.domains[at].nodes.append(rank)
            self.parents.append(at)

    def _child(
        self,
        parent: int,
        level: Level,
        name: str,
        by_path: dict[str, int],
        homes: dict[tuple[Level, str], str],
    ) -> int:
        above = self.domains[parent].path
        path = f"{above}/{level}={name}" if above else f"{level}={name}"
        found = by_path.get(path)
        if found is not None:
            return found
        other = homes.setdefault((level, name), above)
        if other != above:
            self.problems.append(
                f"{level} {name} lies under {other or 'the fleet'} and {above or 'the fleet'}"
            )
        found = by_path[path] = len(self.domains)
        self.domains.append(Domain(level, name, path, parent))
        self.domains[parent].children.append(found)
        return found


def _types(node: Node) -> list[str]:
    return [device.type for device in node.devices]
