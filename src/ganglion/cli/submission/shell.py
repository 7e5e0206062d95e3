"""Jobs that have the person's terminal: `ganglion run --pty`."""

import os
from typing import TYPE_CHECKING

from ganglion.cli.connection.connect import connect
from ganglion.cli.errors import INTERRUPTED
from ganglion.cli.output.screen import note
from ganglion.cli.submission.documents import Submission

if TYPE_CHECKING:
    from ganglion.client.workload_client import WorkloadClient


def terminal_of(job: Submission) -> Submission:
    """Return the job with a terminal like the person's; a failure of it is its end."""
    document = {"retry": {"limit": 0}, **job.document, "tty": True}
    env = dict(document.get("env") or {})
    if "TERM" in os.environ:
        env.setdefault("TERM", os.environ["TERM"])
    return job._replace(document=document | {"env": env})


def stay_in_terminal(client: "WorkloadClient", job: str) -> int:
    """Wait until a job runs, join its terminal, and return the exit code.

    Ctrl-C while it waits leaves it in the queue.
    """
    from ganglion.cli.logs.follow import exit_code, state_line
    from ganglion.cli.logs.wait import EventWaiter, WaitFor
    from ganglion.cli.pods.execute import stay

    view = client.workload(job)
    note(f"{state_line(view)}. Ctrl-C leaves it there; in its terminal Ctrl-P Ctrl-Q does.")
    try:
        EventWaiter(connect, WaitFor((job,), False, "running", None), quiet=True).run()
    except KeyboardInterrupt:
        note(f"\n{job} goes on.\n  ganglion attach {job}   once it runs")
        return INTERRUPTED
    view = client.workload(job)
    return exit_code(view) if view.over else stay(client, job)
