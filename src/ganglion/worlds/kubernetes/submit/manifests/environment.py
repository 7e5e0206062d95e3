"""The environment of a pod: the names of the local world, filled in by the cluster.

What only the cluster knows comes from fields of the pod. `RANK` and its kin count as in the local
world: through all processes of a gang, pod by pod.
"""

from typing import Any

from ganglion.model.resources import WHOLE
from ganglion.model.workload import Checkpoint, Kind, PodSet, Workload
from ganglion.worlds.environment import BIND_SWITCH, SLURM_SWITCH, split
from ganglion.worlds.kubernetes.submit.manifests import launcher
from ganglion.worlds.kubernetes.submit.manifests.shape import ControllerPods, ManifestGang

Variable = dict[str, Any]
Values = dict[str, str]

MASTER_PORT = 29500
JOB_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
SET_INDEX = "metadata.labels['apps.kubernetes.io/pod-index']"
CLAIM = "pvc://"
"""Begins a checkpoint path that is a folder of a persistent volume claim."""
CHECKPOINTS = "/ganglion/checkpoints"
NODES = "nodes"
"""Key of the config map that holds the names of all pods, one a line."""


def environment(
    workload: Workload,
    gang: ManifestGang,
    crew: ControllerPods,
    *,
    launched: bool,
    secrets: frozenset[str],
) -> list[Variable]:
    """What the processes of a crew's pods find in their environment.

    Args:
        workload: what was submitted.
        gang: theirs.
        crew: the pods.
        launched: whether the launcher starts them.
        secrets: variables of `run.env` whose values lie in a secret.
    """
    index = _index(workload, crew)
    number = str(crew.index)
    if crew.alone:  # replicas of a Deployment have names, but no numbers
        number = "$(GANGLION_INDEX)" if index else "$(GANGLION_POD)"
    found = {"PYTHONUNBUFFERED": "1"} | ({"PORT": str(crew.run.port)} if crew.run.port else {})
    own = {name: value for name, value in crew.run.env.items() if name not in secrets}
    found |= {name: escaped(value) for name, value in own.items()}
    found |= _torch(workload, gang, crew, number) | _own(workload, gang, crew, number)
    found |= _slurm(workload, gang, crew) if crew.run.env.get(SLURM_SWITCH) == "1" else {}
    found |= _launched(workload, crew) if launched else {}
    given = index | _fields(gang, crew, workload)
    plain = {name: {"value": value} for name, value in found.items() if name not in given}
    hidden = {
        name: {"valueFrom": {"secretKeyRef": {"name": workload.name, "key": name}}}
        for name in sorted(secrets & crew.run.env.keys() - found.keys() - given.keys())
    }
    return [{"name": name, **source} for name, source in (given | hidden | plain).items()]


def escaped(text: str) -> str:
    """Text that the cluster leaves as it is, although it replaces `$(NAME)`."""
    return text.replace("$", "$$") if "$(" in text or "$$" in text else text


def _field(path: str) -> Variable:
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


def _index(workload: Workload, crew: ControllerPods) -> dict[str, Variable]:
    """The number that a controller gave the pod; Deployments give none."""
    if workload.kind is Kind.SERVICE and crew.alone:
        return {}
    numbered = workload.kind in (Kind.SERVICE, Kind.WORKSPACE)
    name = "GANGLION_INDEX" if crew.alone else "GANGLION_POD_INDEX"
    return {name: _field(SET_INDEX if numbered else JOB_INDEX)}


def _fields(gang: ManifestGang, crew: ControllerPods, workload: Workload) -> dict[str, Variable]:
    found = {"GANGLION_NODE": _field("spec.nodeName"), "GANGLION_POD": _field("metadata.name")}
    if gang.pods == 1:
        return found
    key = {"name": workload.name, "key": f"{NODES}-{crew.index}"}
    found["GANGLION_NODE_IPS"] = {"valueFrom": {"configMapKeyRef": key}}
    if not crew.first_pod:
        index = {"value": "$(GANGLION_POD_INDEX)"}
        names = ["NODE_RANK", "GROUP_RANK", "PET_NODE_RANK", "GANGLION_NODE_RANK"]
        found |= dict.fromkeys([*names, *(["RANK"] if crew.pods.procs == 1 else [])], index)
    return found


def _torch(workload: Workload, gang: ManifestGang, crew: ControllerPods, number: str) -> Values:
    pods = crew.pods
    master, port = gang.hosts[0], str(MASTER_PORT)
    elastic = any(each.pods.min_count for each in gang.crews)
    return {
        "MASTER_ADDR": master,
        "MASTER_PORT": port,
        "WORLD_SIZE": str(gang.ranks),
        "RANK": "0",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": str(pods.procs),
        "NODE_RANK": "0",
        "GROUP_RANK": "0",
        "PET_NNODES": f"{gang.least}:{gang.pods}" if elastic else str(gang.pods),
        "PET_NPROC_PER_NODE": str(children(pods)),
        "PET_NODE_RANK": "0",
        "PET_MASTER_ADDR": master,
        "PET_MASTER_PORT": port,
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": f"{master}:{port}",
        "PET_RDZV_ID": f"{workload.name}-{number}",
    }


def children(pods: PodSet) -> int:
    """Processes that a launcher such as torchrun starts in each pod."""
    return pods.procs if pods.procs > 1 else max(1, devices(pods))


def devices(pods: PodSet) -> int:
    """GPUs of each pod; a part of one counts as one."""
    return pods.request.gpu.count


def _own(workload: Workload, gang: ManifestGang, crew: ControllerPods, number: str) -> Values:
    gpu = crew.pods.request.gpu
    part = {"GANGLION_GPU_MILLI": str(gpu.milli)} if gpu.count and gpu.milli < WHOLE else {}
    several = {"GANGLION_HOSTFILE": f"{launcher.FOLDER}/{launcher.HOSTFILE}"}
    kept = checkpoint_dir(workload.checkpoint)
    if kept and workload.kind is Kind.SWEEP:
        kept += f"/{number}"
    gangs = gang.name if not crew.alone else f"{gang.name}/{number}"
    return {
        "GANGLION_JOB_ID": workload.name,
        "GANGLION_NAME": workload.name,
        "GANGLION_GANG": gangs,
        **({} if crew.alone else {"GANGLION_INDEX": number}),
        "GANGLION_NODE_RANK": "0",
        "GANGLION_NODES_NUM": str(gang.pods),
        "GANGLION_NODE_IPS": "127.0.0.1",
        "GANGLION_GPUS_PER_NODE": str(devices(crew.pods)),
        "GANGLION_POD_SET": crew.pods.name,
        **({"GANGLION_PORT": str(crew.run.port)} if crew.run.port else {}),
        **({"GANGLION_CHECKPOINT_DIR": kept} if kept else {}),
        **part,
        **(several if gang.pods > 1 else {}),
    }


def checkpoint_dir(contract: Checkpoint | None) -> str:
    """Where checkpoints lie in the container; empty = nowhere that lasts."""
    if contract is None or not contract.path:
        return ""
    return CHECKPOINTS if contract.path.startswith(CLAIM) else contract.path


def _launched(workload: Workload, crew: ControllerPods) -> Values:
    """Environment variables for the launcher."""
    contract = workload.checkpoint or Checkpoint()
    pods = crew.pods
    found = {
        "GANGLION_PROCS": str(pods.procs),
        "GANGLION_FIRST_POD": str(crew.first_pod),
        "GANGLION_FIRST_RANK": str(crew.first_rank),
        "GANGLION_STOP_SIGNAL": contract.signal.removeprefix("SIG"),
        "GANGLION_GRACE": str(-(-contract.grace_ms // 1000)),
        "GANGLION_SETUP": escaped(crew.run.setup),
        "GANGLION_TRIALS": f"{launcher.FOLDER}/{launcher.TRIAL}" if crew.alone else "",
    }
    if pods.procs > 1 and devices(pods) and crew.run.env.get(BIND_SWITCH) != "pod":
        every = tuple(range(devices(pods)))
        parts = (split(every, pods.procs, local) for local in range(pods.procs))
        found["GANGLION_GPU_SPLIT"] = ";".join(",".join(map(str, part)) for part in parts)
    return {name: value for name, value in found.items() if value}


def _slurm(workload: Workload, gang: ManifestGang, crew: ControllerPods) -> Values:
    rank = "$(GANGLION_POD_INDEX)" if gang.pods > 1 and not crew.first_pod else "0"
    return {
        "SLURM_JOB_NAME": workload.name,
        "SLURM_JOB_NODELIST": ",".join(gang.hosts) if gang.pods <= MOST_LISTED else "",
        "SLURM_NNODES": str(gang.pods),
        "SLURM_NTASKS": str(gang.ranks),
        "SLURM_NTASKS_PER_NODE": str(crew.pods.procs),
        "SLURM_PROCID": rank,
        "SLURM_LOCALID": "0",
        "SLURM_NODEID": rank,
        "SLURM_GPUS_ON_NODE": str(devices(crew.pods)),
    }


MOST_LISTED = 64
"""Most pods whose names stand in a variable of every pod."""
