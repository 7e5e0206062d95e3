"""Mistakes in scenarios in KAI's words that types cannot see: names of nothing."""

from collections.abc import Collection, Iterable

from conformance.kai import schema as kai
from conformance.kai.judge import tasks_of
from ganglion.scenarios.model import Scenario
from ganglion.scenarios.source import wrong
from ganglion.specs.reading.yaml import Path
from ganglion.specs.wording import meant


def check(case: kai.Case, scenario: Scenario) -> None:
    """Check that every name exists and is unique. Raises FieldError."""
    nodes = _unique(scenario, "nodes", [each.name for each in case.nodes])
    queues = _unique(scenario, "queues", [each.name for each in case.queues])
    _unique(scenario, "jobs", [each.name for each in case.jobs])
    topologies = {each.name: each.levels_top_down for each in case.topologies}
    for i, queue in enumerate(case.queues):
        if queue.parent:
            _known(scenario, ("queues", i, "parent"), "queue", queue.parent, queues)
    _check_tree(case, scenario)
    for i, job in enumerate(case.jobs):
        path: Path = ("jobs", i)
        _known(scenario, (*path, "queue"), "queue", job.queue, queues)
        if any(each.parent == job.queue for each in case.queues):
            problem = f"queue {job.queue} has queues under it and takes no jobs"
            raise wrong(problem, (*scenario.path, *path, "queue"), scenario.document)
        _check_topology(scenario, (*path, "topology_constraint"), job, topologies)
        subgroups = [each.name for each in job.subgroups]
        for k, task in enumerate(job.tasks):
            _check_task(scenario, (*path, "tasks", k), task, nodes, subgroups)
    _check_expectation(case, scenario)


def _check_tree(case: kai.Case, scenario: Scenario) -> None:
    parents = {each.name: each.parent or "" for each in case.queues}
    for i, queue in enumerate(case.queues):
        seen, above = {queue.name}, queue.parent or ""
        while above:
            if above in seen:
                place = (*scenario.path, "queues", i, "parent")
                raise wrong(f"queue {queue.name} lies under itself", place, scenario.document)
            seen.add(above)
            above = parents[above]


def _check_expectation(case: kai.Case, scenario: Scenario) -> None:
    expect = case.expect or kai.Expectation()
    for job in expect.jobs:
        _known(scenario, ("expect", "jobs", job), "job", job, [each.name for each in case.jobs])
    tasks = [task for job in case.jobs for task in tasks_of(job)]
    for task in expect.tasks:
        _known(scenario, ("expect", "tasks", task), "task", task, tasks)


def _check_task(
    scenario: Scenario, path: Path, task: kai.Task, nodes: Iterable[str], subgroups: list[str]
) -> None:
    if task.state != "pending" and not task.node:
        problem, hint = f"a task that is {task.state} needs a node", "add `node: ...`"
        raise wrong(problem, (*scenario.path, *path), scenario.document, hint)
    if task.node:
        _known(scenario, (*path, "node"), "node", task.node, nodes)
    if task.subgroup:
        _known(scenario, (*path, "subgroup"), "subgroup", task.subgroup, subgroups)


def _check_topology(
    scenario: Scenario, path: Path, job: kai.Job, topologies: dict[str, tuple[str, ...]]
) -> None:
    constraint = job.topology_constraint
    if not constraint:
        return
    _known(scenario, (*path, "topology"), "topology", constraint.topology, topologies)
    for key in ("required", "preferred"):
        if level := getattr(constraint, key):
            _known(scenario, (*path, key), "level", level, topologies[constraint.topology])


def _unique(scenario: Scenario, key: str, names: list[str]) -> Collection[str]:
    seen: dict[str, None] = {}
    for i, name in enumerate(names):
        if name in seen:
            place = (*scenario.path, key, i, "name")
            raise wrong(f"a second one of the {key} is called {name}", place, scenario.document)
        seen[name] = None
    return seen


def _known(scenario: Scenario, path: Path, what: str, name: str, known: Iterable[str]) -> None:
    names = list(known)
    if name not in names:
        place = (*scenario.path, *path)
        hint = meant(name, names)
        raise wrong(f"there is no {what} {name}", place, scenario.document, hint)
