"""What programs that look for Slurm find: its variables, and the one command they call.

PyTorch Lightning takes a job for Slurm's by SLURM_NTASKS, unless it is called `bash` or
`interactive`; saves on SIGUSR1; then calls `scontrol requeue` and expects to be ended.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from ganglion.model.workload import Gang
from ganglion.worlds.local.ranks.seats import RankSeat, Table
from ganglion.worlds.local.run_files.records import LEAVE

FOLDER = "bin"
"""Of the run directory; goes before the rest of PATH."""
COMMAND = "scontrol"
INTERACTIVE = ("bash", "interactive")
"""Names that Slurm gives to jobs in which people work; programs then ignore Slurm."""

SCONTROL = f"""#!/bin/sh
# Ends the grace of a job that has saved. It waits again by itself.
if [ "$1" != requeue ]; then
  echo "scontrol $*: only requeue is known here" >&2
  exit 1
fi
read -r why 2> /dev/null < "$GANGLION_STOP_FILE" || why="not asked to leave"
case $why in
  preempted | node_lost) ;;
  *) echo "scontrol requeue: this job is $why, so it is not queued again" >&2; exit 1 ;;
esac
touch "$GANGLION_CHECKPOINT_FILE" "$GANGLION_RUN_DIR/{LEAVE}"
"""


def variables(seat: RankSeat, table: Table, gang: Gang, name: str, address: str) -> dict[str, str]:
    """The variables of one task.

    Args:
        seat: the rank.
        table: all ranks of the gang.
        gang: the gang.
        name: the workload's name.
        address: of every node.
    """
    pods = len({each.node_rank for each in table})
    number, nodes = gang.workload.rpartition("-")[2], ",".join([address] * pods)
    cpus = {each.name: each.request.cpu_milli // each.procs // 1000 for each in gang.pod_sets}
    return {
        "SLURM_JOB_ID": number,
        "SLURM_JOBID": number,
        "SLURM_JOB_NAME": f"{name}-job" if name in INTERACTIVE else name,
        "SLURM_JOB_PARTITION": gang.queue,
        "SLURM_JOB_NODELIST": nodes,
        "SLURM_NODELIST": nodes,
        "SLURM_NNODES": str(pods),
        "SLURM_JOB_NUM_NODES": str(pods),
        "SLURM_NTASKS": str(len(table)),
        "SLURM_NTASKS_PER_NODE": str(seat.procs),
        "SLURM_CPUS_PER_TASK": str(max(cpus[seat.pod.pod_set], 1)),
        "SLURM_PROCID": str(seat.rank),
        "SLURM_LOCALID": str(seat.local_rank),
        "SLURM_NODEID": str(seat.node_rank),
        "SLURM_GPUS_ON_NODE": str(len(seat.pod.devices)),
    }


def provide(run: Path, env: Mapping[str, str], inherited: Mapping[str, str]) -> str:
    """Write the command and return the PATH on which it is found.

    Args:
        run: the run directory.
        env: the workload's own environment.
        inherited: what jobs inherit from the server.

    Raises:
        OSError: the disk refuses.
    """
    folder = run / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    command = folder / COMMAND
    scratch = command.with_suffix(".new")
    scratch.write_text(SCONTROL, encoding="ascii")
    scratch.chmod(0o750)  # the group's bits: accounts that the folder lets in
    scratch.replace(command)
    return f"{folder}:{env.get('PATH') or inherited.get('PATH') or os.defpath}"
