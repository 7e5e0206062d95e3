"""`ganglion wait`."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.options import command, output
from ganglion.cli.output.screen import note
from ganglion.model.errors import EnvironmentFault

if TYPE_CHECKING:
    from ganglion.api.events import EventView
    from ganglion.api.workloads import WorkloadDetail
    from ganglion.client import Client

GOALS = (
    "ended",
    "starting",
    "running",
    "suspended",
    "succeeded",
    "failed",
    "cancelled",
    "timed_out",
)
TIMED_OUT = 124
"""Exit code when the time is over, as `timeout` has it."""
MISSED = 1
"""Exit code of a workload that ended without the state that was waited for."""
AWAY_S = 60.0
"""How long a server that is being started again is waited for."""
AGAIN_S = 1.0
"""How often it is tried meanwhile."""
RELEVANT = "gang_"
"""What the types of events begin with that may change the state of a workload."""


class WaitFor(NamedTuple):
    """What to wait for.

    Attributes:
        jobs: ids of workloads.
        any: the first of them is enough.
        goal: one of `GOALS`.
        until: monotonic time at which to give up, in seconds; None = never.
    """

    jobs: tuple[str, ...]
    any: bool
    goal: str
    until: float | None


@command(
    "wait",
    "wait train",
    "wait prepare-3 prepare-4 --timeout 2h",
    "wait fast slow --any",
    "wait chat --for running",
)
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...", shell_complete=complete_jobs)
@click.option("--any", "first", is_flag=True, help="Wait until one of them is in the state.")
@click.option(
    "--all", "every", is_flag=True, help="Wait until all of them are in the state.  [default]"
)
@click.option(
    "--for",
    "goal",
    type=click.Choice(GOALS, case_sensitive=False),
    default="ended",
    show_default=True,
    help="State to wait for; running includes workloads that ran and have ended.",
)
@click.option("--timeout", metavar="TIME", help="Give up after this time, as 90s or 2h.")
@output("text", "json")
def wait(
    jobs: tuple[str, ...], first: bool, every: bool, goal: str, timeout: str | None, form: str
) -> int:
    """Wait until workloads end or run.

    Exits with 0 once the state is reached. Without --for, with the code of the job: with --any
    that of the first to end, else of the first named that failed. Exits with 1 when a workload
    ends in another state than the one waited for, with 124 when the time is over.

    Prints each workload that reached the state. Waits through a restart of the server.

    JOB is an id, the beginning of one, or a name.
    """
    from ganglion.cli.output.tables import print_data
    from ganglion.specs.grammar.times.durations import parse_duration

    if first and every:
        raise click.UsageError("--any and --all exclude each other")
    until = time.monotonic() + parse_duration(timeout) / 1000 if timeout else None
    with connect() as client:
        ids = tuple(dict.fromkeys(client.workload(job).id for job in jobs))
    waiter = EventWaiter(connect, WaitFor(ids, first, goal.lower(), until), quiet=form == "json")
    code = waiter.run()
    if form == "json":
        print_data(list(waiter.done.values()), form)
    return code


class EventWaiter:
    """Waits for workloads by the stream of events.

    Args:
        connect: connects to the server, which may be at another address after a restart.
        wish: what to wait for.
        quiet: print nothing.

    Attributes:
        done: workloads that are there or never will be, in that order.
    """

    def __init__(
        self, connect: "Callable[[], Client]", wish: WaitFor, *, quiet: bool = False
    ) -> None:
        self._connect, self._wish, self._quiet = connect, wish, quiet
        self.done: dict[str, WorkloadDetail] = {}

    def run(self) -> int:
        """Wait and return the exit code."""
        away: float | None = None
        while True:
            try:
                with self._connect() as client, client.daily.happening() as events:
                    away = None
                    return self._heard(client, events)
            except EnvironmentFault as error:
                away = away or time.monotonic() + AWAY_S
                left = self._left()
                if time.monotonic() > away or (left is not None and left <= 0):
                    raise
                from ganglion.client.trail import again

                again(error.message, AGAIN_S)
                time.sleep(AGAIN_S)

    def _heard(self, client: "Client", events: "Iterator[EventView]") -> int:
        """Wait on one stream."""
        news: queue.SimpleQueue[EventView | EnvironmentFault] = queue.SimpleQueue()
        threading.Thread(target=_read, args=(events, news), daemon=True).start()
        touched = set(self._wish.jobs)
        while True:
            for job in [each for each in self._wish.jobs if each in touched - set(self.done)]:
                self._look(client, job)
            if self._over():
                return self._code()
            try:
                touched = _touched(news, self._left())
            except queue.Empty:
                note(f"the time is over; not {self._wish.goal}: {', '.join(self._missing())}")
                return TIMED_OUT

    def _left(self) -> float | None:
        until = self._wish.until
        return None if until is None else max(until - time.monotonic(), 0)

    def _missing(self) -> list[str]:
        return [job for job in self._wish.jobs if job not in self.done]

    def _look(self, client: "Client", job: str) -> None:
        view = client.workload(job)
        if reached(view, self._wish.goal) or view.over:
            self.done[job] = view
            if not self._quiet:
                click.echo(f"{view.id} {view.state}")

    def _over(self) -> bool:
        there = [view for view in self.done.values() if reached(view, self._wish.goal)]
        return bool(self._wish.any and there) or not self._missing()

    def _code(self) -> int:
        from ganglion.cli.logs.follow import exit_code

        goal, done = self._wish.goal, self.done
        there = [view for view in done.values() if reached(view, goal)]
        if goal != "ended":
            met = bool(there) if self._wish.any else len(there) == len(self._wish.jobs)
            return 0 if met else MISSED
        chosen = there[:1] if self._wish.any else [done[job] for job in self._wish.jobs]
        return next((code for code in map(exit_code, chosen) if code), 0)


def reached(view: "WorkloadDetail", goal: str) -> bool:
    """Whether a workload is in a state, or was and has left it for a later one."""
    if goal == "ended":
        return view.over
    if goal in ("starting", "running"):
        return view.state == goal.upper() or view.started is not None
    return view.state == goal.upper()


def _read(
    events: "Iterator[EventView]", news: "queue.SimpleQueue[EventView | EnvironmentFault]"
) -> None:
    """Pass events on; the last item is why they ended."""
    try:
        for event in events:
            news.put(event)
    except EnvironmentFault as error:
        news.put(error)
    else:
        news.put(EnvironmentFault("the stream of events ended", "is the server still running?"))


def _touched(
    news: "queue.SimpleQueue[EventView | EnvironmentFault]", patience_s: float | None
) -> set[str]:
    """Wait for events; return the workloads that all those received are about.

    Raises:
        queue.Empty: none came in time.
        EnvironmentFault: the stream broke off.
    """
    from ganglion.cli.output.event_lines import subject

    end = None if patience_s is None else time.monotonic() + patience_s
    while True:
        found: set[str] = set()
        batch = [news.get(timeout=None if end is None else max(end - time.monotonic(), 0))]
        while not news.empty():
            batch.append(news.get_nowait())
        for each in batch:
            if isinstance(each, EnvironmentFault):
                raise each
            if str(each.event["type"]).startswith(RELEVANT):
                found.add(subject(each.event).rpartition("/")[0])
        if found:
            return found
