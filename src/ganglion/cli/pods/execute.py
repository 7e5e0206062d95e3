"""`ganglion exec` and `ganglion attach`."""

import os
import sys
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.connection.contexts import ChosenCluster, context_options
from ganglion.cli.connection.elsewhere import local_only
from ganglion.cli.options import command
from ganglion.cli.output.screen import note
from ganglion.model.errors import StateError

if TYPE_CHECKING:
    from ganglion.client.workload_client import WorkloadClient

NO_TERMINAL = "state.no_terminal"
SHELL = ("sh", "-c", "command -v bash >/dev/null && exec bash; exec sh")
"""What runs where no command is given."""
FAILED = 1


@command(
    "exec",
    "exec train -- nvidia-smi",
    "exec -it train -- bash",
    "exec train --pod 3 -- py-spy dump --pid 4711",
    "exec sweep-12/4 -- tail -n 5 metrics.jsonl",
    allow_interspersed_args=True,
)
@click.argument("job", shell_complete=complete_jobs)
@click.argument("words", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
@click.option("-i", "--stdin", "typing", is_flag=True, help="Forward the standard input.")
@click.option("-t", "--tty", "terminal", is_flag=True, help="Give the command a terminal.")
@click.option("--pod", type=click.IntRange(min=0), help="Pod of the gang.  [default: 0]")
@click.option("--rank", type=click.IntRange(min=0), help="Use the environment of this rank.")
@context_options
def exec_command(
    job: str,
    words: tuple[str, ...],
    typing: bool,
    terminal: bool,
    pod: int | None,
    rank: int | None,
    where: ChosenCluster | None,
) -> int:
    """Run a command in a running pod.

    It has the environment, the GPUs and the directory of the pod's first process, and runs as
    the server's user. It ends, with all that it started, when it is done, when this command is
    interrupted or loses the server, and when the attempt ends. Exits with its code.

    Without COMMAND a shell with a terminal, as with -it.

    JOB is an id, the beginning of one, or a name; JOB/3 is its replica or trial 3.
    """
    from ganglion.cli.pods.tty import join, size

    local_only(where, "exec", "kubectl exec")
    shell = not words
    with connect() as client:
        session = client.terminals.execute(
            job,
            words or SHELL,
            pod=pod,
            rank=rank,
            tty=terminal or shell,
            term=os.environ.get("TERM", "dumb"),
            size=size(),
        )
        with session as opened:
            status = join(opened, terminal=terminal or shell, typing=typing or shell)
    if status.error:
        note(f"Error: {status.error}" + (f"\nHint: {status.hint}" if status.hint else ""))
    return FAILED if status.exit_code is None else status.exit_code


@command("attach", "attach shell", "attach sweep-12/4")
@click.argument("job", shell_complete=complete_jobs)
@context_options
def attach(job: str, where: ChosenCluster | None) -> int:
    """Attach to the terminal of a running job.

    Print the output of its first process and send it what you type. Ctrl-P Ctrl-Q
    leaves it running. Several people may be attached at once. Exits with the code of the job.

    A job without a terminal (`tty: true`, or run --pty) only has its output shown, and Ctrl-C
    leaves it running.

    JOB is an id, the beginning of one, or a name; JOB/3 is its replica or trial 3.
    """
    local_only(where, "attach", "kubectl attach")
    with connect() as client:
        try:
            return stay(client, job)
        except StateError as error:
            if error.code != NO_TERMINAL:
                raise
        return _watch(client, job)


def stay(client: "WorkloadClient", job: str) -> int:
    """Join the terminal of a job until it ends or the person leaves; return the exit code.

    Raises:
        StateError: it does not run, or has no terminal.
    """
    from ganglion.cli.pods.tty import Detached, join

    with client.terminals.attach(job) as opened:
        try:
            join(opened, terminal=True, typing=True, detach=True)
        except Detached:
            note(f"\r\nDetached; {job} goes on.\n  ganglion attach {job}   attach again")
            return 0
    return _end(job)


def _end(job: str) -> int:
    """Wait for the end of a job whose terminal was closed; return its exit code."""
    from ganglion.cli.logs.wait import EventWaiter, WaitFor

    with connect() as client:
        found = client.workload(job).id
    return EventWaiter(connect, WaitFor((found,), False, "ended", None), quiet=True).run()


def _watch(client: "WorkloadClient", job: str) -> int:
    """Show the output of a job without a terminal."""
    from ganglion.cli.errors import INTERRUPTED
    from ganglion.cli.logs.pump import LogOptions, Pump

    note(f"{job} has no terminal: only its output is shown. Ctrl-C leaves it running.")
    ref, _, index = job.partition("/")
    pump = Pump(client, ref, LogOptions(tail=10, follow=True))
    try:
        pump.copy(int(index) if index.isdecimal() else None, 0)
    except KeyboardInterrupt:
        sys.stdout.flush()
        return INTERRUPTED
    return _end(job)
