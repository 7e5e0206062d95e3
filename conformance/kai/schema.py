"""Scenarios in KAI-Scheduler's words, as types: what a file may say, and nothing else."""

from typing import Literal

from msgspec import Struct, field

UNLIMITED: Literal["unlimited"] = "unlimited"
Quantity = float | Literal["unlimited"] | None
State = Literal["running", "pending", "evicting", "stuck_terminating"]
Status = Literal[
    "running", "pending", "started", "reserved", "evicting", "moving", "stuck_terminating"
]
Action = Literal["allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"]


class Node(Struct, frozen=True, forbid_unknown_fields=True):
    """One node; its GPUs are all alike."""

    name: str
    gpus: int = 0
    cpu_cores: float = 20_000
    memory_bytes: int = 20 * 10**9
    gpu_memory_units: int = 100
    labels: dict[str, str] = field(default_factory=dict)


class Bound(Struct, frozen=True, forbid_unknown_fields=True):
    """What a queue has of one resource."""

    quota: Quantity = 0
    over_quota_weight: float = 1
    limit: Quantity = None


class Queue(Struct, frozen=True, forbid_unknown_fields=True):
    """One queue; queues are listed oldest first."""

    name: str
    parent: str | None = None
    gpu: Bound = Bound(quota=UNLIMITED)
    cpu_cores: Bound = Bound(quota=UNLIMITED)
    memory_bytes: Bound = Bound(quota=UNLIMITED)
    priority: int = 100


class Subgroup(Struct, frozen=True, forbid_unknown_fields=True):
    """Tasks of a job with a least number of their own."""

    name: str
    min_member: int = 1
    topology_constraint: "Constraint | None" = None


class Constraint(Struct, frozen=True, forbid_unknown_fields=True):
    """Which domain the tasks share; levels are label keys."""

    topology: str
    required: str | None = None
    preferred: str | None = None


class Topology(Struct, frozen=True, forbid_unknown_fields=True):
    """Label keys of nodes that name domains, widest first."""

    name: str
    levels_top_down: tuple[str, ...]


class Task(Struct, frozen=True, forbid_unknown_fields=True):
    """One task, or `count` equal ones."""

    state: State = "pending"
    node: str | None = None
    count: int = 1
    gpus: int | None = None
    gpu_group: str | None = None
    subgroup: str | None = None
    task_rank: int = 0


class Job(Struct, frozen=True, forbid_unknown_fields=True):
    """One job: tasks that start together as far as their least number goes."""

    name: str
    queue: str
    tasks: tuple[Task, ...]
    priority: int = 50
    preemptible: bool | None = None
    age_minutes: float = 0
    preemption_delay_minutes: float = 0
    gpus_per_task: int | None = None
    gpu_fraction_per_task: float | None = None
    gpu_memory_per_task: int | None = None
    cpu_cores_per_task: float = 1
    memory_bytes_per_task: int = 10**9
    min_member: int | None = None
    subgroups: tuple[Subgroup, ...] = ()
    topology_constraint: Constraint | None = None


class Outcome(Struct, frozen=True, forbid_unknown_fields=True):
    """What is expected of a task."""

    status: Status
    node: str | None = None


class Expectation(Struct, frozen=True, forbid_unknown_fields=True):
    """What is expected of all tasks of a job, or of single ones (`job/index`)."""

    jobs: dict[str, Outcome] = field(default_factory=dict)
    tasks: dict[str, Outcome] = field(default_factory=dict)
    implied: str = ""
    not_asserted_by_origin: tuple[str, ...] = ()


class Better(Struct, frozen=True, forbid_unknown_fields=True):
    """An outcome to reach where the origin's own is poor; what is left out is free."""

    evicted: tuple[str, ...] | None = None
    moved: tuple[str, ...] | None = None
    end_running_gpus: float | None = None
    note: str = ""


class Observed(Struct, frozen=True, forbid_unknown_fields=True):
    """What the origin did with a probe."""

    evicted: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    end_running_gpus: float = 0
    total_gpus: float = 0
    evicted_again_in_every_cycle: tuple[str, ...] = ()


class Final(Struct, frozen=True, forbid_unknown_fields=True):
    """What the origin did with a random cluster."""

    end_gpus: int
    evictions: int = 0
    start_gpus: int = 0
    evicted_twice: int = 0
    never_settles: bool = False
    non_preemptible_evicted: bool = False
    final: dict[str, str] = field(default_factory=dict)
    evicted_first_cycle: tuple[str, ...] = ()
    gpu_fair_share: dict[str, float] = field(default_factory=dict)


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the scheduler."""

    node_placement: Literal["binpack", "spread"] = "binpack"


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """One scenario."""

    id: str
    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...]
    jobs: tuple[Job, ...]
    category: str = ""
    tier: str = ""
    origin: str = ""
    verified: str = ""
    describe: str = ""
    note: str = ""
    why: str = ""
    mode: Literal["converge", "single_cycle"] = "converge"
    settle_within_cycles: int = 8
    action_under_test: Action | None = None
    topologies: tuple[Topology, ...] = ()
    config: Config = Config()
    expect: Expectation | None = None
    better: Better | None = None
    kai_observed: Observed | None = None
    kai: Final | None = None
    kai_gpu_fair_share: dict[str, float] = field(default_factory=dict)
