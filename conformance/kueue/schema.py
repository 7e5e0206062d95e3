"""Scenarios in Kueue's words, as types: what a file may say, and nothing else."""

from typing import Any, Literal

from msgspec import Struct, field

Within = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]
Reclaim = Literal["Never", "LowerPriority", "Any"]
Search = Literal["MayStopSearch", "TryNextFlavor"]


class Bound(Struct, frozen=True, forbid_unknown_fields=True):
    """Quota of one resource in one flavor; None: borrowing and lending without limit."""

    nominal: float
    borrow: float | None = None
    lend: float | None = None


class Quota(Struct, frozen=True, forbid_unknown_fields=True):
    """Quota in one flavor; flavors of one resource group are tried in the order given."""

    flavor: str
    gpu: Bound | None = None
    cpu: Bound | None = None
    group: int = 0


class Borrowing(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether others are stopped while the queue borrows itself."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority: int | None = None


class Preemption(Struct, frozen=True, forbid_unknown_fields=True):
    """Which workloads those of a queue may have stopped."""

    within_queue: Within = "Never"
    reclaim_within_cohort: Reclaim = "Never"
    borrow_within_cohort: Borrowing = Borrowing()


class Fungibility(Struct, frozen=True, forbid_unknown_fields=True):
    """When the search through flavors ends."""

    when_can_borrow: Search = "MayStopSearch"
    when_can_preempt: Search = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] = (
        "BorrowingOverPreemption"
    )


class Cohort(Struct, frozen=True, forbid_unknown_fields=True):
    """A node of the tree above the queues, with quota of its own."""

    name: str
    parent: str = ""
    quota: tuple[Quota, ...] = ()
    weight: float = 1


class Queue(Struct, frozen=True, forbid_unknown_fields=True):
    """A ClusterQueue."""

    name: str
    cohort: str = ""
    quota: tuple[Quota, ...] = ()
    weight: float = 1
    preemption: Preemption = Preemption()
    strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    flavor_fungibility: Fungibility = Fungibility()


class Flavor(Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of nodes; `topology` = it is the scenario's cluster."""

    name: str
    topology: bool = False


class Layer(Struct, frozen=True, forbid_unknown_fields=True):
    """Every `size` pods in a row share one domain of the level."""

    level: str
    size: int


class Wish(Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that are preferred: those whose label `key` is one of `values`."""

    key: str
    values: tuple[str, ...] = field(name="in")
    weight: int = 1


class Topology(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the pods of a set lie."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool = False
    slices: tuple[Layer, ...] = ()
    group: str = ""


class PodSet(Struct, frozen=True, forbid_unknown_fields=True):
    """Equal pods."""

    name: str = "main"
    count: int = 1
    min_count: int = 0
    per_pod: dict[str, float] = field(default_factory=dict)
    topology: Topology | None = None
    tolerations: tuple[str, ...] = ()
    node_selector: dict[str, str] = field(default_factory=dict)
    prefer_nodes: tuple[Wish, ...] = ()


class Running(Struct, frozen=True, forbid_unknown_fields=True):
    """How a workload runs at the beginning; None: the harness finds a place."""

    since: float = 0
    flavor: str | None = None
    placement: dict[str, dict[str, int]] | None = None
    failed_node: str | None = None


class Workload(Struct, frozen=True, forbid_unknown_fields=True):
    """A workload; `req` is short for one pod set `main` of one pod."""

    name: str
    queue: str = ""
    priority: int = 0
    req: dict[str, float] | None = None
    podsets: tuple[PodSet, ...] = ()
    running: Running | None = None
    created: float = 0

    @property
    def sets(self) -> tuple[PodSet, ...]:
        """Its pod sets, however they are written."""
        return self.podsets if self.req is None else (PodSet(per_pod=self.req),)


class Node(Struct, frozen=True, forbid_unknown_fields=True):
    """A node; `at` names the domains it lies in, widest first."""

    at: tuple[str, ...] = ()
    gpu: float = 0
    cpu: float = 1000
    pods: int = 110
    not_ready: bool = False
    cordoned: bool = False
    taints: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


class Cluster(Struct, frozen=True, forbid_unknown_fields=True):
    """A topology."""

    levels: tuple[str, ...]
    nodes: dict[str, Node]


class OtherPod(Struct, frozen=True, forbid_unknown_fields=True):
    """A pod that this scheduler does not manage."""

    name: str
    node: str = ""
    gpu: float = 0
    cpu: float = 0
    phase: str = "Pending"


class Settled(Struct, frozen=True, forbid_unknown_fields=True):
    """The final state; None = not given."""

    running: tuple[str, ...] | None = None
    pending: tuple[str, ...] | None = None
    evicted: tuple[str, ...] | None = None
    placement: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)


class Expect(Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome of one pass, and of passes until nothing changes."""

    admitted: tuple[str, ...] = ()
    preempted: dict[str, str] = field(default_factory=dict)
    evicted: tuple[str, ...] = ()
    pending: tuple[str, ...] | None = None
    placement: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    flavors: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    pod_counts: dict[str, dict[str, int]] = field(default_factory=dict)
    reason: str = ""
    settled: Settled = Settled()


class Resize(Struct, frozen=True, forbid_unknown_fields=True):
    """The user wants another number of pods than run."""

    workload: str
    podset: str
    before: dict[str, int] = field(name="from")
    to_count: int


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """One scenario."""

    id: str
    workloads: tuple[Workload, ...]
    tier: int | str = ""
    title: str = ""
    verified: str = ""
    not_executed: bool = False
    source: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    ties: str = ""
    cluster: str = ""
    cluster_inline: Cluster | None = None
    flavors: tuple[Flavor, ...] | None = None
    cohorts: tuple[Cohort, ...] = ()
    queues: tuple[Queue, ...] = ()
    other_pods: tuple[OtherPod, ...] = ()
    fair_sharing: bool = False
    kueue_gates: dict[str, bool] = field(default_factory=dict)
    resize: Resize | None = None
    expect: Expect | None = None
    kueue_settled: Settled | None = None
    better: Settled | str = ""
