"""What a cluster cannot do with a workload: refused by the key it stands under, or warned of."""

import re
from collections.abc import Iterator

from ganglion.lifecycle.expand import gang_count
from ganglion.model.behaviour import Access
from ganglion.model.errors import FieldError
from ganglion.model.workload import Kind, Workload
from ganglion.specs.wording import first_of
from ganglion.worlds.kubernetes.submit.manifests.environment import CLAIM
from ganglion.worlds.kubernetes.submit.manifests.launcher import STOP_SIGNAL
from ganglion.worlds.kubernetes.submit.manifests.pod import claimed
from ganglion.worlds.kubernetes.submit.manifests.shape import ManifestGang

MOST_NAME = 63
MOST_SET_NAME = 52
"""StatefulSets add a hash of ten characters to their name in a label."""
MOST_COMPARED = 2_000
"""Most trials of a sweep that gives some up: how far they have come is kept in annotations of one
object, which hold 256 KiB."""
MOST_OBJECTS = 500
"""Most controllers of one workload."""

ELSEWHERE = {
    "singleton": "leave it out, and submit this one when the other has ended",
    "schedule": "write a CronJob around what `--dry-run -o yaml` prints",
    "notify": "leave it out, and use `ganglion wait`",
}
"""Keys that only the embedded server honours -> what to do in a cluster."""

_LABEL_KEY = re.compile(
    r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?"
)
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?", re.ASCII)
_DNS = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")


def check(workload: Workload, gangs: tuple[ManifestGang, ...]) -> None:
    """Refuse what would be wrong, or silently something else, in a cluster.

    Raises:
        FieldError: keys ask for what a cluster cannot do, or some that it needs are missing; with
            all of them.
    """
    problems = [
        *_check_run(workload),
        *_check_order(workload),
        *_check_scaling(workload),
        *_check_labels(workload),
        *_check_signal(workload),
        *_check_path(workload),
        *_check_groups(workload),
        *_check_trials(workload, gangs),
        *_check_names(workload, gangs),
    ]
    if problems:
        raise first_of(problems)


def _check_run(workload: Workload) -> Iterator[FieldError]:
    if not workload.run.image:
        hint = "a cluster runs containers: give the workload an `image`, or --image"
        yield FieldError("the key `image` is missing", key="image", hint=hint)
    if not workload.run.command:
        yield FieldError("there is no command to run", key="run", hint="give it a `run`")
    if workload.run.workdir and not workload.run.workdir.startswith("/"):
        yield FieldError(f"{workload.run.workdir} is not an absolute path", key="workdir")


def _check_order(workload: Workload) -> Iterator[FieldError]:
    if workload.after or workload.after_any:
        yield FieldError(
            "in a cluster nothing waits for the end of another workload",
            key="after",
            hint="submit this one when the other has succeeded",
        )
    for key, instead in ELSEWHERE.items():
        if getattr(workload, key):
            yield FieldError("is not known to clusters yet", key=key, hint=instead)
    if workload.run.tty:
        hint = "leave it out; for a shell in a pod: kubectl exec -it"
        yield FieldError("is not known to clusters yet", key="tty", hint=hint)
    if workload.held and workload.kind in (Kind.SERVICE, Kind.WORKSPACE):
        yield FieldError(f"a {workload.kind} cannot be held in a cluster", key="hold")


def _check_scaling(workload: Workload) -> Iterator[FieldError]:
    scaling = workload.scaling
    if scaling is None:
        return
    if scaling.source == "router":
        yield FieldError(
            "a cluster has no Ganglion router that measures requests",
            key="scale.source",
            hint="`source: metrics` asks the replicas, a URL asks a Prometheus",
        )
    if scaling.source == "metrics" and not scaling.floor:
        yield FieldError(
            "without any replica no signal shows that one is needed",
            key="replicas",
            hint="at least 1, or use a Prometheus: `source: http://prometheus:9090`",
        )
    if scaling.standby:
        yield FieldError(
            "no place in a cluster is kept for a replica that sleeps",
            key="scale.standby",
            hint="raise the floor of `replicas`, or give `scale.hints` for load that is known",
        )


def _check_labels(workload: Workload) -> Iterator[FieldError]:
    for key, value in workload.labels.items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            yield FieldError(
                f"`{key}: {value}` cannot be a label in Kubernetes",
                key="labels",
                hint="letters, digits, and - _ . inside, at most 63 characters",
            )


def _check_signal(workload: Workload) -> Iterator[FieldError]:
    signal = workload.checkpoint.signal if workload.checkpoint else STOP_SIGNAL
    if signal in ("SIGINT", "SIGQUIT", "SIGHUP"):
        yield FieldError(
            f"{signal} does not reach processes that a shell starts in a container",
            key="checkpoint.signal",
            hint="use SIGTERM, SIGUSR1 or SIGUSR2",
        )


def _check_path(workload: Workload) -> Iterator[FieldError]:
    path = workload.checkpoint.path if workload.checkpoint else ""
    claim = claimed(workload.checkpoint)
    if claim:
        if not _DNS.fullmatch(claim[0]) or ".." in claim[1].split("/"):
            hint = f"as {CLAIM}my-claim/some/folder"
            yield FieldError(f"{path} names no claim", key="checkpoint.path", hint=hint)
    elif path and not path.startswith("/"):
        hint = f"an absolute path of the container, or {CLAIM}CLAIM/FOLDER"
        yield FieldError(f"{path} is not an absolute path", key="checkpoint.path", hint=hint)


def _check_groups(workload: Workload) -> Iterator[FieldError]:
    for pods in workload.pod_sets:
        required = [each for each in pods.slices if each.required]
        if len(required) > 1:
            yield FieldError(
                f"{len(required)} nested sub-groups are `required`; in a cluster there is one",
                key="groups",
                hint="say `preferred` for the others, or leave them out",
            )


def _check_trials(workload: Workload, gangs: tuple[ManifestGang, ...]) -> Iterator[FieldError]:
    if workload.kind is not Kind.SWEEP:
        return
    is_one_job = gangs[0].crews[0].alone
    if workload.parallel and not is_one_job:
        yield FieldError(
            "in a cluster trials of several nodes cannot be bounded",
            key="parallel",
            hint="leave it out, or give the queue a limit",
        )
    if workload.early_stop and not is_one_job:
        yield FieldError(
            "in a cluster trials of several nodes cannot be compared: each is a Job of its own",
            key="early_stop",
            hint="leave it out: every trial runs to its end",
        )
    if workload.early_stop and gang_count(workload) > MOST_COMPARED:
        yield FieldError(
            f"a cluster compares at most {MOST_COMPARED:,} trials, got {gang_count(workload):,}",
            key="early_stop",
            hint="submit it in parts, or draw some of them: `search`",
        )


def _check_names(workload: Workload, gangs: tuple[ManifestGang, ...]) -> Iterator[FieldError]:
    crews = [(gang, crew) for gang in gangs for crew in gang.crews]
    if len(crews) > MOST_OBJECTS:
        yield FieldError(
            f"it would take {len(crews)} objects of several pods; most are {MOST_OBJECTS}",
            key="params" if workload.params else "replicas",
            hint="submit it in parts",
        )
        return
    jobs = workload.kind not in (Kind.SERVICE, Kind.WORKSPACE)
    for _, crew in crews:
        count = gang_count(workload) if crew.alone else crew.pods.count
        most = MOST_NAME - len(f"-{count - 1}") if jobs else MOST_SET_NAME
        if len(crew.name) > most:
            yield FieldError(
                f"{crew.name} has {len(crew.name)} characters; most are {most}, as pods add to it",
                key="name",
                hint="choose a shorter one",
            )
            return  # of the others the same would have to be said


def unheeded(workload: Workload) -> Iterator[str]:
    """What a cluster does not do with a workload, though it takes it; one sentence each."""
    stays = workload.kind in (Kind.SERVICE, Kind.WORKSPACE)
    if stays and workload.time_limit_ms:
        yield f"time_limit: nothing stops a {workload.kind} in a cluster after it"
    if workload.idle_timeout_ms and not workload.run.port:
        yield "idle_timeout: a cluster cannot observe whether a workspace without `port` is idle"
    if workload.checkpoint and not workload.checkpoint.path:
        yield f"checkpoint: nothing is kept without a `path`, as {CLAIM}CLAIM/FOLDER"
    if any(each.preferred for pods in workload.pod_sets for each in pods.slices):
        yield "groups: what is only `preferred` is not looked at in a cluster"
    if any(pods.request.together for pods in workload.pod_sets):
        yield "resources.together: which GPUs of a node a pod gets is up to its kubelet"
    if len(set(workload.retry.on) & {"preemption", "node_failure"}) == 1:
        yield "retry.on: a cluster does not distinguish preemption from the loss of a node"
    if workload.retry.limits:
        yield "retry.limits: a Job counts all failures of its own together, by `limit`"
    if workload.access != Access():
        yield "access: network policies of the cluster decide who reaches its pods"
