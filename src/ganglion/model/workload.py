"""Workloads: what a user submits, and the gangs that the engine places."""

from enum import StrEnum

from msgspec import Struct, field

from ganglion.model.behaviour import Access, EarlyStop, Idle, Notify, Scaling, Schedule, Search
from ganglion.model.fleet.levels import Level
from ganglion.model.resources import PodRequest


class Kind(StrEnum):
    """Kinds of workloads."""

    TRAIN = "train"
    SERVICE = "service"
    WORKSPACE = "workspace"
    SWEEP = "sweep"
    BATCH = "batch"


SPARE = -1
"""Priority of gangs that use only what no other gang waits for, and leave as soon as one does;
users give 0..100."""


class Topology(
    Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, cache_hash=True
):
    """Where pods may lie relative to each other.

    Attributes:
        required: all pods lie in one domain of this level, or none starts.
        preferred: the widest level that is still good; wider is taken when nothing else fits.
        forbidden: no two pods share a domain of this level.
    """

    required: Level | None = None
    preferred: Level | None = None
    forbidden: Level | None = None


class Slice(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A nested sub-group: every consecutive `size` pods of the set share one domain.

    Attributes:
        size: pods per sub-group; divides the size of the enclosing one.
        required: the level that must be shared.
        preferred: the level that should be shared.
    """

    size: int
    required: Level | None = None
    preferred: Level | None = None


class PodSet(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, cache_hash=True):
    """Equal pods.

    Attributes:
        name: unique within the workload.
        count: pods wanted.
        min_count: fewest pods that are useful; 0 = all of them (not elastic).
        request: what each pod needs.
        topology: constraint among the pods of this set.
        slices: nested sub-groups, outermost first.
        procs: processes the world starts in each pod.
        shm_mib: shared memory of each pod in MiB, part of its memory; 0 = the world's default.
    """

    name: str = "main"
    count: int = 1
    min_count: int = 0
    request: PodRequest = PodRequest()
    topology: Topology = Topology()
    slices: tuple[Slice, ...] = ()
    procs: int = 1
    shm_mib: int = 0

    @property
    def least(self) -> int:
        """Fewest pods the gang may start with."""
        return self.min_count or self.count


class Constraints(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which nodes are allowed at all.

    Attributes:
        labels: label -> allowed values; the node must carry one of them.
        avoid: label -> values the node must not carry.
        residency: allowed region names (the node's domain at level region); empty = any.
        isolation: what may not be beside its pods: `none`, pods of another `kind`, of another
            `queue` or of another `workload`.
    """

    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    avoid: dict[str, tuple[str, ...]] = field(default_factory=dict)
    residency: tuple[str, ...] = ()
    isolation: str = "none"


class Checkpoint(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The checkpoint contract of a workload.

    Attributes:
        interval_ms: how often it saves; 0 = only when asked.
        signal: signal that asks it to save and leave.
        grace_ms: how long it may take between the signal and SIGKILL.
        path: where checkpoints are; empty = Ganglion's own folder for the workload.
        must_resume: it fails, in place of starting over, when it has saved but none of its
            checkpoints is there any more.
    """

    interval_ms: int = 0
    signal: str = "SIGTERM"
    grace_ms: int = 30_000
    path: str = ""
    must_resume: bool = False


class Deadline(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """When a workload should have ended.

    Attributes:
        at_ms: that point in time; 0 = given by `within_ms`.
        within_ms: so long after it was submitted.
    """

    at_ms: int = 0
    within_ms: int = 0

    def of(self, submitted_ms: int) -> int:
        """The point in time for a gang submitted then."""
        return self.at_ms or submitted_ms + self.within_ms


class Retry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """When a failed workload is started again.

    Attributes:
        limit: most restarts after failures of its own; loss of a node is not one.
        on: causes that count, of `failure`, `node_failure`, `preemption`, `start_failure`.
        backoff_ms: wait before the first restart; doubles up to 64 times.
        limits: cause -> most restarts after it, of the causes in `on`, `oom`, and `crash_loop`
            (failures with one exit code right after the start, in a row); causes that are not
            named go by `limit` or by their own default.
        replace: only the ranks that were lost are started again, in place, beside the ones that
            live: the program can take that.
    """

    limit: int = 0
    on: tuple[str, ...] = ("node_failure", "preemption", "start_failure")
    backoff_ms: int = 1_000
    limits: dict[str, int] = field(default_factory=dict)
    replace: bool = False


class ResolvedImage(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the tag of a container image stood for when its workload was submitted.

    Attributes:
        digest: as `sha256:…`; empty = it is not known.
        problem: why it is not.
    """

    digest: str = ""
    problem: str = ""


class Run(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a world executes; the engine never looks inside.

    Attributes:
        command: argument vector, or one shell line as a single element with `shell` set.
        shell: whether the command is a shell line.
        setup: shell line run once per pod before the command; empty = none.
        workdir: directory to run in; empty = the user's directory at submit.
        image: container image; ignored by worlds without containers.
        env: environment, already resolved (no inherited names left).
        secrets: further variables, whose values are kept elsewhere.
        port: port a service listens on; 0 = none.
        tty: whether rank 0 has a terminal.
        resolved: what the image was; None = it was not looked for, or has its digest in its name.
    """

    command: tuple[str, ...] = ()
    shell: bool = False
    setup: str = ""
    workdir: str = ""
    image: str = ""
    env: dict[str, str] = field(default_factory=dict)
    port: int = 0
    secrets: tuple[str, ...] = ()
    tty: bool = False
    resolved: ResolvedImage | None = None

    @property
    def recorded_image(self) -> str:
        """The image with its digest, or with why that is not known; empty = there is none."""
        if self.resolved is None or not self.image:
            return self.image
        if self.resolved.digest:
            return f"{self.image}@{self.resolved.digest}"
        return f"{self.image} (unresolved: {self.resolved.problem})"


class ResolvedModel(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A model that a registry was asked for once; it stays what it is when an alias moves.

    Attributes:
        reference: as the workload file names it, `models:/chat@champion`.
        uri: with the version in place of what may move, `models:/chat/3`.
        version: number, commit, tag or version of the object; empty = it has none.
        digest: of its content, as `sha256:…` or `git:…`; `record-sha256:…` = of what the registry
            says about the version, as it knows no digest of the content; `etag:…` = as an object
            store calls this state of an object.
    """

    reference: str
    uri: str
    version: str = ""
    digest: str = ""


class UnixAccount(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The account of a machine that programs run as; the name and the number belong together."""

    name: str
    uid: int

    def __str__(self) -> str:
        """As messages say it."""
        return f"{self.name} (uid {self.uid})"


class Workload(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a user submits, validated and with every alias resolved.

    Attributes:
        name: as the user calls it; unique among live workloads of the fleet.
        kind: what sort of workload.
        queue: leaf queue it is charged to.
        user: who submitted it.
        priority: 0..100, higher is more urgent.
        priority_class: name the priority came from; empty = given as a number.
        preemptible: whether others may stop it for their sake.
        pod_sets: equal pods; one gang holds all of them.
        topology: constraint among all pods of a gang.
        constraints: which nodes are allowed.
        spread: whether its gangs stay apart, by rack and then by node; None = those of a
            service do.
        time_limit_ms: most it may run; 0 = no limit.
        deadline: when it should have ended; None = no matter when.
        checkpoint: contract; None = its work is lost when stopped.
        retry: restarts.
        after: names of workloads that must have succeeded before.
        after_any: names of workloads that must have ended before, well or not.
        singleton: waits until all earlier workloads of the same name and user have ended.
        schedule: submitted anew by the clock; None = once.
        held: submitted but not to be considered yet.
        replicas: gangs of a service; where it scales, those it has now.
        scaling: how a service scales between floor and ceiling; None = it does not.
        params: parameter -> values; a sweep runs their product, one gang each.
        trials: a sweep's trials, each parameter -> value; used in place of `params`.
        search: how trials are drawn from `params`; None = all combinations.
        parallel: most trials of a sweep at once; 0 = no bound.
        parallel_min: trials at once that its team's priority holds for; further ones, up to
            `parallel`, use only what no other gang waits for; 0 = all of them are equal.
        early_stop: which trials are given up before their end; None = none.
        idle_timeout_ms: a workspace idle that long is suspended; 0 = never.
        idle: how idleness is found out and what is kept of a workspace.
        access: who reaches a service or workspace beside its owner.
        run: what to execute.
        labels: free-form, for people.
        notify: whom to notify of what happens to it; None = no one, unless the home sets it.
        account: Unix account that its programs run as, from the first attempt to the last; None =
            that of the server.
        model: that gangs get which are submitted from now on; None = none.
        cap: id of the token with a spending cap that it was submitted with; empty = none.
    """

    name: str
    kind: Kind = Kind.TRAIN
    queue: str = "default"
    user: str = ""
    priority: int = 50
    priority_class: str = ""
    preemptible: bool = True
    pod_sets: tuple[PodSet, ...] = (PodSet(),)
    topology: Topology = Topology()
    constraints: Constraints = Constraints()
    time_limit_ms: int = 0
    deadline: Deadline | None = None
    checkpoint: Checkpoint | None = None
    retry: Retry = Retry()
    after: tuple[str, ...] = ()
    after_any: tuple[str, ...] = ()
    singleton: bool = False
    schedule: Schedule | None = None
    held: bool = False
    spread: bool | None = None
    replicas: int = 1
    scaling: Scaling | None = None
    params: dict[str, tuple[str, ...]] = field(default_factory=dict)
    trials: tuple[dict[str, str], ...] = ()
    search: Search | None = None
    parallel: int = 0
    parallel_min: int = 0
    early_stop: EarlyStop | None = None
    idle_timeout_ms: int = 0
    idle: Idle = Idle()
    access: Access = Access()
    run: Run = Run()
    labels: dict[str, str] = field(default_factory=dict)
    notify: Notify | None = None
    account: UnixAccount | None = None
    model: ResolvedModel | None = None
    cap: str = ""


class Gang(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the engine places: all pods at once or none.

    Attributes:
        id: `<workload id>/<index>`, unique for ever.
        workload: id of its workload; gangs of one workload are siblings.
        queue: leaf queue.
        user: who submitted it.
        kind: kind of its workload; services spread, the others pack.
        priority: higher goes first.
        preemptible: whether others may stop it for their sake.
        pod_sets: equal pods.
        topology: constraint among all pods.
        constraints: which nodes are allowed.
        submitted: when it was submitted, in ms; age counts from here across restarts.
        time_limit_ms: most it may run; 0 = no limit.
        expected_ms: run time a predictor expects; 0 = unknown.
        checkpoint: contract; None = its work is lost when stopped.
        after: ids of workloads that must have succeeded before.
        after_any: ids of workloads that must have ended before, well or not.
        held: not to be considered yet.
        index: its number among its siblings.
        parallel: most siblings that may run at once; 0 = no bound.
        name: name of its workload, by which run times are learnt; empty = not known.
        floor: siblings that may not be stopped for the sake of others: a victim is taken only
            from what runs above; 0 = all may be.
        recall_ms: it sleeps: its place is kept for it and lent meanwhile to gangs that save and
            leave within this many ms of being asked to; 0 = it is awake.
        replace: pods that it loses with a node or GPU are replaced while the rest goes on.
        spread: whether it stays apart from its siblings; None = gangs of services do.
        deadline_ms: when it should have ended; 0 = no matter when.
        in_place: whether pods join it while the others run on; else all of it starts over.
        model: that its programs load, in every attempt; None = none.
        cap: id of the token within whose spending cap it has to stay; empty = of none.
        images: names of the container images that its pods run, in worlds with containers.
    """

    id: str
    workload: str
    queue: str
    user: str = ""
    kind: Kind = Kind.TRAIN
    priority: int = 50
    preemptible: bool = True
    pod_sets: tuple[PodSet, ...] = (PodSet(),)
    topology: Topology = Topology()
    constraints: Constraints = Constraints()
    submitted: int = 0
    time_limit_ms: int = 0
    expected_ms: int = 0
    checkpoint: Checkpoint | None = None
    after: tuple[str, ...] = ()
    after_any: tuple[str, ...] = ()
    held: bool = False
    index: int = 0
    parallel: int = 0
    name: str = ""
    floor: int = 0
    recall_ms: int = 0
    replace: bool = False
    spread: bool | None = None
    deadline_ms: int = 0
    in_place: bool = False
    model: ResolvedModel | None = None
    cap: str = ""
    images: tuple[str, ...] = ()

    @property
    def spreads(self) -> bool:
        """Whether it stays apart from its siblings."""
        return self.kind is Kind.SERVICE if self.spread is None else self.spread

    @property
    def spare(self) -> bool:
        """Whether it uses only what no other gang waits for."""
        return self.priority < 0
