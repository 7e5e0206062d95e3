"""From a decided start or resize to what a supervisor carries out."""

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ganglion.model.errors import FieldError, NotFound
from ganglion.model.executor import Term
from ganglion.model.placement import Placement
from ganglion.model.plan import Resize, Start
from ganglion.model.workload import Checkpoint, Gang, Kind, ResolvedModel, Run, Workload
from ganglion.seams.files import program
from ganglion.worlds.environment import SLURM_SWITCH
from ganglion.worlds.local.attempts.helping import (
    READS,
    SOCKET,
    AccountLogin,
    exchange_of,
    login_of,
    order_of,
    share,
)
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.machine.ports import free_port, is_free, is_reusable
from ganglion.worlds.local.ranks import slurm
from ganglion.worlds.local.ranks.env import Gpu, RankFacts, hostfile, rank_env
from ganglion.worlds.local.ranks.seats import RankSeat, Table, pod_id, seats
from ganglion.worlds.local.run_files import fence, paths, records
from ganglion.worlds.local.run_files.records import Record
from ganglion.worlds.local.run_files.secret_store import SecretStore, without_credentials
from ganglion.worlds.local.supervision.children import HELPER
from ganglion.worlds.local.workspaces.kept import furnish, kept, port_key

ModelPath = Callable[[ResolvedModel, int | None], str]


def no_model(_model: ResolvedModel, _uid: int | None) -> str:
    """Keep no models."""
    return ""


class LaunchSetup(Struct, frozen=True):
    """What every launch of one world shares.

    Attributes:
        home: Ganglion's home directory.
        gpus: node name -> its devices in the node's order.
        inherited: environment that every job starts from.
        run_of: what gang number i of a workload executes.
        secrets: keeps credentials out of specs.
        umask: of jobs; -1 = that of the server.
        open_files: soft limit of jobs; 0 = that of the server.
        term: the ledger and the generation of it that this home executes; None = unknown.
        helper: socket of the root helper, which starts programs of other accounts.
        model_path: where a model lies on this machine, for programs of an account, or of the
            server's; empty = it does not.
    """

    home: Path
    gpus: Mapping[str, tuple[Gpu, ...]]
    inherited: Mapping[str, str]
    run_of: Callable[[Workload, int], Run]
    secrets: SecretStore
    umask: int = -1
    open_files: int = 0
    term: Term | None = None
    helper: str = SOCKET
    model_path: ModelPath = no_model


def prepare(ground: LaunchSetup, start: Start, workload: Workload, taken: set[int]) -> Record:
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
    _check_place(ground, start.placement)
    secrets = ground.secrets.values_of(gang.workload, workload)
    login = login_of(workload.account) if workload.account else None
    run = ground.run_of(workload, gang.index)
    facts = _facts(ground, start, workload, _ports(ground, start, run, taken))
    home = ground.home
    logs, reports = paths.log_dir(home, gang.id, attempt), f"{facts.run_dir}/{records.REPORTS}"
    theirs = [facts.folder, reports, *([] if _is_users(gang, login) else [facts.checkpoint_dir])]
    for folder in (facts.run_dir, str(logs), *theirs):
        host.make_folder(folder)
    if login:
        for folder in theirs:
            share(home, Path(folder), login.account.uid)
    table = seats(gang, start.placement)
    _write_hosts(facts, table)
    contract = gang.checkpoint or Checkpoint()
    spec: Record = {
        "gang": gang.id,
        "attempt": attempt,
        "boot": records.boot_id(),
        "log_dir": str(logs),
        "checkpoint_dir": facts.checkpoint_dir,
        "resume": [{"step": each.step, "path": each.path} for each in start.resume],
        "must_resume": contract.must_resume,
        "signal": signal_number(contract.signal),
        "grace_ms": contract.grace_ms,
        "time_limit_ms": gang.time_limit_ms,
        "replace": gang.replace,
        "again": workload.retry.limits.get("failure", workload.retry.limit) * gang.replace,
        "ports": [facts.master_port, facts.service_port],
        "service_port": facts.service_port,
        "env": _inherited(ground, login),
        "umask": ground.umask,
        "open_files": ground.open_files,
        "pods": _pods(ground, gang, table, run, facts, login),
        "term": _term(ground),
    }
    if login:
        name, uid = Path(facts.run_dir).name, login.account
        spec[records.EXCHANGE] = facts.folder
        spec[HELPER] = order_of(
            *(ground.helper, name, gang, start.placement, uid),
            gpus=ground.gpus,
            open_files=ground.open_files,
            folders=[Path(facts.checkpoint_dir)] if _is_users(gang, login) else [],
        )
    furnish(home, gang, workload, run, spec)
    if login and gang.kind is Kind.WORKSPACE:
        share(home, kept(home, gang).files, login.account.uid)
    ground.secrets.withhold(gang.id, spec, secrets)
    return spec


def resized(
    ground: LaunchSetup, resize: Resize, workload: Workload, spec: Record, pods: list[Record]
) -> list[Record]:
    """The pods of an attempt after a change of its size; those that stay are as they were.

    Args:
        ground: what every launch shares.
        resize: the decision.
        workload: what was submitted.
        spec: of the attempt.
        pods: those it has.

    Raises:
        OSError: the host file cannot be written.
        GanglionError: the new pods cannot be run here; the message says why.
    """
    _check_place(ground, resize.placement)
    gang, old = resize.gang, {pod["id"]: pod for pod in pods}
    run = ground.run_of(workload, gang.index)
    login = login_of(workload.account) if workload.account else None
    facts = _facts(ground, resize, workload, spec["ports"])
    taken = {key: (pod["number"], pod["ranks"][0]["rank"]) for key, pod in old.items()}
    table = seats(gang, resize.placement, taken)
    _write_hosts(facts, table)
    found = _pods(ground, gang, table, run, facts, login)
    without_credentials(found)  # they lie where those of the attempt were put at its start
    return [old.get(pod["id"], pod) for pod in found]


def _term(ground: LaunchSetup) -> Record | None:
    """What shows a supervisor that its generation has ended; see `fence`."""
    if ground.term is None:
        return None
    path = str(fence.path_of(ground.home))
    return {"ledger": ground.term.ledger, "generation": ground.term.generation, "fence": path}


def _write_hosts(facts: RankFacts, table: Table) -> None:
    """Write the host file; a reader at that moment sees the old or the new one."""
    host.publish(Path(facts.folder) / records.HOSTFILE, hostfile(table).encode("ascii"))


def _check_place(ground: LaunchSetup, placement: Placement) -> None:
    for pod in placement.pods:
        gpus = ground.gpus.get(pod.node)
        if gpus is None:
            raise NotFound(f"this machine has no node {pod.node}")
        if len(gpus) <= max(pod.devices, default=-1):
            raise NotFound(f"node {pod.node} has {len(gpus)} devices, not {max(pod.devices) + 1}")


def _ports(ground: LaunchSetup, start: Start, run: Run, taken: set[int]) -> tuple[int, int]:
    """Ports for the rendezvous and for a service."""
    # Two servers must not agree on one port.
    key = port_key(ground.home, start.gang, start.attempt)
    master = free_port(f"{key} master", taken)
    free = is_reusable if start.gang.kind is Kind.WORKSPACE else is_free
    return master, free_port(f"{key} service", taken | {master}, run.port, free)


def _facts(
    ground: LaunchSetup, decision: Start | Resize, workload: Workload, ports: Sequence[int]
) -> RankFacts:
    gang, attempt = decision.gang, decision.attempt
    login = login_of(workload.account) if workload.account else None
    run = paths.run_dir(ground.home, gang.id, attempt)
    uid = login.account.uid if login else None
    return RankFacts(
        attempt=attempt,
        name=workload.name,
        master_port=ports[0],
        service_port=ports[1],
        checkpoint_dir=str(_checkpoints(ground.home, gang, login)),
        run_dir=str(run),
        gpus=ground.gpus,
        exchange=str(exchange_of(run)) if login else "",
        model_path=ground.model_path(gang.model, uid) if gang.model else "",
    )


def _inherited(ground: LaunchSetup, login: AccountLogin | None) -> dict[str, str]:
    """The environment that every process starts from; accounts get nothing of the server's."""
    return login.environment(ground.inherited) if login else dict(ground.inherited)


def _is_users(gang: Gang, login: AccountLogin | None) -> bool:
    """Whether checkpoints lie in a folder of another account, which only that account makes."""
    return bool(login and gang.checkpoint and gang.checkpoint.path)


def _path(text: str, login: AccountLogin | None) -> Path:
    return (login.path(text) if login else Path(text)).expanduser()


def _checkpoints(home: Path, gang: Gang, login: AccountLogin | None) -> Path:
    """The contract's path, one directory below it for each trial of a sweep."""
    if gang.checkpoint is None or not gang.checkpoint.path:
        return paths.checkpoint_dir(home, gang.id)
    path = _path(gang.checkpoint.path, login)
    if not path.is_absolute():
        raise FieldError(f"{path} is not an absolute path", key="checkpoint.path")
    return path / str(gang.index) if gang.kind is Kind.SWEEP else path


def _pods(
    ground: LaunchSetup,
    gang: Gang,
    table: Table,
    run: Run,
    facts: RankFacts,
    login: AccountLogin | None,
) -> list[Record]:
    search, inherited = {}, _inherited(ground, login)
    if run.env.get(SLURM_SWITCH) == "1":
        search["PATH"] = slurm.provide(Path(facts.run_dir), run.env, inherited)
        if login:
            tools = Path(facts.run_dir) / slurm.FOLDER
            share(ground.home, tools, login.account.uid, READS, (slurm.COMMAND,))
    shell = program(host.files, "bash", inherited.get("PATH", os.defpath)) or "/bin/sh"
    pods: dict[int, Record] = {}
    for seat in table:
        pod = pods.setdefault(seat.node_rank, _pod(seat, run, shell, facts, login))
        env = rank_env(gang, table, run, seat, facts) | search
        rank = {"rank": seat.rank, "argv": _argv(run, shell), "env": env}
        pod["ranks"].append(rank | ({"tty": True} if run.tty and seat.rank == 0 else {}))
    return list(pods.values())


def _pod(
    seat: RankSeat, run: Run, shell: str, facts: RankFacts, login: AccountLogin | None
) -> Record:
    """One pod; its devices as (number on the node, number on the machine)."""
    place = seat.pod
    gpus = facts.gpus[place.node]
    return {
        "id": pod_id(place),
        "number": seat.node_rank,
        "node": place.node,
        "devices": [[device, gpus[device].index] for device in place.devices],
        "workdir": _workdir(run, login),
        "setup": [shell, "-c", run.setup] if run.setup else None,
        "ranks": [],
    }


def _argv(run: Run, shell: str) -> list[str]:
    if not run.command:
        raise FieldError("there is no command to run", key="run", hint="give the workload a `run`")
    return [shell, "-c", " ".join(run.command)] if run.shell else list(run.command)


def _workdir(run: Run, login: AccountLogin | None) -> str:
    path = _path(run.workdir or "~", login)
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
