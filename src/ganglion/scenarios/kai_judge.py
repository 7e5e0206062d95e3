"""Compares what came of a scenario in KAI's words with what is expected."""

from collections.abc import Iterator

from ganglion.files.wording import meant
from ganglion.model.errors import FieldError
from ganglion.scenarios import kai_schema as kai
from ganglion.scenarios.kai_drive import Sight

CONVERGED = {"reserved": "pending", "evicting": "pending", "moving": "pending"}
"""How a status is read between cycles, when only what runs counts."""


def differences(
    case: kai.Case, expect: kai.Expectation, seen: dict[str, Sight], *, settled: bool
) -> Iterator[str]:
    """Everything that is not as expected, in the order of the file."""
    for task, wanted in wanted_of(case, expect).items():
        sight = seen[task]
        status = CONVERGED.get(sight.status, sight.status) if settled else sight.status
        if status != wanted.status:
            yield f"{task} is {_said(sight)}, not {wanted.status}"
        elif wanted.node and sight.node != wanted.node:
            yield f"{task} is on {sight.node}, not {wanted.node}"


def wanted_of(case: kai.Case, expect: kai.Expectation) -> dict[str, kai.Outcome]:
    """What is expected of every task that is named. Raises FieldError for one that is not there."""
    tasks = {job.name: [f"{job.name}/{i}" for i in range(_count(job))] for job in case.jobs}
    found: dict[str, kai.Outcome] = {}
    for job, outcome in expect.jobs.items():
        if job not in tasks:
            raise FieldError(f"there is no job {job}", key="expect.jobs", hint=meant(job, tasks))
        found |= dict.fromkeys(tasks[job], outcome)
    known = {task for names in tasks.values() for task in names}
    for task, outcome in expect.tasks.items():
        if task not in known:
            raise FieldError(
                f"there is no task {task}", key="expect.tasks", hint=meant(task, known)
            )
        found[task] = outcome
    return found


def _count(job: kai.Job) -> int:
    return sum(task.count for task in job.tasks)


def _said(sight: Sight) -> str:
    return f"{sight.status} on {sight.node}" if sight.node else sight.status
