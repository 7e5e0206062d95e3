"""From documents to running workloads: submit once, then detach, wait or follow."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import rich_click as click

from ganglion.cli.errors import INTERRUPTED
from ganglion.cli.output.screen import note
from ganglion.cli.output.tables import print_data
from ganglion.cli.submission.documents import freely_named
from ganglion.model.errors import EnvironmentFault, FieldError, InputError

if TYPE_CHECKING:
    from ganglion.api.workloads import Accepted
    from ganglion.cli.submission.documents import Submission
    from ganglion.cli.submission.unattended import SignalWatch
    from ganglion.client.workload_client import WorkloadClient

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS = (
    click.option("-d", "--detach", is_flag=True, help="Submit, print the id, and leave."),
    click.option("--wait", is_flag=True, help="Wait for the end without printing logs."),
    click.option(
        "--cancel-on-signal",
        is_flag=True,
        help="SIGINT and SIGTERM cancel it; without this flag it goes on.",
    ),
    click.option(
        "--summary",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Append a table in Markdown to FILE when it has ended.",
    ),
    click.option("--all-ranks", is_flag=True, help="Print the logs of every process."),
    click.option("--force", is_flag=True, help="Submit it even if it could never start."),
    click.option("--dry-run", is_flag=True, help="Print whether it fits now; submit nothing."),
    click.option(
        "--if-plan",
        default="",
        metavar="HASH",
        help="Submit it only if a dry run would still print this plan.",
    ),
)


class AfterSubmit(NamedTuple):
    """What to do after a submit.

    Attributes:
        where: flags that commands about it need, as ` --context prod`; empty = none.
        pty: stay in its terminal.
        if_plan: plan that has to hold still; empty = none has to.
        cancels: whether signals cancel what was submitted.
        summary: file that a table is appended to; None = none.
    """

    detach: bool
    wait: bool
    all_ranks: bool
    dry_run: bool
    force: bool
    form: str
    where: str = ""
    pty: bool = False
    if_plan: str = ""
    cancels: bool = False
    summary: Path | None = None


def submit_options(function: F) -> F:
    """Add the flags that say what happens after a submit."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def wrong_flags(*, detach: bool, **stays: object) -> list[FieldError]:
    """Flags that say what happens after a submit and contradict each other.

    Args:
        detach: whether to leave at once.
        stays: flags, by their names with `_` for `-`, that ask to stay.
    """
    problem = "stays until the end, and --detach leaves"
    return [
        FieldError(problem, key=f"--{name.replace('_', '-')}", hint="give one of them")
        for name, given in stays.items()
        if detach and given
    ]


def carry_out(client: "WorkloadClient", jobs: "Sequence[Submission]", mode: AfterSubmit) -> int:
    """Try or submit jobs and return the exit code."""
    if mode.dry_run:
        from ganglion.cli.submission.plan import print_verdicts

        documents = [freely_named(client, job) for job in jobs]
        return print_verdicts(client, documents, mode.form)
    if mode.if_plan and len(jobs) > 1:
        raise FieldError("a plan is that of one workload", key="--if-plan", hint="submit one file")
    with ExitStack() as stack:
        watch = None
        if mode.cancels:
            from ganglion.cli.submission.unattended import watched

            watch = stack.enter_context(watched())
        return _submitted(client, jobs, mode, watch)


def _submitted(
    client: "WorkloadClient",
    jobs: "Sequence[Submission]",
    mode: AfterSubmit,
    watch: "SignalWatch | None",
) -> int:
    """Submit jobs, and do what is asked for after that."""
    answers = [_submit(client, job, nth, mode) for nth, job in enumerate(jobs)]
    dated = [answer for answer in answers if answer.due]
    if mode.form != "text" and (dated or not mode.wait):
        print_data(answers[0] if len(answers) == 1 else answers, mode.form)
        return 0
    for answer in dated:
        _say_scheduled(answer)
    answers = [answer for answer in answers if not answer.due]
    if not mode.where and any(job.document.get("deadline") for job in jobs):
        _say_deadlines(client, answers)
    if mode.pty and not mode.detach:
        from ganglion.cli.submission.shell import stay_in_terminal

        return stay_in_terminal(client, answers[0].id)
    if not mode.detach:
        return _stay(client, answers, mode, watch)
    _say_submitted(answers, mode.where)
    return 0


def _submit(
    client: "WorkloadClient", wanted: "Submission", nth: int, mode: AfterSubmit
) -> "Accepted":
    """Submit one document exactly once, however often this is interrupted and repeated."""
    from ganglion.client.home import home
    from ganglion.client.pending import attempt

    document = wanted.document
    sent = freely_named(client, wanted)
    try:
        with attempt(home(), document, sent, nth) as this:
            if this.resumed:
                note(f"Resuming the interrupted submit of {this.document['name']}.")
            more = {"if_plan": mode.if_plan} if mode.if_plan else {}
            return client.submit(this.document, key=this.key, force=mode.force, **more)
    except InputError as error:
        error.hint = error.hint.replace("force=true", "--force")
        raise
    except KeyboardInterrupt:
        note(
            f"\nInterrupted while submitting {document['name']}; the server may have it already."
            "\n  check   ganglion ps\n  repeat  the same command: it will not run twice"
        )
        raise


def _say_submitted(answers: "Sequence[Accepted]", where: str) -> None:
    """Print ids on stdout, for scripts, and what to do next on stderr, for people."""
    for answer in answers:
        click.echo(answer.id)
    if len(answers) == 1:
        note(next_commands(answers[0].id + where))


def _say_deadlines(client: "WorkloadClient", answers: "Sequence[Accepted]") -> None:
    """Print the chance that each of them meets its deadline."""
    from ganglion.cli.output.explanation import deadline_lines
    from ganglion.cli.output.formats import now_ms

    for answer in answers:
        first = client.why(answer.id).explanations[0]
        for label, text in deadline_lines(first, now_ms()):
            note(f"  {label.lower()} of {answer.id} {text.plain}")


def _say_scheduled(answer: "Accepted") -> None:
    from ganglion.cli.output.formats import clock

    click.echo(answer.id)
    note(f"  first on {clock(answer.due)}\n  see: ganglion schedules")


def next_commands(job: str) -> str:
    """Return what people do after a submit."""
    return (
        f"  ganglion why {job}       why it waits\n"
        f"  ganglion logs {job} -f   what it writes\n"
        f"  ganglion cancel {job}    stop it"
    )


def _stay(
    client: "WorkloadClient",
    answers: "Sequence[Accepted]",
    mode: AfterSubmit,
    watch: "SignalWatch | None",
) -> int:
    """Follow workloads to their ends; the first that failed gives the exit code."""
    code = _watched(client, answers, mode, watch) if watch else _follow(client, answers, mode)
    if mode.summary:
        from ganglion.cli.submission.unattended import add_summary

        add_summary(mode.summary, client, [each.id for each in answers])
    return code


def _watched(
    client: "WorkloadClient", answers: "Sequence[Accepted]", mode: AfterSubmit, watch: "SignalWatch"
) -> int:
    """Follow workloads; a signal cancels all of them."""
    from ganglion.cli.submission.unattended import SignalledEnd, cancel_all

    try:
        watch.begin()
        return _follow(client, answers, mode)
    except SignalledEnd as end:
        cancel_all(client, [each.id for each in answers])
        return end.exit_code


def _follow(client: "WorkloadClient", answers: "Sequence[Accepted]", mode: AfterSubmit) -> int:
    from ganglion.cli.logs.follow import Follower

    codes = []
    for answer in answers:
        leaves = "cancels it" if mode.cancels else "leaves it running"
        note(f"Submitted {answer.id}. Ctrl-C {leaves}.")
        try:
            follower = Follower(client, answer.id, logs=not mode.wait, all_ranks=mode.all_ranks)
            codes.append(follower.run())
        except KeyboardInterrupt:
            if mode.cancels:
                raise
            _say_detached(answer.id, mode.where)
            return INTERRUPTED
        except EnvironmentFault:
            _say_detached(answer.id, mode.where)
            raise
    if mode.form != "text":
        views = [client.workload(answer.id) for answer in answers]
        print_data(views[0] if len(views) == 1 else views, mode.form)
    return next((code for code in codes if code), 0)


def _say_detached(job: str, where: str) -> None:
    note(
        f"\nDetached; {job} goes on.\n"
        f"  ganglion logs {job}{where} -f   attach again\n"
        f"  ganglion cancel {job}{where}    stop it"
    )
