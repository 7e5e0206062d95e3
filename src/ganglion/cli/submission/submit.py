"""`ganglion submit`."""

from pathlib import Path
from typing import Any

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.connection.contexts import ChosenCluster, context_options
from ganglion.cli.options import command, output
from ganglion.cli.submission.documents import from_files, workload_options
from ganglion.cli.submission.submitting import AfterSubmit, carry_out, submit_options, wrong_flags


@command(
    "submit",
    "submit train.yaml",
    "submit train.sh --queue research -d",
    "submit train.yaml --cancel-on-signal --summary summary.md",
    "submit train.yaml --gpus H100:8 --dry-run",
    "submit - < jobs.yaml",
    "submit train.yaml --context prod --dry-run -o yaml",
)
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path())
@click.option("-f", "--file", "more", multiple=True, hidden=True, type=click.Path())
@workload_options
@submit_options
@context_options
@output("text", "json", "yaml")
def submit(
    files: tuple[str, ...],
    more: tuple[str, ...],
    detach: bool,
    wait: bool,
    cancel_on_signal: bool,
    summary: Path | None,
    all_ranks: bool,
    dry_run: bool,
    force: bool,
    if_plan: str,
    form: str,
    where: ChosenCluster | None,
    **flags: Any,  # noqa: ANN401  # the flags of `workload_options`
) -> int:
    """Submit workload files or #SBATCH scripts.

    Stays attached: prints why the job waits, then its logs, and exits with its code. Ctrl-C
    detaches. Several workloads are followed one after the other. With -o json the answer is
    printed and nothing is followed.

    FILE is YAML, JSON or a script with #SBATCH lines; - is the standard input. Flags win over
    keys of the file. --dry-run exits with 0 when it would start now and 1 when it would wait; the
    plan that it prints can be given to --if-plan, so that only what was shown is submitted.

    With --context the workload becomes objects of that cluster; --dry-run has the cluster check
    them, and -o yaml prints them.
    """
    if not files + more:
        raise click.UsageError("which file? as: ganglion submit train.yaml, or - for stdin")
    stays = wrong_flags(
        detach=detach, wait=wait, cancel_on_signal=cancel_on_signal, summary=summary
    )
    jobs = from_files(files + more, flags, stays)
    mode = AfterSubmit(
        *(detach, wait, all_ranks, dry_run, force, form),
        if_plan=if_plan,
        cancels=cancel_on_signal,
        summary=summary,
    )
    if where is not None:
        from ganglion.cli.submission.cluster import carry_out_in

        return carry_out_in(where, jobs, mode)
    with connect() as client:
        return carry_out(client, jobs, mode)
