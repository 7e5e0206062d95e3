"""`ganglion logs`."""

import os
from typing import TYPE_CHECKING, Any

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.connection.contexts import ChosenCluster, context_options
from ganglion.cli.logs.events import print_history
from ganglion.cli.logs.pump import LogOptions, Pump, log_name
from ganglion.cli.options import command, refuse
from ganglion.cli.output.screen import note
from ganglion.model.errors import EnvironmentFault, InputError, NotFound

if TYPE_CHECKING:
    from ganglion.api.workloads import GangView, WorkloadDetail
    from ganglion.client.workload_client import WorkloadClient


@command(
    "logs",
    "logs train --follow",
    "logs train --rank 3 --tail 100",
    "logs sweep-12/4 --since 10m",
    "logs train --all-ranks --follow",
)
@click.argument("job", shell_complete=complete_jobs)
@click.option("-f", "--follow", is_flag=True, help="Follow until the job ends, or Ctrl-C.")
@click.option("--rank", type=click.IntRange(min=0), help="Rank to print.  [default: 0]")
@click.option("--all-ranks", is_flag=True, help="Every rank; each line begins with its rank.")
@click.option("--node", metavar="NAME", help="Only the ranks on this node.")
@click.option("--index", type=click.IntRange(min=0), help="Number of the replica or trial.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@click.option("--since", metavar="TIME", help="Only output since then, as 10m.")
@click.option("--previous", is_flag=True, help="The attempt before the last restart.")
@click.option("--diagnose", is_flag=True, help="The scheduler's events about it instead.")
@context_options
def logs(
    job: str,
    follow: bool,
    rank: int | None,
    all_ranks: bool,
    node: str | None,
    index: int | None,
    tail: int | None,
    since: str | None,
    previous: bool,
    diagnose: bool,
    where: ChosenCluster | None,
) -> None:
    """Print the logs of a workload.

    JOB is an id, the beginning of one, or a name; JOB/3 is its replica or trial 3.
    In a cluster there is one log for each pod, and ranks count pods. While the server is down, the
    files in its home are read.
    """
    ref, own = _reference(job)
    several = sum((rank is not None, all_ranks, node is not None)) > 1
    differ = own is not None and index not in (None, own)
    refuse(
        several * "--rank, --all-ranks and --node exclude each other",
        differ * f"{job} and --index {index} contradict each other",
    )
    index = index if own is None else own
    part = LogOptions(tail, since, follow, previous)
    try:
        with connect(where=where) as client:
            if diagnose:
                print_history(client, job, follow=follow)
                return
            pump = Pump(client, ref, part)
            if all_ranks or node is not None:
                _several(client, pump, ref, index, node)
            else:
                pump.copy(index, rank or 0)
    except EnvironmentFault as error:
        if where or diagnose or node or not _is_down(error):
            raise
        _offline(ref, index, None if all_ranks else rank or 0, part)


def _is_down(error: EnvironmentFault) -> bool:
    """Whether no server of this home runs, while there are logs in it."""
    from ganglion.client.home import Unreachable, home
    from ganglion.client.logins import chosen_login
    from ganglion.worlds.local.run_files.paths import logged_gangs

    if "GANGLION_URL" in os.environ or not isinstance(error, Unreachable):
        return False
    return chosen_login() is None and bool(logged_gangs(home()))


def _offline(ref: str, index: int | None, rank: int | None, part: LogOptions) -> None:
    """Copy the log of a rank, or of all, from the files of the home."""
    from ganglion.cli.logs.offline import HomeLogs
    from ganglion.client.home import home

    note(f"no server is running: these are the files in {home()}; start it with: ganglion up")
    source = HomeLogs(home())
    pump = Pump(source, ref, part)
    if rank is not None:
        pump.copy(index, rank)
        return
    found = source.ranks(ref, index, previous=part.previous)
    gang, _ = source.attempt(ref, index, previous=part.previous)
    for each in found:
        pump.start(int(gang.rpartition("/")[2]), each, log_name(0, 1, each, len(found)))
        if not pump.follows:
            pump.join()
    pump.join()


def _reference(job: str) -> tuple[str, int | None]:
    """Split `JOB/3` into the workload and the number of the gang; without one, the first is meant.

    The first of a service is not 0 for ever.
    """
    ref, slash, number = job.partition("/")
    if slash and not number.isdecimal():
        raise InputError(f"{job}: no number behind the slash", f"as {ref}/0")
    return ref, int(number) if slash else None


def _several(
    client: "WorkloadClient", pump: Pump, ref: str, index: int | None, node: str | None
) -> None:
    """Copy the logs of all ranks of a gang, or of those on one node."""
    view = client.workload(ref)
    kept = [gang for gang in view.gangs if gang.phase != "ended"] or view.gangs
    wanted = kept[:1] if index is None else view.gangs
    gang = next((gang for gang in wanted if index in (None, gang.index)), None)
    if gang is None:
        raise NotFound(f"{view.id} has no number {index}", f"it has {len(view.gangs)}, from 0")
    ranks = range(gang.ranks) if node is None else _ranks_on(view, gang, node)
    for rank in ranks:
        pump.start(gang.index, rank, log_name(gang.index, len(view.gangs), rank, gang.ranks))
        if not pump.follows:
            pump.join()
    pump.join()


def _ranks_on(view: "WorkloadDetail", gang: "GangView", node: str) -> list[int]:
    """Return the ranks on one node.

    Ranks count through the pods in the order of the placement, and through the processes of
    each pod; where every pod has one log, through the pods alone.
    """
    pods = gang.placement.pods if gang.placement else ()
    procs = {} if gang.ranks == len(pods) else _procs(view.document)
    nodes = [pod.node for pod in pods for _ in range(procs.get(pod.pod_set, 1))]
    ranks = [rank for rank, name in enumerate(nodes) if name == node]
    if not ranks:
        used = ", ".join(dict.fromkeys(nodes)) or "none yet"
        raise NotFound(f"{gang.id} has no process on node {node}", f"its nodes: {used}")
    return ranks


def _procs(document: dict[str, Any]) -> dict[str, int]:
    """Return processes per pod by name of the pod set; a plain workload has one, `main`."""
    sets = document.get("pod_sets") or [{**document, "name": "main"}]
    return {each["name"]: int(each.get("procs_per_node", 1)) for each in sets}
