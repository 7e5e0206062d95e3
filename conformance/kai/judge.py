"""Compares what came of a scenario in KAI's words with what is expected."""

from collections.abc import Iterator

from conformance.kai import schema as kai
from conformance.kai.drive import Sight

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
    """What is expected of every task that is named."""
    found: dict[str, kai.Outcome] = {}
    for job in case.jobs:
        if job.name in expect.jobs:
            found |= dict.fromkeys(tasks_of(job), expect.jobs[job.name])
    return found | expect.tasks


def tasks_of(job: kai.Job) -> list[str]:
    """Names of all tasks of a job."""
    return [f"{job.name}/{number}" for number in range(sum(task.count for task in job.tasks))]


def _said(sight: Sight) -> str:
    return f"{sight.status} on {sight.node}" if sight.node else sight.status
