"""Jobs, JobSets and TrainJobs."""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes import markers, names
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_kinds import reading
from ganglion.worlds.kubernetes.workload_kinds.kinds import JOB, JOB_SET
from ganglion.worlds.kubernetes.workload_kinds.owners import ident
from ganglion.worlds.kubernetes.workload_kinds.shape import (
    ANYWHERE,
    MAIN,
    ClaimedSeat,
    Family,
    KindView,
    SetShape,
    label_index,
    less,
    of_count,
    set_name,
)


def job_sets(view: KindView) -> list[SetShape]:
    """The pods of a Job that run at once: `parallelism`, or as many as are left to complete."""
    job = view.owner
    shape = one_job(MAIN, job.spec, "spec", job.metadata.annotations)
    return [_remaining(structs.replace(shape, name=set_name(shape.template)), job)]


def one_job(
    name: str, spec: dict[str, Any], where: str, said: dict[str, str] | None = None
) -> SetShape:
    """The set of pods of a Job's spec that has not begun. Raises InputError."""
    parallelism = reading.number(spec, "parallelism", 1, where)
    completions = reading.number(spec, "completions", parallelism, where)
    count = min(parallelism, completions)
    template = reading.template(spec.get("template"), f"{where}.template")
    least = _least({**template.metadata.annotations, **(said or {})}, count)
    indexed = spec.get("completionMode") == "Indexed" and completions == parallelism
    return SetShape(name, count, least, template, count, count, strict=indexed)


def _least(said: dict[str, str], count: int) -> int:
    for key in (names.GANG_MIN, markers.KUEUE_MIN):
        if text := said.get(key):
            return min(reading.count(text, key) or count, count)
    return count


def _remaining(shape: SetShape, job: Anything) -> SetShape:
    """What a Job that has begun still wants."""
    succeeded = reading.number(job.status, "succeeded", 0, "status")
    lost = _how_many(job.status.get("failedIndexes"))
    if "completions" in job.spec or "parallelism" not in job.spec:
        left = reading.number(job.spec, "completions", 1) - succeeded - lost
    else:
        # A work queue: once one pod has succeeded, no new ones are made.
        left = reading.number(job.status, "active", 0, "status") if succeeded else shape.count
    return less(shape, max(shape.count - max(left, 0), 0))


def _how_many(text: object) -> int:
    """How many numbers `1,3-5` names; what is none is left out, for a controller wrote it."""
    total = 0
    for part in str(text or "").split(","):
        low, _, high = part.partition("-")
        if low.isdecimal() and (high.isdecimal() or not high) and len(part) < 30:
            total += max(int(high or low) - int(low) + 1, 0)
    return total


def job_seat(pod: Pod, _below: tuple[Anything, ...]) -> ClaimedSeat:
    """By completion index, where there is one."""
    return ClaimedSeat(set_name(pod), label_index(pod, markers.JOB_INDEX))


def job_set_sets(view: KindView) -> list[SetShape]:
    """A set per replicated Job: `replicas` blocks of `parallelism` pods."""
    jobs = reading.listing(view.owner.spec.get("replicatedJobs"), "spec.replicatedJobs")
    shapes = [_replicated(view.owner, position, job) for position, job in enumerate(jobs)]
    return [less(each, _done(view, each)) for each in shapes]


def _replicated(owner: Anything, position: int, found: dict[str, Any]) -> SetShape:
    where = f"spec.replicatedJobs[{position}]"
    name = reading.text(found, "name", where)
    replicas = reading.number(found, "replicas", 1, where)
    job = reading.inside(found, where, "template", "spec")
    one = one_job(name, job, f"{where}.template.spec")
    count = replicas * one.count
    shape = structs.replace(
        one, count=count, least=replicas * one.least, seats=count, upfront=count, block=one.count
    )
    once = job.get("completions", one.count) == one.count
    shape = structs.replace(shape, strict=once and job.get("completionMode") != "NonIndexed")
    return _delayed(_exclusive(owner, found, shape, replicas), owner, position, found)


def _exclusive(owner: Anything, found: dict[str, Any], shape: SetShape, replicas: int) -> SetShape:
    """One domain for each Job; its other pods are made once the first one has a node."""
    said = reading.inside(found, "replicatedJob", "template", "metadata", "annotations")
    said = {**owner.metadata.annotations, **said}
    level = said.get(markers.JOBSET_EXCLUSIVE, "")
    if not level:
        return shape
    upfront = shape.count if markers.JOBSET_BY_SELECTOR in said else min(replicas, shape.count)
    return structs.replace(shape, upfront=upfront, each_block=level)


def _delayed(shape: SetShape, owner: Anything, position: int, found: dict[str, Any]) -> SetShape:
    """Jobs that depend on others, or come after them, are made later."""
    policy = reading.branch(owner, "startupPolicy").get("startupPolicyOrder")
    if found.get("dependsOn") or (policy == "InOrder" and position):
        return structs.replace(shape, upfront=0)
    return shape


def _done(view: KindView, shape: SetShape) -> int:
    """Pods of a replicated Job that have succeeded."""
    done = 0
    for status in reading.listing(
        view.owner.status.get("replicatedJobsStatus"), "status.replicatedJobsStatus"
    ):
        if status.get("name") == shape.name:
            done = reading.number(status, "succeeded", 0, "status") * shape.block
    mine = (
        each for each in view.below if each.metadata.labels.get(markers.JOBSET_JOB) == shape.name
    )
    return done + sum(
        reading.number(each.status, "succeeded", 0, "status") for each in mine if ident(each) == JOB
    )


def job_set_seat(pod: Pod, _below: tuple[Anything, ...]) -> ClaimedSeat:
    """By the replicated Job, the number of the Job in it, and the index in that."""
    labels = pod.metadata.labels
    block = label_index(pod, markers.JOBSET_JOB_INDEX)
    index = label_index(pod, markers.JOB_INDEX)
    if block == ANYWHERE:
        return ClaimedSeat(labels.get(markers.JOBSET_JOB, MAIN))
    return ClaimedSeat(labels.get(markers.JOBSET_JOB, MAIN), index, block)


def train_job_sets(view: KindView) -> Sequence[SetShape]:
    """Those of the JobSet that a TrainJob made."""
    inner = next((each for each in view.below if ident(each) == JOB_SET), None)
    if inner is None:
        return []
    return job_set_sets(KindView(inner, view.below, view.pods))


def _trial_sets(view: KindView) -> list[SetShape]:
    template = reading.template(view.owner.spec.get("template"), "spec.template")
    return [of_count(MAIN, 1, template)]


def _trial_seat(_pod: Pod, _below: tuple[Anything, ...]) -> ClaimedSeat:
    return ClaimedSeat(MAIN, 0)


def _trial(pod: Pod) -> str:
    index = label_index(pod, markers.JOB_INDEX)
    return pod.metadata.name if index == ANYWHERE else str(index)


JOB_FAMILY = Family(Kind.TRAIN, job_sets, job_seat)
JOB_SET_FAMILY = Family(Kind.TRAIN, job_set_sets, job_set_seat)
TRAIN_JOB_FAMILY = Family(Kind.TRAIN, train_job_sets, job_set_seat)
TRIAL_FAMILY = Family(Kind.SWEEP, _trial_sets, _trial_seat, _trial, ranked=False)
"""A Job whose pods have nothing to do with each other: a gang for each completion index."""
