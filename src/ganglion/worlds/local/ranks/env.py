"""The environment of every rank: how the processes of a gang find each other and their GPUs.

Rank semantics. A rank is one process that the world starts. `procs` processes run in each
pod; `RANK` counts them through the whole gang (pod by pod), `LOCAL_RANK` within their pod,
`NODE_RANK` and `GROUP_RANK` count pods. With one process per pod `RANK` therefore equals
the pod's number; a launcher started there (torchrun, accelerate) gives its own children
their ranks and overwrites the variables. `PET_*` are what torchrun reads in place of flags.
How ranks are counted when an elastic gang changes its size: see `seats`.
"""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ganglion.model.fleet.node import Node
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Checkpoint, Gang, Run
from ganglion.worlds.environment import BIND_SWITCH, SLURM_SWITCH, split
from ganglion.worlds.local.ranks import slurm
from ganglion.worlds.local.ranks.seats import RankSeat, Table
from ganglion.worlds.local.run_files.records import CHECKPOINT, HOSTFILE, STOP_NOTE, report_file

ADDRESS = "127.0.0.1"
"""Every node of this world is this machine."""
HANDED_ON = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
"""Signals that torchrun forwards to its workers by itself."""
HARMLESS = ("SIGURG", "SIGWINCH", "SIGCHLD", "SIGCONT")
"""Signals that end no process."""
OWNED = ("PET_", "GANGLION_", "SLURM_", "TORCHELASTIC_", "OMPI_", "PMI_", "PMIX_")
"""Prefixes of variables that describe a job; those of the server's own are not passed on."""
OWNED_NAMES = frozenset(
    {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}
    | {"NODE_RANK", "GROUP_RANK", "ROLE_RANK", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"}
    | {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"}
)


class Gpu(Struct, frozen=True):
    """A device as the machine numbers it.

    Attributes:
        index: number on the machine, in PCI bus order.
        uuid: the vendor's identifier; empty = pretend.
    """

    index: int
    uuid: str = ""


def numbered(nodes: Sequence[Node]) -> dict[str, tuple[Gpu, ...]]:
    """The devices of each node as the machine numbers them, which has those of all nodes."""
    found, first = {}, 0
    for node in nodes:
        gpus = (Gpu(first + i, device.uuid) for i, device in enumerate(node.devices))
        found[node.name] = tuple(gpus)
        first += len(node.devices)
    return found


class RankFacts(Struct, frozen=True):
    """What an attempt is given beside gang and placement.

    Attributes:
        attempt: number of the attempt, from 1.
        name: the workload's name.
        master_port: port for the rendezvous on rank 0's node.
        service_port: port a service should listen on.
        checkpoint_dir: where checkpoints are kept.
        run_dir: this attempt's run directory.
        gpus: node name -> its devices in the node's order.
        exchange: folder that its programs may write; empty = the run directory.
        model_path: where its model lies on this machine; empty = it does not.
    """

    attempt: int
    name: str
    master_port: int
    service_port: int
    checkpoint_dir: str
    run_dir: str
    gpus: Mapping[str, tuple[Gpu, ...]]
    exchange: str = ""
    model_path: str = ""

    @property
    def folder(self) -> str:
        """Where programs and supervisor exchange files."""
        return self.exchange or self.run_dir


def rank_env(
    gang: Gang, table: Table, run: Run, seat: RankSeat, facts: RankFacts
) -> dict[str, str]:
    """What one rank gets beside the inherited environment; Ganglion's names win over `run.env`.

    Args:
        gang: the gang.
        table: all its ranks.
        run: what it executes.
        seat: the rank.
        facts: the attempt's ports and directories, and the devices of the nodes.
    """
    env = dict(run.env) | _torch(seat, table, gang, facts) | _gpus(seat, run, facts)
    env |= _own(seat, table, gang, facts) | model_env(gang, facts.model_path)
    if run.env.get(SLURM_SWITCH) == "1":
        env |= slurm.variables(seat, table, gang, facts.name, ADDRESS)
        env["SLURM_RESTART_COUNT"] = str(facts.attempt - 1)
    usual = _handled((gang.checkpoint or Checkpoint()).signal)
    usual |= {"PORT": str(facts.service_port)} if run.port else {}
    return {"PYTHONUNBUFFERED": "1"} | usual | env


def _handled(name: str) -> dict[str, str]:
    """Variables that make torchrun forward the contract's signal: an unknown one ends it."""
    full = _signal_name(name)
    if full in HANDED_ON or full in HARMLESS:
        return {}
    return {"TORCHELASTIC_SIGNALS_TO_HANDLE": ",".join((*HANDED_ON, full))}


def _signal_name(name: str) -> str:
    if name.isdigit() and int(name) in set(signal.Signals):
        return signal.Signals(int(name)).name
    return name.upper() if name.upper().startswith("SIG") else f"SIG{name.upper()}"


def _pods(table: Table) -> int:
    return len({seat.node_rank for seat in table})


def _nnodes(gang: Gang, table: Table) -> str:
    """Number of pods, or for an elastic gang the bounds between which torchrun goes on."""
    if not any(pods.min_count for pods in gang.pod_sets):
        return str(_pods(table))
    least, most = (
        sum(each) for each in zip(*((p.least, p.count) for p in gang.pod_sets), strict=True)
    )
    return f"{least}:{most}"


def _torch(seat: RankSeat, table: Table, gang: Gang, facts: RankFacts) -> dict[str, str]:
    port = str(facts.master_port)
    children = seat.procs if seat.procs > 1 else max(1, len(seat.pod.devices))
    return {
        "MASTER_ADDR": ADDRESS,
        "MASTER_PORT": port,
        "WORLD_SIZE": str(len(table)),
        "RANK": str(seat.rank),
        "LOCAL_RANK": str(seat.local_rank),
        "LOCAL_WORLD_SIZE": str(seat.procs),
        "NODE_RANK": str(seat.node_rank),
        "GROUP_RANK": str(seat.node_rank),
        "PET_NNODES": _nnodes(gang, table),
        "PET_NPROC_PER_NODE": str(children),
        "PET_NODE_RANK": str(seat.node_rank),
        "PET_MASTER_ADDR": ADDRESS,
        "PET_MASTER_PORT": port,
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": f"{ADDRESS}:{port}",
        "PET_RDZV_ID": f"{gang.id.replace('/', '-')}-{facts.attempt}",
    }


def _gpus(seat: RankSeat, run: Run, facts: RankFacts) -> dict[str, str]:
    mine = seat.pod.devices
    if run.env.get(BIND_SWITCH) != "pod":
        mine = split(mine, seat.procs, seat.local_rank)
    gpus = [facts.gpus[seat.pod.node][device] for device in mine]
    env = {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(str(gpu.index) for gpu in gpus),
    }
    if all(gpu.uuid for gpu in gpus):
        env["NVIDIA_VISIBLE_DEVICES"] = ",".join(gpu.uuid for gpu in gpus)
    if 0 < seat.pod.milli < WHOLE:
        env["GANGLION_GPU_MILLI"] = str(seat.pod.milli)
    return env


def _own(seat: RankSeat, table: Table, gang: Gang, facts: RankFacts) -> dict[str, str]:
    pods = _pods(table)
    return {
        "GANGLION_JOB_ID": gang.workload,
        "GANGLION_NAME": facts.name,
        "GANGLION_GANG": gang.id,
        "GANGLION_INDEX": str(gang.index),
        "GANGLION_ATTEMPT": str(facts.attempt),
        "GANGLION_NODE": seat.pod.node,
        "GANGLION_NODE_RANK": str(seat.node_rank),
        "GANGLION_NODES_NUM": str(pods),
        "GANGLION_NODE_IPS": "\n".join([ADDRESS] * pods),
        "GANGLION_GPUS_PER_NODE": str(len(seat.pod.devices)),
        "GANGLION_POD_SET": seat.pod.pod_set,
        "GANGLION_PORT": str(facts.service_port),
        "GANGLION_STOP_SIGNAL": (gang.checkpoint or Checkpoint()).signal,
        "GANGLION_CHECKPOINT_DIR": facts.checkpoint_dir,
        "GANGLION_RUN_DIR": facts.folder,
        "GANGLION_STOP_FILE": f"{facts.folder}/{STOP_NOTE}",
        "GANGLION_CHECKPOINT_FILE": f"{facts.folder}/{CHECKPOINT}",
        "GANGLION_REPORT_FILE": str(report_file(Path(facts.run_dir), seat.node_rank)),
        "GANGLION_HOSTFILE": f"{facts.folder}/{HOSTFILE}",
    }


def model_env(gang: Gang, path: str = "") -> dict[str, str]:
    """What programs learn of the model that they are to load, and where it lies already."""
    model = gang.model
    if model is None:
        return {}
    found = {"GANGLION_MODEL_PATH": path} if path else {}
    return found | {
        "GANGLION_MODEL": model.reference,
        "GANGLION_MODEL_URI": model.uri,
        "GANGLION_MODEL_VERSION": model.version,
        "GANGLION_MODEL_DIGEST": model.digest,
    }


def hostfile(table: Table) -> str:
    """An MPI hostfile: one line `address slots=n` per pod."""
    firsts = [seat for seat in table if seat.local_rank == 0]
    return "".join(f"{ADDRESS} slots={max(seat.procs, len(seat.pod.devices))}\n" for seat in firsts)


def inheritable(environ: Mapping[str, str]) -> dict[str, str]:
    """The server's own environment without what describes a job or is Ganglion's business."""
    return {
        name: value
        for name, value in environ.items()
        if name == "GANGLION_HOME" or (name not in OWNED_NAMES and not name.startswith(OWNED))
    }
