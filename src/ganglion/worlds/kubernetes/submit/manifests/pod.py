"""The pods of a workload."""

from typing import Any

from ganglion.model.resources import WHOLE, decimal
from ganglion.model.workload import Checkpoint, Kind, PodSet, Workload
from ganglion.specs.grammar.times.deadlines import print_deadline
from ganglion.specs.grammar.times.durations import print_duration
from ganglion.specs.grammar.words import PRIORITIES
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.manifests import launcher, marks
from ganglion.worlds.kubernetes.submit.manifests.environment import (
    CHECKPOINTS,
    CLAIM,
    environment,
    escaped,
)
from ganglion.worlds.kubernetes.submit.manifests.placing import (
    affinity,
    slice_notes,
    tolerations,
    topology_notes,
)
from ganglion.worlds.kubernetes.submit.manifests.shape import ControllerPods, ManifestGang

Manifest = dict[str, Any]

GPU = "nvidia.com/gpu"
CONTAINER = "main"
SHM = "shm"
PLACING = ("name", "image", "resources", "ports", "restartPolicy")
"""Keys of a container that bear on where its pod may go, or name it."""
UNNOTICED_S = 5
"""Time that may pass until no client sends requests to a pod that is leaving."""


class Making:
    """What all objects of one workload have in common.

    Args:
        workload: what was submitted.
        namespace: where its objects go.
        scheduler: `schedulerName` of its pods; empty = the cluster's own.
        secrets: variables of the environment whose values lie in a secret.
    """

    def __init__(
        self, workload: Workload, namespace: str, scheduler: str, secrets: frozenset[str]
    ) -> None:
        self.workload, self.namespace, self.scheduler = workload, namespace, scheduler
        self.secrets = secrets & workload.run.env.keys()

    def labels(self) -> dict[str, str]:
        """Labels of every object and pod."""
        queue = self.workload.queue.rpartition("/")[2]
        return {
            **self.workload.labels,
            marks.WORKLOAD: self.workload.name,
            marks.KIND: str(self.workload.kind),
            **({names.QUEUE: queue} if queue else {}),
        }

    def meta(self, name: str, **more: Any) -> Manifest:  # noqa: ANN401  # parts of metadata
        """`metadata` of an object."""
        return {"name": name, "namespace": self.namespace, "labels": self.labels(), **more}

    def launched(self, crew: ControllerPods) -> bool:
        """Whether the launcher starts a crew's processes."""
        contract = self.workload.checkpoint or Checkpoint()
        swept = self.workload.kind is Kind.SWEEP and crew.alone
        return launcher.is_needed(crew, contract.signal, swept=swept)

    def has_files(self, gang: ManifestGang) -> bool:
        """Whether a gang's pods mount files."""
        return gang.pods > 1 or any(self.launched(crew) for crew in gang.crews)


def template(making: Making, gang: ManifestGang, crew: ControllerPods) -> Manifest:
    """Pod template of a crew."""
    index = {} if crew.alone else {marks.GANG_INDEX: str(crew.index)}
    group = {names.GANG: gang.group} if len(gang.crews) > 1 else {}
    labels = making.labels() | {names.POD_SET: crew.pods.name} | index | group
    if making.workload.kind is Kind.SWEEP and not crew.alone:
        labels[marks.KIND] = str(Kind.TRAIN)  # as a sweep each pod of a Job would be a trial
    notes = _notes(making.workload, gang, crew)
    return {"metadata": {"labels": labels, "annotations": notes}, "spec": _spec(making, gang, crew)}


def _notes(workload: Workload, gang: ManifestGang, crew: ControllerPods) -> dict[str, str]:
    """A pod's annotations for the scheduler."""
    gpu, several = crew.pods.request.gpu, len(gang.crews) > 1
    found = {
        names.POD_SET: crew.pods.name if several else "",
        names.GANG_SIZE: str(gang.pods) if several else "",
        names.GANG_MIN: str(gang.least) if gang.least < gang.pods else "",
        names.GPU_FRACTION: decimal(gpu.milli) if gpu.count and gpu.milli < WHOLE else "",
        names.GPU_MEMORY: f"{gpu.share_mib}Mi" if gpu.share_mib else "",
        marks.GPU_TYPES: ",".join(gpu.types),
        names.PREEMPTIBLE: "" if workload.preemptible else "false",
        names.TIME_LIMIT: _duration(workload.time_limit_ms),
        names.DEADLINE: print_deadline(workload.deadline) if workload.deadline else "",
        marks.PROCS: str(crew.pods.procs) if crew.pods.procs > 1 else "",
        marks.FIRST_POD: str(crew.first_pod or ""),
        **_contract(workload.checkpoint),
        **topology_notes(crew.pods.topology),
        **slice_notes(crew.pods),
        **notes_of(workload),
    }
    return {name: value for name, value in found.items() if value}


def notes_of(workload: Workload) -> dict[str, str]:
    """Annotations that objects and pods share."""
    own = workload.priority_class in ("", *PRIORITIES)
    found = {
        marks.USER: workload.user,
        marks.PRIORITY: str(workload.priority) if own else "",
        marks.IDLE_TIMEOUT: _duration(workload.idle_timeout_ms),
        names.FLOOR: str(workload.scaling.floor) if workload.scaling else "",
    }
    return {name: value for name, value in found.items() if value}


def _contract(checkpoint: Checkpoint | None) -> dict[str, str]:
    if checkpoint is None:
        return {}
    return {
        names.CHECKPOINT_INTERVAL: print_duration(checkpoint.interval_ms),
        names.CHECKPOINT_GRACE: print_duration(checkpoint.grace_ms),
        names.CHECKPOINT_SIGNAL: checkpoint.signal,
    }


def _duration(ms: int) -> str:
    return print_duration(ms) if ms else ""


def _spec(making: Making, gang: ManifestGang, crew: ControllerPods) -> Manifest:
    workload, pods = making.workload, crew.pods
    contract = workload.checkpoint or Checkpoint()
    drain_ms = workload.scaling.drain_ms if workload.scaling else 0
    own = workload.priority_class in ("", *PRIORITIES)
    apart = affinity(workload, pods)
    ends = workload.kind not in (Kind.SERVICE, Kind.WORKSPACE)
    optional: Manifest = {
        "schedulerName": making.scheduler,
        "priorityClassName": "" if own else workload.priority_class,
        "subdomain": gang.domain,
        # Counted from the start of the pod: what a Job counts begins while it waits.
        "activeDeadlineSeconds": -(-workload.time_limit_ms // 1000) if ends else 0,
        "affinity": apart,
        "tolerations": tolerations(pods),
        "volumes": _volumes(making, gang, pods),
    }
    return {
        "restartPolicy": "Never" if ends else "Always",
        "terminationGracePeriodSeconds": -(-(contract.grace_ms + drain_ms) // 1000),
        "enableServiceLinks": False,
        **{name: value for name, value in optional.items() if value},
        "containers": [_container(making, gang, crew)],
    }


def _container(making: Making, gang: ManifestGang, crew: ControllerPods) -> Manifest:
    run = crew.run
    launched = making.launched(crew)
    ready = {"tcpSocket": {"port": run.port}, "periodSeconds": 5}
    serves = bool(run.port) and making.workload.kind is Kind.SERVICE
    front = serves and not crew.first_pod
    optional: Manifest = {
        "workingDir": run.workdir,
        "ports": [{"name": "main", "containerPort": run.port}] if run.port else [],
        "resources": _resources(crew.pods),
        "volumeMounts": _mounts(making, gang, crew.pods),
        "readinessProbe": ready if front and gang.pods == 1 else {},
        "lifecycle": _leaving(making.workload, front=front),
    }
    return {
        "name": CONTAINER,
        "image": run.image,
        **_command(crew, launched=launched),
        "env": environment(making.workload, gang, crew, launched=launched, secrets=making.secrets),
        **{name: value for name, value in optional.items() if value},
    }


def _leaving(workload: Workload, *, front: bool) -> Manifest:
    """A replica listens on while requests may still come, a workspace saves, before they stop."""
    if workload.kind is Kind.WORKSPACE and workload.idle.hook:
        return {"preStop": {"exec": {"command": ["/bin/sh", "-c", workload.idle.hook]}}}
    drain_ms = workload.scaling.drain_ms if front and workload.scaling else 0
    seconds = min(UNNOTICED_S, drain_ms // 1000)
    return {"preStop": {"sleep": {"seconds": seconds}}} if seconds else {}


def _command(crew: ControllerPods, *, launched: bool) -> Manifest:
    # Trials replace words of the command themselves; the template is what the others share.
    words = [escaped(word) for word in crew.run.command]
    if not launched:
        return {"command": words}
    script = f"{launcher.FOLDER}/{launcher.LAUNCH}"
    return {"command": ["/bin/sh", script, "line" if crew.run.shell else "words"], "args": words}


def _resources(pods: PodSet) -> Manifest:
    """Memory and GPUs are bounds; of idle cores a pod may have more than it asks for."""
    gpu = pods.request.gpu
    whole = gpu.count and gpu.milli == WHOLE and not gpu.share_mib
    cpu = {"cpu": f"{pods.request.cpu_milli}m"} if pods.request.cpu_milli else {}
    memory = {"memory": f"{pods.request.memory_mib}Mi"} if pods.request.memory_mib else {}
    gpus = {GPU: str(gpu.count)} if whole else {}
    found = {"requests": cpu | memory | gpus, "limits": memory | gpus}
    return {name: value for name, value in found.items() if value}


def _volumes(making: Making, gang: ManifestGang, pods: PodSet) -> list[Manifest]:
    found: list[Manifest] = []
    if making.has_files(gang):
        config = {"name": making.workload.name, "defaultMode": 0o444}
        items = _items(making, gang)
        found.append(
            {"name": "ganglion", "configMap": config | ({"items": items} if items else {})}
        )
    if needs_shm(pods):
        size = {"sizeLimit": f"{pods.shm_mib}Mi"} if pods.shm_mib else {}
        found.append({"name": SHM, "emptyDir": {"medium": "Memory"} | size})
    claim = claimed(making.workload.checkpoint)
    if claim:
        source = {"claimName": claim[0]}
        found.append({"name": "checkpoints", "persistentVolumeClaim": source})
    return found


def _items(making: Making, gang: ManifestGang) -> list[Manifest]:
    """Files of a gang that has siblings beside it in the config map."""
    if gang.crews[0].alone:
        return []
    launched = any(making.launched(crew) for crew in gang.crews)
    found = [{"key": launcher.LAUNCH, "path": launcher.LAUNCH}] if launched else []
    if gang.pods > 1:
        key = f"{launcher.HOSTFILE}-{gang.crews[0].index}"
        found.append({"key": key, "path": launcher.HOSTFILE})
    return found


def needs_shm(pods: PodSet) -> bool:
    """Whether a pod needs more shared memory than the 64 MiB of containers, as with GPUs."""
    return bool(pods.shm_mib or pods.request.gpu.count)


def _mounts(making: Making, gang: ManifestGang, pods: PodSet) -> list[Manifest]:
    found: list[Manifest] = []
    if making.has_files(gang):
        found.append({"name": "ganglion", "mountPath": launcher.FOLDER, "readOnly": True})
    if needs_shm(pods):
        found.append({"name": SHM, "mountPath": "/dev/shm"})
    claim = claimed(making.workload.checkpoint)
    if claim:
        below = {"subPath": claim[1]} if claim[1] else {}
        found.append({"name": "checkpoints", "mountPath": CHECKPOINTS, **below})
    return found


def claimed(contract: Checkpoint | None) -> tuple[str, str] | None:
    """Claim and folder of `pvc://CLAIM/FOLDER`; None = checkpoints lie elsewhere."""
    if contract is None or not contract.path.startswith(CLAIM):
        return None
    claim, _, folder = contract.path.removeprefix(CLAIM).partition("/")
    return claim, folder.strip("/")


def bare(manifest: Manifest) -> Manifest:
    """An object that makes pods, without what they execute: none of that bears on placement."""
    spec = manifest["spec"]
    pod = spec["template"]["spec"]
    stripped = {
        name: [{key: each[key] for key in PLACING if key in each} for each in pod[name]]
        for name in ("initContainers", "containers")
        if name in pod
    }
    template = {**spec["template"], "spec": {**pod, **stripped}}
    meta = {key: value for key, value in manifest["metadata"].items() if key != "annotations"}
    notes = manifest["metadata"].get("annotations", {})
    kept = {key: value for key, value in notes.items() if key != marks.DOCUMENT}
    return {
        **manifest,
        "metadata": {**meta, "annotations": kept},
        "spec": {**spec, "template": template},
    }
