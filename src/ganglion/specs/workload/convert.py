"""A workload file into the workload that the engine and the worlds know."""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from ganglion.model.credentials import REDACTED, is_credential
from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import Level
from ganglion.model.kinds import NO_RULES, KindRules
from ganglion.model.policy import PriorityClass
from ganglion.model.resources import PodRequest
from ganglion.model.workload import (
    Checkpoint,
    Constraints,
    Kind,
    PodSet,
    Retry,
    Run,
    Slice,
    Workload,
)
from ganglion.specs.grammar.words import CAUSES, PRIORITIES
from ganglion.specs.wording import first_of, listed, meant, noted, show
from ganglion.specs.workload.behaviour import (
    awaited,
    early_stop_of,
    idle_of,
    notify_of,
    scaling_of,
    schedule_of,
    search_of,
)
from ganglion.specs.workload.defaults import name_of
from ganglion.specs.workload.schema import (
    CheckpointFile,
    ConstraintsFile,
    Group,
    PodSetFile,
    RetryFile,
    WorkloadFile,
)


def to_workload(
    doc: WorkloadFile,
    *,
    user: str,
    default_queue: str,
    classes: Mapping[str, PriorityClass] = {},
    rules: Callable[[str, Kind], KindRules] = lambda _queue, _kind: NO_RULES,
) -> Workload:
    """Build the workload.

    Args:
        doc: the validated file.
        user: who submits it.
        default_queue: queue of a file that names none.
        classes: named priorities of the policy, beside the built-in ones.
        rules: what holds for workloads of a kind in a queue where the file says nothing.

    Raises:
        FieldError: variables are given twice, or there is no such priority; all that is wrong.
    """
    queue = (doc.queue or default_queue).rpartition("/")[2]
    usual = rules(queue, doc.effective_kind)
    given = "priority" in doc.model_fields_set or usual.priority is None
    priority, problems = doc.priority if given else usual.priority or 0, list[FieldError]()
    chosen = noted(lambda: priority_of(priority, classes), problems)
    noted(lambda: references(doc), problems)
    noted(lambda: plain_env(doc), problems)
    if chosen is None or problems:
        raise first_of(problems)
    return Workload(
        name=doc.name or name_of(doc),
        kind=doc.effective_kind,
        queue=queue,
        user=user,
        priority=chosen.value,
        priority_class=doc.priority if isinstance(doc.priority, str) else "",
        preemptible=_preemptible(doc, chosen, usual),
        pod_sets=tuple(_pod_set(each) for each in doc.sets),
        topology=doc.placement,
        constraints=_constraints(doc.constraints, usual),
        spread=usual.spread,
        time_limit_ms=doc.time_limit,
        deadline=doc.deadline,
        checkpoint=_checkpoint(doc.checkpoint),
        retry=_retry(doc.retry),
        after=awaited(doc.after, well=True),
        after_any=awaited(doc.after, well=False),
        singleton=doc.singleton,
        schedule=schedule_of(doc.schedule),
        held=doc.hold,
        replicas=doc.replicas.low,
        scaling=scaling_of(doc),
        params=doc.params,
        trials=doc.trials,
        search=search_of(doc.search),
        parallel=doc.parallel.high,
        parallel_min=doc.parallel.low if doc.parallel.elastic else 0,
        early_stop=early_stop_of(doc.early_stop),
        idle_timeout_ms=doc.idle_timeout,
        idle=idle_of(doc.idle),
        access=doc.access,
        run=_run(doc),
        labels=doc.labels,
        notify=notify_of(doc.notify),
    )


def priority_of(priority: int | str, classes: Mapping[str, PriorityClass] = {}) -> PriorityClass:
    """The class of a priority given as number or name; a policy's classes win.

    Raises:
        FieldError: there is no class of that name.
    """
    if isinstance(priority, int):
        return PriorityClass(priority)
    known = {name: PriorityClass(value) for name, value in PRIORITIES.items()} | dict(classes)
    if priority not in known:
        hint = meant(priority, [*known]) or f"use 0..100, or {listed(known)}"
        problem = f"there is no priority class {show(priority)}"
        raise FieldError(problem, key="priority", hint=hint)
    return known[priority]


def _preemptible(doc: WorkloadFile, chosen: PriorityClass, usual: KindRules) -> bool:
    """What the file says counts; then its priority class, then the rules of its kind."""
    others = (chosen.preemptible, usual.preemptible)
    said = None if "preemptible" in doc.model_fields_set else others
    return next((each for each in said or () if each is not None), doc.preemptible)


def _constraints(given: ConstraintsFile, usual: KindRules) -> Constraints:
    found = Constraints(**dict(given))
    if "isolation" in given.model_fields_set or not usual.isolation:
        return found
    return replace(found, isolation=usual.isolation)


def references(doc: WorkloadFile) -> dict[str, str | None]:
    """Variables whose values are kept apart: those of `secrets`, bare names of `env`, `sheltered`.

    Returns:
        name -> value; None = the one of the caller's shell, or the one kept by that name.

    Raises:
        FieldError: variables are given in `env` with a value, and in `secrets`.
    """
    bare = {name: None for name, value in doc.env.items() if value is None}
    hint = "leave it out of one of them"
    twice = [
        FieldError(f"the variable {show(name)} is in `env` as well", key="secrets", hint=hint)
        for name in doc.secrets
        if doc.env.get(name) is not None
    ]
    if twice:
        raise first_of(twice)
    return bare | sheltered(doc) | doc.secrets


def sheltered(doc: WorkloadFile) -> dict[str, str]:
    """Variables of `env` that look like credentials: their values are kept as those of `secrets`.

    A value with a parameter's place in it is written anew for every trial, and no credential.
    """
    return {
        name: value
        for name, value in doc.env.items()
        if value and "{" not in value and is_credential(name, value)
    }


def plain_env(doc: WorkloadFile) -> dict[str, str]:
    """Variables that are given with their values in `env`.

    Raises:
        FieldError: values are what outputs show in place of a credential.
    """
    env = {name: value for name, value in doc.env.items() if value is not None}
    hidden = [
        FieldError(
            f"the value of {show(name)} was not shown where it was copied from",
            key="env",
            hint=f"give it again, or name it under `secrets:` and `ganglion secret set {name}`",
        )
        for name, value in env.items()
        if REDACTED in value
    ]
    if hidden:
        raise first_of(hidden)
    apart = sheltered(doc)
    return {name: value for name, value in env.items() if name not in apart}


def _run(doc: WorkloadFile) -> Run:
    shell = isinstance(doc.run, str)
    return Run(
        command=(doc.run,) if isinstance(doc.run, str) else doc.run,
        shell=shell,
        setup=doc.setup,
        workdir=doc.workdir,
        image=doc.image,
        env=plain_env(doc),
        port=doc.port,
        secrets=tuple(references(doc)),
        tty=doc.tty,
    )


def _pod_set(pods: PodSetFile) -> PodSet:
    needs = pods.resources
    return PodSet(
        name=pods.name,
        count=pods.nodes.high,
        min_count=pods.nodes.low if pods.nodes.elastic else 0,
        request=PodRequest(
            cpu_milli=needs.cpus,
            memory_mib=needs.memory or needs.shm_size,
            gpu=needs.gpus,
            together=Level(needs.together) if needs.together else None,
        ),
        topology=pods.placement,
        slices=tuple(_slice(group) for group in pods.groups),
        procs=pods.procs_per_node,
        shm_mib=needs.shm_size,
    )


def _slice(group: Group) -> Slice:
    return Slice(size=group.size, required=group.required, preferred=group.preferred)


def _checkpoint(given: CheckpointFile | None) -> Checkpoint | None:
    if given is None:
        return None
    return Checkpoint(given.interval, given.signal, given.grace, given.path, given.must_resume)


def _retry(given: RetryFile) -> Retry:
    causes = given.on
    if causes is None:
        # A limit of own failures says nothing unless own failures count.
        causes = CAUSES if given.limit else Retry().on
    return Retry(given.limit, causes, given.backoff, given.limits, given.replace)
