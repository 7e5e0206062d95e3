"""`ganglion run`."""

from pathlib import Path
from typing import Any

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, output
from ganglion.cli.submission.documents import from_words, workload_options
from ganglion.cli.submission.submitting import AfterSubmit, carry_out, submit_options, wrong_flags


@command(
    "run",
    "run --gpus 1 -- python train.py",
    "run --nodes 2 --gpus 8 -- torchrun train.py",
    "run --pty --gpus 1 -- bash",
    "run -d 'make data && python prepare.py'",
    allow_interspersed_args=False,
)
@click.argument("words", nargs=-1, metavar="-- COMMAND...")
@click.option("--pty", is_flag=True, help="Give its first process this terminal; stay in it.")
@workload_options
@submit_options
@output("text", "json", "yaml")
def run(
    words: tuple[str, ...],
    detach: bool,
    wait: bool,
    cancel_on_signal: bool,
    summary: Path | None,
    all_ranks: bool,
    dry_run: bool,
    force: bool,
    if_plan: str,
    pty: bool,
    form: str,
    **flags: Any,  # noqa: ANN401  # the flags of `workload_options`
) -> int:
    """Run a command as a job and follow it.

    Prints why it waits, then its logs, and exits with its code. Ctrl-C detaches and leaves it
    running. It runs in this directory, with your PATH and virtual environment and --env.

    With --pty its first process has a terminal, which is joined with yours as soon as it runs:
    Ctrl-C goes to the process, Ctrl-P Ctrl-Q leaves it running, and so does a lost connection.
    It is not started again when it fails.

    COMMAND is a program and its arguments, or one quoted line for the shell.
    """
    stays = wrong_flags(
        detach=detach, wait=wait, cancel_on_signal=cancel_on_signal, summary=summary
    )
    job = from_words(words, flags, stays)
    if pty:
        from ganglion.cli.submission.shell import terminal_of

        job = terminal_of(job)
    with connect() as client:
        return carry_out(
            client,
            [job],
            AfterSubmit(
                *(detach, wait, all_ranks, dry_run, force, form),
                pty=pty,
                if_plan=if_plan,
                cancels=cancel_on_signal,
                summary=summary,
            ),
        )
