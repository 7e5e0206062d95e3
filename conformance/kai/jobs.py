"""Jobs of a scenario in KAI's words as gangs, and where their tasks run."""

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct, field

from conformance.kai import schema as kai
from conformance.kai.fleet import Levels
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import FieldError
from ganglion.model.events import (
    DeviceHealth,
    Event,
    GangPlaced,
    GangResized,
    GangStarted,
    GangStopping,
    GangSubmitted,
)
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.resources import WHOLE, GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet, Topology

MINUTE = 60_000
HIGHEST = 100
STUCK = "stuck_terminating"
GONE = Cause(CauseKind.OTHER, text="it was being stopped before the scenario began")


class TaskAt(Struct, frozen=True):
    """One task and its pod.

    Attributes:
        name: `job/index`, as expectations call it.
        job: the job.
        task: as the file describes it.
        gang: id of the gang; empty = none, it only holds its device.
        pod_set: name of the pod set.
        index: number of the pod in it.
        milli: thousandths of GPUs that it uses.
    """

    name: str
    job: kai.Job
    task: kai.Task
    gang: str
    pod_set: str
    index: int
    milli: int


class Jobs(Struct):
    """All jobs of a scenario, translated.

    Attributes:
        tasks: every task, in the order of the file.
        events: what makes them wait and run.
    """

    tasks: list[TaskAt] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def jobs_of(case: kai.Case, levels: Levels, now: int) -> Jobs:
    """Translate all jobs; running ones have begun at `now`, as no file says when they did."""
    found = Jobs()
    devices = _Devices(case)
    priorities = _priorities(case)
    for job in case.jobs:
        gang, tasks = _gang(job, levels, priorities[job.priority], now)
        found.tasks += tasks
        found.events += _stuck(tasks, devices, now)
        if gang.pod_sets:
            found.events.append(GangSubmitted(now, gang))
            found.events += _running(gang, [each for each in tasks if each.gang], devices, now)
    return found


def _stuck(tasks: list[TaskAt], devices: "_Devices", now: int) -> Iterator[Event]:
    """Pods that will not go: to the engine, the devices they hold are sick."""
    for each in tasks:
        if each.task.state == STUCK:
            gpus = each.task.gpus if each.task.gpus is not None else each.job.gpus_per_task or 1
            pod = devices.pod(each, PodRequest(gpu=GpuRequest(gpus)))
            yield from (DeviceHealth(now, pod.node, device, False) for device in pod.devices)


def _priorities(case: kai.Case) -> dict[int, int]:
    """Ours for each of theirs: the same while all lie in our range, else the same order."""
    theirs = sorted({each.priority for each in case.jobs})
    if all(0 <= each <= HIGHEST for each in theirs):
        return {each: each for each in theirs}
    return {each: rank * HIGHEST // len(theirs) for rank, each in enumerate(theirs, 1)}


def _gang(job: kai.Job, levels: Levels, priority: int, now: int) -> tuple[Gang, list[TaskAt]]:
    expanded = [task for task in job.tasks for _ in range(task.count)]
    groups = _groups(job, expanded)
    sets = []
    tasks = [
        TaskAt(f"{job.name}/{i}", job, task, "", "", 0, 0)
        for i, task in enumerate(expanded)
        if task.state == STUCK
    ]
    for name, (subgroup, members, least) in groups.items():
        request = _request(job, expanded[members[0]])
        required = _topology(subgroup.topology_constraint if subgroup else None, levels)
        sets.append(PodSet(name, len(members), least, request, required))
        for index, member in enumerate(members):
            task = f"{job.name}/{member}"
            milli = _milli(request)
            tasks.append(TaskAt(task, job, expanded[member], job.name, name, index, milli))
    tasks.sort(key=lambda each: int(each.name.rpartition("/")[2]))
    preemptible = job.priority < 100 if job.preemptible is None else job.preemptible
    wanted = job.min_member or 0
    gang = Gang(
        id=job.name,
        workload=job.name,
        queue=job.queue,
        priority=priority,
        preemptible=preemptible,
        pod_sets=tuple(sets),
        topology=_topology(job.topology_constraint, levels),
        submitted=now - round(job.age_minutes * MINUTE),
        # A gang that has fewer tasks than it needs is not complete yet.
        held=wanted > len(expanded),
        name=job.name,
    )
    return gang, tasks


_Group = tuple[kai.Subgroup | None, list[int], int]
"""Subgroup, numbers of its tasks (the most important first), fewest that are useful."""


def _groups(job: kai.Job, tasks: list[kai.Task]) -> dict[str, _Group]:
    """Equal tasks of one subgroup, by name of the pod set."""
    subgroups = {each.name: each for each in job.subgroups}
    there = [i for i, task in enumerate(tasks) if task.state != STUCK]
    order = sorted(there, key=lambda i: (_is_idle(tasks[i]), -tasks[i].task_rank, i))
    kinds: dict[tuple[str, PodRequest], list[int]] = {}
    for i in order:
        kinds.setdefault((tasks[i].subgroup or "", _request(job, tasks[i])), []).append(i)
    found: dict[str, _Group] = {}
    needed: dict[str, int] = {}
    for (subgroup, _), members in kinds.items():
        own = subgroups.get(subgroup)
        total = own.min_member if own else job.min_member
        # A minimum of none still takes one pod to be running.
        left = needed.setdefault(subgroup, len(tasks) if total is None else max(total, 1))
        least = min(left, len(members))
        if not least:
            raise FieldError(
                f"job {job.name}: tasks beyond the minimum that are unlike the others cannot be"
                " told apart from the gang",
                hint="give them their own subgroup",
            )
        needed[subgroup] = left - least
        name = subgroup or "main"
        name = name if name not in found else f"{name}-{len(found)}"
        found[name] = (own, members, 0 if least == len(members) else least)
    return found


def _is_idle(task: kai.Task) -> bool:
    return task.state == "pending"


def _request(job: kai.Job, task: kai.Task) -> PodRequest:
    gpus = job.gpus_per_task if task.gpus is None else task.gpus
    gpu = GpuRequest(gpus or 0)
    if task.gpus is None and job.gpu_fraction_per_task:
        gpu = GpuRequest(1, round(job.gpu_fraction_per_task * WHOLE))
    elif task.gpus is None and job.gpu_memory_per_task:
        gpu = GpuRequest(1, share_mib=job.gpu_memory_per_task)
    cpu, memory = round(job.cpu_cores_per_task * WHOLE), -(-job.memory_bytes_per_task // 1000)
    return PodRequest(cpu, memory, gpu)


def _milli(request: PodRequest) -> int:
    # A share in memory units is of devices of 100 units unless a node says otherwise.
    return request.gpu.count * request.gpu.milli_on(100)


def _topology(constraint: kai.Constraint | None, levels: Levels) -> Topology:
    if constraint is None:
        return Topology()

    def level(key: str | None) -> Level | None:
        return levels.get(key, Level.NODE) if key else None

    return Topology(level(constraint.required), level(constraint.preferred))


def _running(gang: Gang, tasks: list[TaskAt], devices: "_Devices", now: int) -> Iterator[Event]:
    """What makes the tasks that hold devices do so.

    A gang below its minimum does not run here: when it loses a pod its attempt has ended, and
    it waits as a whole.
    """
    order = [each.name for each in gang.pod_sets]
    held = [each for each in tasks if each.task.state in ("running", "evicting")]
    held.sort(key=lambda each: (order.index(each.pod_set), each.index))
    requests = {each.name: each.request for each in gang.pod_sets}
    pods = {each.name: devices.pod(each, requests[each.pod_set]) for each in held}
    if gang.held or not is_whole(gang, held):
        return
    yield GangPlaced(now, gang.id, 1, Placement(tuple(pods.values())))
    yield GangStarted(now, gang.id, 1)
    staying = [each for each in held if each.task.state == "running"]
    if len(staying) == len(held):
        return
    if is_whole(gang, staying):
        place = Placement(tuple(pods[each.name] for each in staying))
        yield GangResized(now, gang.id, 1, place, GONE)
    else:
        yield GangStopping(now, gang.id, 1, GONE)


def is_whole(gang: Gang, tasks: list[TaskAt]) -> bool:
    """Whether these tasks are as many as the gang needs at least."""
    counts = Counter(each.pod_set for each in tasks)
    return bool(tasks) and all(counts[each.name] >= each.least for each in gang.pod_sets)


class _Devices:
    """Assigns the devices of nodes to what runs already."""

    def __init__(self, case: kai.Case) -> None:
        self._units = {node.name: node.gpu_memory_units for node in case.nodes}
        self._next = {node.name: 0 for node in case.nodes}
        self._groups: dict[tuple[str, str], int] = {}

    def pod(self, at: TaskAt, request: PodRequest) -> PodPlacement:
        """Where one running task is."""
        node, gpu = at.task.node or "", request.gpu
        milli = gpu.milli_on(self._units.get(node, 100)) if gpu.count else 0
        group = at.task.gpu_group
        if group and (node, group) in self._groups:
            taken: tuple[int, ...] = (self._groups[node, group],)
        else:
            first = self._next.setdefault(node, 0)
            self._next[node] = first + gpu.count
            taken = tuple(range(first, first + gpu.count))
            if group and taken:
                self._groups[node, group] = taken[0]
        return PodPlacement(at.pod_set, at.index, node, taken, milli)
