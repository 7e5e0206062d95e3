"""Staying with a submitted workload: why it waits, what it writes, how it ends."""

import time
from typing import TYPE_CHECKING

from ganglion.cli.logs.pump import LogOptions, Pump, log_name
from ganglion.cli.output.formats import age
from ganglion.cli.output.screen import err, is_tty, note
from ganglion.client.states import style

if TYPE_CHECKING:
    from ganglion.api.workloads import WorkloadDetail
    from ganglion.client.workload_client import WorkloadClient

PERIOD_S = 0.5
"""How often the state of a workload is looked at."""
CALM = 200
"""Gangs above which it is looked at less often, in proportion."""

TIMED_OUT = 124
"""Exit code for a job over its time limit, as `timeout` has it."""
NO_CODE = 1


class Follower:
    """Follows one workload to its end.

    Args:
        client: the connection.
        job: its id.
        logs: whether to copy logs.
        all_ranks: copy the logs of every rank, not of rank 0 alone.
    """

    def __init__(
        self, client: "WorkloadClient", job: str, *, logs: bool = True, all_ranks: bool = False
    ) -> None:
        self._client, self._job, self._all_ranks = client, job, all_ranks
        self._logs = logs
        self._pump = Pump(client, job, LogOptions(follow=True))
        self._seen: set[tuple[int, int]] = set()
        self._last = ""

    def run(self) -> int:
        """Follow until the end and return the exit code of the job.

        Raises:
            KeyboardInterrupt: the person leaves; the job goes on.
        """
        bottom = StatusLine() if is_tty(stderr=True) else None
        try:
            view = self._until_over(bottom)
        finally:
            if bottom:
                bottom.hide()
        self._pump.join()
        _say_end(view)
        return exit_code(view)

    def _until_over(self, bottom: "StatusLine | None") -> "WorkloadDetail":
        while True:
            view = self._client.workload(self._job)
            self._start_logs(view, bottom)
            self._show(view, bottom)
            if view.over:
                return view
            self._pump.check()
            time.sleep(PERIOD_S * max(1, len(view.gangs) // CALM))

    def _start_logs(self, view: "WorkloadDetail", bottom: "StatusLine | None") -> None:
        """Copy the logs of every attempt that has begun since the last look."""
        for gang in view.gangs if self._logs else ():
            begun = gang.started or gang.phase == "running"
            if begun and (gang.index, gang.attempt) not in self._seen:
                self._seen.add((gang.index, gang.attempt))
                if bottom:
                    bottom.hide()
                ranks = gang.ranks if self._all_ranks else 1
                for rank in range(ranks):
                    name = log_name(gang.index, len(view.gangs), rank, ranks)
                    self._pump.start(gang.index, rank, name)

    def _show(self, view: "WorkloadDetail", bottom: "StatusLine | None") -> None:
        """Show the state: a spinner while nothing is written, else a line when it changes."""
        line = state_line(view)
        if bottom and not self._pump.busy() and not view.over:
            bottom.show(line)
            return
        if bottom:
            bottom.hide()
        if line != self._last and not view.over and not bottom:
            note(line)
        self._last = line


class StatusLine:
    """One line at the bottom of the terminal that changes in place."""

    def __init__(self) -> None:
        from rich.live import Live
        from rich.spinner import Spinner

        self._spinner = Spinner("dots", style="cyan")
        self._live = Live(
            self._spinner,
            console=err(),
            transient=True,
            refresh_per_second=8,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def show(self, text: str) -> None:
        """Draw it anew."""
        from rich.text import Text

        self._spinner.update(text=Text(text))
        self._live.start()
        self._live.refresh()

    def hide(self) -> None:
        """Erase it, so that something else may be written."""
        self._live.stop()


def state_line(view: "WorkloadDetail") -> str:
    """Return the state, and the reason of a wait, as one line."""
    done = f" {view.succeeded + view.failed}/{len(view.gangs)} done" if len(view.gangs) > 1 else ""
    why = f" {view.reason}: {view.message}" if view.reason else ""
    place = f" (position {view.position})" if view.position else ""
    return f"{view.id} {view.state}{done}{place}{why}"


def exit_code(view: "WorkloadDetail") -> int:
    """Return what to exit with for a workload that has ended; 128 + n after signal n."""
    if view.state == "SUCCEEDED":
        return 0
    if view.state == "TIMED_OUT":
        return TIMED_OUT
    if not view.exit_code:
        return NO_CODE
    return view.exit_code if view.exit_code > 0 else 128 - view.exit_code


def _say_end(view: "WorkloadDetail") -> None:
    took = f" after {age(view.ended - view.started)}" if view.ended and view.started else ""
    code = f", exit code {view.exit_code}" if view.exit_code else ""
    why = f": {view.message}" if view.message and view.state != "SUCCEEDED" else ""
    err().print(f"{view.id} ", end="")
    err().print(view.state, style=style(view.state), end="")
    note(f"{took}{code}{why}")
