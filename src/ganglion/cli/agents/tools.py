"""What agents call: the methods of the SDK, with the sentences that the command line prints.

Whatever names and logs say is data of other people and programs. It is bounded in size, and never
read as anything else.
"""

import io
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ganglion.cli.connection.connect import connect
from ganglion.cli.output.tables import print_list
from ganglion.model.errors import GanglionError, InputError, PlanChanged

if TYPE_CHECKING:
    from ganglion.api.bulk import BulkAnswer
    from ganglion.client import Client

MOST_TEXT = 32_768
"""Characters of one answer's text; what is longer is cut, and says so."""
MOST_LINES = 2_000
MOST_LOG = 65_536
"""Bytes of a log that one answer has, its last ones."""
MOST_ROWS = 200
PATIENCE_S = 20.0
"""How long the answer to a question about the past is waited for."""
LOOK_S = 0.5
_printing = threading.Lock()


class LogEnd(Struct):
    """The end of a log, as it was written.

    Attributes:
        job: whose log it is.
        rank: which process of the gang.
        text: its last lines.
        cut: whether there is more before them.
    """

    job: str
    rank: int
    text: str
    cut: bool = False


class CancelPlan(Struct):
    """What a cancel would stop.

    Attributes:
        plan: given to `cancel`, it stops just these workloads; empty = there are none.
        workloads: their ids.
        problems: why others that were named would not be stopped.
    """

    plan: str
    workloads: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class CapLine(Struct):
    """What may be spent with the token of the agent, and the budgets of queues that it sees."""

    budgets: Any
    spend_cap: Any = None


class ToolAnswer(Struct):
    """What a tool returns.

    Attributes:
        data: a struct of the API.
        text: what the command line prints of it.
        is_error: whether it is one.
    """

    data: Any
    text: str
    is_error: bool = False


class AgentTools:
    """The tools, for one agent.

    Args:
        agent: returns the name of the program that acts for the user.
        opened: connects to the server.
    """

    def __init__(self, agent: Callable[[], str], opened: "Callable[[], Client]" = connect) -> None:
        self._agent, self._opened = agent, opened

    @contextmanager
    def _client(self) -> "Iterator[Client]":
        with self._opened() as client:
            client.access.act_for(self._agent())
            yield client

    def queue(self, queue: str = "", limit: int = 50) -> ToolAnswer:
        """List what waits."""
        from ganglion.cli.queues.queue import columns

        narrow: dict[str, Any] = {"queue": queue} if queue else {}
        with self._client() as client:
            page = client.order_page(limit=limit, **narrow)
        empty = "nothing waits that you may see"
        return _told(
            page, lambda: print_list(page.items, columns("table", {}), "table", empty=empty)
        )

    def why(self, job: str) -> ToolAnswer:
        """Say why a workload waits."""
        from ganglion.cli.output.explanation import print_why

        with self._client() as client:
            answer = client.why(job)
        return _told(answer, lambda: print_why(answer))

    def would_start(self, workload: Mapping[str, Any]) -> ToolAnswer:
        """Say what would happen to a workload, and give the plan to submit it by."""
        from ganglion.cli.submission.plan import print_verdict, subject_of

        with self._client() as client:
            verdict = client.verdict(workload)
        return _told(verdict, lambda: print_verdict(subject_of(workload), verdict))

    def submit(self, workload: Mapping[str, Any], plan: str, key: str = "") -> ToolAnswer:
        """Submit a workload if the plan of a dry run still holds."""
        if not plan:
            raise InputError("which plan?", "call would_start with the same workload first")
        with self._client() as client:
            try:
                accepted = client.submit(workload, if_plan=plan, key=key)
            except PlanChanged as error:
                error.hint = "look at it again: call would_start"
                raise
        return ToolAnswer(accepted, f"submitted {accepted.id}")

    def cancel(self, jobs: Sequence[str], plan: str = "") -> ToolAnswer:
        """Show what would be stopped, or stop just what was shown."""
        if not jobs:
            raise InputError("which workloads?", "name one, by id or name")
        with self._client() as client:
            found = _plan(client.bulk.cancel(jobs, dry_run=True))
            if not plan or not found.workloads:
                return ToolAnswer(found, _shown(found))
            if plan != found.plan:
                raise PlanChanged(
                    f"the plan is {found.plan} by now, not {plan}: other workloads would be stopped"
                    " than those that were shown",
                    "look at it again: call cancel without a plan",
                )
            done = client.bulk.cancel(found.workloads)
        problems = [each.detail for each in done.problems]
        lines = [*(f"cancelling {each}" for each in done.workloads), *problems]
        return ToolAnswer(done, _cut("\n".join(lines)), is_error=bool(done.refused))

    def logs(
        self,
        job: str,
        rank: int = 0,
        index: int | None = None,
        tail: int = 200,
        previous: bool = False,
    ) -> ToolAnswer:
        """Read the end of a log."""
        kept, more = b"", False
        with (
            self._client() as client,
            client.logs(job, index=index, rank=rank, tail=tail, previous=previous) as chunks,
        ):
            for chunk in chunks:
                kept += chunk
                more = more or len(kept) > MOST_LOG
                kept = kept[-MOST_LOG:]
        part = LogEnd(job, rank, kept.decode("utf-8", "replace"), more)
        return ToolAnswer(part, part.text or "the log is empty")

    def usage(
        self, by: Sequence[str] = ("queue",), since: str = "7d", until: str = "", queue: str = ""
    ) -> ToolAnswer:
        """Sum up what was held, and what it cost."""
        from ganglion.cli.queues.usage import columns, told

        queues = (queue,) if queue else ()
        with self._client() as client:
            page = client.daily.usage(by=by, since=since, until=until, queues=queues)
        rows = sorted(page.items, key=lambda row: (row.day, -row.held_gpu_us))
        more = len(rows) - MOST_ROWS

        def show() -> None:
            shown = columns(by, page)
            print_list(rows[:MOST_ROWS], shown, "table", empty="nothing was held")
            for line in (*([f"{more:,} more rows"] if more > 0 else ()), *told(page)):
                click.echo(line)

        return _told(replace(page, items=tuple(rows[:MOST_ROWS])), show)

    def budget(self) -> ToolAnswer:
        """Say what queues, and the agent's own token, may still spend."""
        from ganglion.cli.access.role import cap_line
        from ganglion.cli.money.budget import columns

        with self._client() as client:
            page, cap = client.money.budgets(), client.access.whoami().spend_cap

        def show() -> None:
            print_list(page.items, columns(page), "table", empty="no budgets")
            if cap:
                click.echo(cap_line(cap))

        return _told(CapLine(page, cap), show)

    def what_if(self, question: Mapping[str, Any], answer_of: str = "") -> ToolAnswer:
        """Ask what would have happened, or return the answer to an earlier question."""
        from ganglion.cli.whatif.report import print_report
        from ganglion.client.calls.whatif import OVER
        from ganglion.seams.clock import SYSTEM_CLOCK

        begin = SYSTEM_CLOCK.monotonic()
        with self._client() as client:
            found = (
                client.what_ifs.show(answer_of) if answer_of else client.what_ifs.ask(**question)
            )
            while found.state not in OVER and SYSTEM_CLOCK.monotonic() - begin < PATIENCE_S:
                SYSTEM_CLOCK.sleep(LOOK_S)
                found = client.what_ifs.show(found.id)
        if found.state == "failed":
            return ToolAnswer(found, found.message, is_error=True)
        if found.state not in OVER:
            done = f"{found.done_permille / 10:g} %"
            return ToolAnswer(found, f"{found.id} is {found.state}, {done}: ask again by its id")
        return _told(found, lambda: print_report(found, wide=False))


def failed(error: GanglionError) -> ToolAnswer:
    """An error, as the answer of a tool."""
    data: dict[str, Any] = {"code": error.code, "message": error.message, "hint": error.hint}
    if error.errors:
        data["errors"] = [
            {"key": each.key, "message": each.problem, "hint": each.hint} for each in error.errors
        ]
    return ToolAnswer(data, _cut(f"{error.message}\n{error.hint}".strip()), is_error=True)


def plain(answer: ToolAnswer) -> dict[str, Any]:
    """The data of an answer, of types that JSON has."""
    found: dict[str, Any] = msgspec.to_builtins(answer.data, str_keys=True)
    return found


def _plan(found: "BulkAnswer") -> CancelPlan:
    ids = tuple(sorted(found.workloads))
    plan = sha256("\n".join(ids).encode()).hexdigest()[:20] if ids else ""
    return CancelPlan(plan, ids, tuple(each.detail for each in found.problems))


def _shown(found: CancelPlan) -> str:
    lines = [f"would cancel {each}" for each in found.workloads] or ["nothing would be cancelled"]
    if found.plan:
        lines.append(f"plan {found.plan}: cancel with it stops just this")
    return _cut("\n".join((*lines, *found.problems)))


def _told(data: object, show: Callable[[], object]) -> ToolAnswer:
    """An answer with what the command line prints of it."""
    text = io.StringIO()
    with _printing, redirect_stdout(text), redirect_stderr(text):
        show()
        sys.stdout.flush()
    return ToolAnswer(data, _cut(text.getvalue().rstrip()))


def _cut(text: str) -> str:
    if len(text) <= MOST_TEXT:
        return text
    return f"{text[:MOST_TEXT]}\n... {len(text) - MOST_TEXT:,} more characters"
