"""From a decided start to the spec that a supervisor carries out."""

import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from ganglion.model.errors import FieldError, NotFound
from ganglion.model.plan import Start
from ganglion.model.workload import Checkpoint, Gang, Kind, Run, Workload
from ganglion.worlds.local import paths, records
from ganglion.worlds.local.env import Facts, Gpu, Seat, hostfile, rank_env, seats
from ganglion.worlds.local.ports import free_port
from ganglion.worlds.local.records import Record


class Ground(Struct, frozen=True):
    """What every launch of one world shares.

    Attributes:
        home: Ganglion's home directory.
        gpus: node name -> its devices in the node's order.
        inherited: environment that every job starts from.
        run_of: what gang number i of a workload executes.
    """

    home: Path
    gpus: Mapping[str, tuple[Gpu, ...]]
    inherited: Mapping[str, str]
    run_of: Callable[[Workload, int], Run]


def prepare(ground: Ground, start: Start, workload: Workload, taken: set[int]) -> Record:
    """Make the attempt's directories and return its spec; the spec itself is not written.

    Args:
        ground: what every launch shares.
        start: the decision.
        workload: what was submitted.
        taken: ports promised to live attempts.

    Raises:
        OSError: a directory cannot be made.
        GanglionError: the workload cannot be run here; the message says why.
    """
    gang, attempt = start.gang, start.attempt
    _check_place(ground, start)
    run = ground.run_of(workload, gang.index)
    facts = _facts(ground, start, workload.name, run, taken)
    home = ground.home
    for folder in (facts.run_dir, facts.checkpoint_dir, paths.log_dir(home, gang.id, attempt)):
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    hosts = hostfile(gang, start.placement)
    (Path(facts.run_dir) / records.HOSTFILE).write_text(hosts, encoding="ascii")
    contract = gang.checkpoint or Checkpoint()
    return {
        "gang": gang.id,
        "attempt": attempt,
        "boot": records.boot_id(),
        "log_dir": str(paths.log_dir(home, gang.id, attempt)),
        "signal": signal_number(contract.signal),
        "grace_ms": contract.grace_ms,
        "time_limit_ms": gang.time_limit_ms,
        "ports": [facts.master_port, facts.service_port],
        "service_port": facts.service_port,
        "devices": _devices(start, facts),
        "env": dict(ground.inherited),
        "pods": _pods(start, run, facts),
    }


def _check_place(ground: Ground, start: Start) -> None:
    for pod in start.placement.pods:
        gpus = ground.gpus.get(pod.node)
        if gpus is None:
            raise NotFound(f"this machine has no node {pod.node}")
        if len(gpus) <= max(pod.devices, default=-1):
            raise NotFound(f"node {pod.node} has {len(gpus)} devices, not {max(pod.devices) + 1}")


def _facts(ground: Ground, start: Start, name: str, run: Run, taken: set[int]) -> Facts:
    gang = start.gang
    key = f"{ground.home} {gang.id}#{start.attempt}"  # two servers must not agree on one port
    master = free_port(f"{key} master", taken)
    return Facts(
        attempt=start.attempt,
        name=name,
        master_port=master,
        service_port=free_port(f"{key} service", taken | {master}, run.port),
        checkpoint_dir=str(_checkpoints(ground.home, gang)),
        run_dir=str(paths.run_dir(ground.home, gang.id, start.attempt)),
        gpus=ground.gpus,
    )


def _checkpoints(home: Path, gang: Gang) -> Path:
    """The contract's path, one directory below it for each trial of a sweep."""
    if gang.checkpoint is None or not gang.checkpoint.path:
        return paths.checkpoint_dir(home, gang.id)
    path = Path(gang.checkpoint.path).expanduser()
    if not path.is_absolute():
        raise FieldError(f"{path} is not an absolute path", key="checkpoint.path")
    return path / str(gang.index) if gang.kind is Kind.SWEEP else path


def _devices(start: Start, facts: Facts) -> list[list[object]]:
    """Per pod its node and its devices as (number on the node, number on the machine)."""
    return [
        [pod.node, [[device, facts.gpus[pod.node][device].index] for device in pod.devices]]
        for pod in start.placement.pods
    ]


def _pods(start: Start, run: Run, facts: Facts) -> list[Record]:
    shell = shutil.which("bash") or "/bin/sh"
    pods: dict[int, Record] = {}
    for seat in seats(start.gang, start.placement):
        pod = pods.setdefault(seat.node_rank, _pod(seat, run, shell))
        env = rank_env(start.gang, start.placement, run, seat.rank, facts)
        pod["ranks"].append({"rank": seat.rank, "argv": _argv(run, shell), "env": env})
    return list(pods.values())


def _pod(seat: Seat, run: Run, shell: str) -> Record:
    setup = [shell, "-c", run.setup] if run.setup else None
    return {"node": seat.pod.node, "workdir": _workdir(run), "setup": setup, "ranks": []}


def _argv(run: Run, shell: str) -> list[str]:
    if not run.command:
        raise FieldError("there is no command to run", key="run", hint="give the workload a `run`")
    return [shell, "-c", " ".join(run.command)] if run.shell else list(run.command)


def _workdir(run: Run) -> str:
    path = Path(run.workdir or "~").expanduser()
    if not path.is_absolute():
        raise FieldError(f"{path} is not an absolute path", key="workdir")
    return str(path)


def signal_number(name: str) -> int:
    """Number of a signal given as `SIGUSR1`, `USR1` or `10`.

    Raises:
        FieldError: there is no such signal on this machine.
    """
    if name.isdigit() and int(name) in set(signal.Signals):
        return int(name)
    full = name.upper() if name.upper().startswith("SIG") else f"SIG{name.upper()}"
    if full not in signal.Signals.__members__:
        raise FieldError(f"{name} is no signal of this machine", key="checkpoint.signal")
    return signal.Signals[full].value
