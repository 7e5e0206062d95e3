"""The workload file as pydantic models: canonical keys only, values already understood.

Attributes hold exact quantities (thousandths, MiB, ms); `model_dump` prints canonical text.
"""

from pydantic import PrivateAttr

from ganglion.model.behaviour import Access
from ganglion.model.resources import GpuRequest
from ganglion.model.workload import Kind, Topology
from ganglion.specs.grammar import CountRange
from ganglion.specs.reading import fields as f
from ganglion.specs.reading.mapping import Mapping, described, partly
from ganglion.specs.reading.renaming import Vocabulary
from ganglion.specs.workload.aliases import ALIASES, CHILDREN, LISTS, SHORTHANDS
from ganglion.specs.workload.behaviour_schema import (
    EarlyStopFile,
    HintFile,
    IdleFile,
    NotifyFile,
    ScaleFile,
    ScheduleFile,
    SearchFile,
    StandbyFile,
)


class Resources(Mapping):
    """What one node of the workload needs."""

    gpus: f.Gpus = described(
        "GPUs: `8`, `H100:8`, `A100:80GB:4`, `0.5`, `{memory: 10GB}`", GpuRequest()
    )
    cpus: f.Cpus = described("CPU cores: `64`, `0.5`, `500m`", 0)
    memory: f.Memory = described("host memory: `64Gi`, `800GB`", 0)
    shm_size: f.Memory = described("shared memory (/dev/shm), part of `memory`: `16GB`", 0)
    together: f.Together | None = described(
        "devices share one `numa` node or NVLink `island`", None
    )


class Group(Mapping):
    """A sub-group: every `size` consecutive nodes share one domain."""

    size: f.Count = described("nodes per sub-group; divides the size of the enclosing one")
    required: f.LevelName | None = described("level that must be shared", None)
    preferred: f.LevelName | None = described("level that should be shared", None)


class PodSetFile(Mapping):
    """Equal nodes of a workload that has several sorts of them."""

    name: f.Name = described("unique within the workload")
    nodes: f.PodCount = described(
        "how many: `4`, or `2..4` when fewer are useful", CountRange(1, 1)
    )
    procs_per_node: f.Count = described("processes started on each", 1)
    resources: Resources = described("what each needs", Resources())
    placement: f.Placement = described("how near each other these must lie", Topology())
    groups: tuple[Group, ...] = described("nested sub-groups, outermost first", ())


class CheckpointFile(Mapping):
    """The checkpoint contract: the program saves and can go on from there."""

    interval: f.Duration = described("how often it saves; left out = only when asked to stop", 0)
    signal: f.Signal = described("signal that asks it to save and leave", "SIGTERM")
    grace: f.Duration = described("how long that may take before it is killed", 30_000)
    path: f.Text = described("where it saves; left out = a folder that Ganglion keeps for it", "")
    must_resume: f.Flag = described("it fails where no checkpoint is left to go on from", False)


class RetryFile(Mapping):
    """When it is started again."""

    limit: f.Amount = described("most restarts after failures of its own", 0)
    on: f.Causes | None = described(
        "causes: failure, node_failure, preemption, start_failure; left out = the last three, "
        "and the first where `limit` is more than 0",
        None,
    )
    backoff: f.Duration = described("wait before the first restart; doubles each time", 1_000)
    limits: f.CauseLimits = described("cause -> most restarts after it; `oom` is one too", {})
    replace: f.Flag = described("start only lost ranks again, beside those that live", False)


class ConstraintsFile(Mapping):
    """Which nodes are allowed at all."""

    labels: f.Selectors = described("label -> value or list of allowed values", {})
    avoid: f.Selectors = described("label -> values that nodes must not carry", {})
    residency: f.Texts = described("regions it may run in; left out = any", ())
    isolation: f.Isolation = described(
        "what may not run beside it: another kind, queue or workload; none", "none"
    )


PER_SET = ("nodes", "procs_per_node", "resources", "groups")
"""Keys that belong into each pod set where there are pod sets."""


class WorkloadFile(Mapping):
    """A workload as a person writes it; only `run` is required."""

    name: f.Name = described("a DNS label; left out = made from the file or the command", "")
    kind: f.KindName = described(
        "train, service, workspace, sweep or batch; left out = inferred", ""
    )
    queue: f.QueueName = described("queue it is charged to, by name or path", "")
    priority: f.Priority = described(
        "0..100 or idle, low, normal, high, urgent; higher is sooner", 50
    )
    run: f.Command = described("shell text, or a list of words that is run without a shell")
    setup: f.Text = described("shell text run once per node before", "")
    workdir: f.Text = described("folder to run in", "")
    image: f.Text = described("container image", "")
    model: f.ModelName = described(
        "a model, found once when it is submitted: models:/NAME@ALIAS, models:/NAME/3, "
        "hf://ORG/REPO@REV, oci://, s3://, file://",
        "",
    )
    env: f.Env = described(
        "variables: `[HF_TOKEN, EPOCHS=3]` or a mapping; a bare name is a secret", {}
    )
    secrets: f.Secrets = described(
        "variables kept apart and never shown: `[HF_TOKEN]`; yours, or of `ganglion secret set`", {}
    )
    nodes: f.PodCount = described(
        "all or nothing: `4`; `2..4` starts with what there is", CountRange(1, 1)
    )
    procs_per_node: f.Count = described("processes started on each node", 1)
    resources: Resources = described("what each node needs", Resources())
    pod_sets: tuple[PodSetFile, ...] = described("several sorts of nodes in one gang", ())
    placement: f.Placement = described(
        "any, rack, prefer_rack, or {required, preferred, forbidden}", Topology()
    )
    groups: tuple[Group, ...] = described("nested sub-groups, outermost first", ())
    time_limit: f.Duration = described(
        "most it may run: `24h`, `2:00:00`; improves predicted starts", 0
    )
    deadline: f.Due | None = described(
        "when it should have ended: `12h` from submit, or `2026-12-01T08:00Z`", None
    )
    preemptible: f.Flag = described("others may preempt it; or {grace, signal}", True)
    checkpoint: CheckpointFile | None = described("how it saves; left out = work is lost", None)
    retry: RetryFile = described("restarts; a number is their limit", RetryFile())
    constraints: ConstraintsFile = described("which nodes are allowed", ConstraintsFile())
    after: f.Dependencies = described(
        "workloads that must have succeeded before, or as `any:NAME` only ended", ()
    )
    singleton: f.Flag = described("wait until no other of the same name and user lives", False)
    schedule: ScheduleFile | None = described("submit it again and again, as cron does", None)
    hold: f.Flag = described("submit it, but do not start it yet", False)
    replicas: f.Replicas = described(
        "copies of a service: `4`, or `1..8` with `scale`", CountRange(1, 1)
    )
    scale: ScaleFile | None = described("how a service scales", None)
    port: f.Port = described("port that a service or workspace listens on", 0)
    tty: f.Flag = described("give rank 0 a terminal, for `ganglion attach`", False)
    access: f.WhoMay = described(
        "who reaches a service or workspace: owner, anyone, or {users, groups, keys}", Access()
    )
    params: f.Params = described("sweep: parameter -> values; runs every combination", {})
    trials: f.Trials = described("sweep: each trial's parameters, in place of `params`", ())
    search: SearchFile | None = described(
        "sweep: number of combinations to try, drawn at random", None
    )
    parallel: f.Parallel = described(
        "most trials of a sweep at once; `4..64`: those above 4 use GPUs that no job waits for",
        CountRange(0, 0),
    )
    early_stop: EarlyStopFile | None = described("sweep: give up trials that do badly", None)
    idle_timeout: f.Duration = described("a workspace idle that long is suspended", 0)
    idle: IdleFile = described("how a workspace is found idle", IdleFile())
    labels: f.Labels = described("free-form, for people", {})
    notify: NotifyFile | None = described("notices about it; an address is `mail`", None)

    _warnings: tuple[str, ...] = PrivateAttr(())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of a foreign script could not be honoured."""
        return self._warnings

    @property
    def effective_kind(self) -> Kind:
        """The kind, inferred where the file does not say it."""
        return infer_kind(self)

    @property
    def sets(self) -> tuple[PodSetFile, ...]:
        """The pod sets; a plain workload has one named `main`."""
        if self.pod_sets:
            return self.pod_sets
        values = {key: vars(self)[key] for key in PER_SET if key in vars(self)}
        values |= {"name": "main", "placement": Topology()}
        return (partly(PodSetFile, values, set(PER_SET) - values.keys(), values),)


def infer_kind(file: WorkloadFile) -> Kind:
    """Kind by the first rule that holds.

    Given; `params` or `trials` make a sweep; `idle_timeout` a workspace; `replicas` or `port`
    a service; GPUs or more than one node a training; anything else is a batch job.
    """
    given = file.model_fields_set
    if file.kind:
        return Kind(file.kind)
    if given & {"params", "trials"}:
        return Kind.SWEEP
    if "idle_timeout" in given:
        return Kind.WORKSPACE
    if given & {"replicas", "port"}:
        return Kind.SERVICE
    sets = file.pod_sets or (file,)  # as `sets` has them, which takes longer to make
    wide = len(sets) > 1 or any(s.nodes.high > 1 or s.resources.gpus.count for s in sets)
    return Kind.TRAIN if wide else Kind.BATCH


SCOPES: dict[str, type[Mapping]] = {
    "": WorkloadFile,
    "resources": Resources,
    "pod_sets": PodSetFile,
    "groups": Group,
    "checkpoint": CheckpointFile,
    "retry": RetryFile,
    "constraints": ConstraintsFile,
    "scale": ScaleFile,
    "hints": HintFile,
    "standby": StandbyFile,
    "idle": IdleFile,
    "search": SearchFile,
    "early_stop": EarlyStopFile,
    "schedule": ScheduleFile,
    "notify": NotifyFile,
}
"""Scope of keys -> its model."""

KEYS = {scope: tuple(model.model_fields) for scope, model in SCOPES.items()}
"""Scope -> canonical keys, in the order of the documentation."""

VOCABULARY = Vocabulary(KEYS, ALIASES, CHILDREN, LISTS, SHORTHANDS)
"""The keys of a workload file and their other names."""
