"""From the queues there are to those of a policy, without losing what is in them."""

from collections.abc import Sequence

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import Conflict, FieldError
from ganglion.model.events import QueueRemoved, QueueSet
from ganglion.model.plan import Phase
from ganglion.model.queue import Queue
from ganglion.server.state.transaction import Transaction
from ganglion.specs.policy.policy import PolicyFile
from ganglion.specs.policy.queue_tree import above_parent, parents_first
from ganglion.specs.reading.yaml import Path
from ganglion.specs.wording import first_of

SHOWN = 5
"""Most workloads that a refusal names."""


class QueueInUse(Conflict):
    """A queue cannot go or move while workloads are in it."""


def check(state: ClusterState, file: PolicyFile) -> None:
    """The queues that are in use stay what they are.

    Raises:
        InUse: one would be removed, get queues under it, or move while its gangs run.
    """
    if file.queues is None:
        return
    wanted = {each.name: each for each in file.queues}
    parents = {each.parent for each in file.queues}
    inside = occupants(state)
    for name, workloads in inside.items():
        named = f"{len(workloads)} workload{'s' * (len(workloads) > 1)}: {_some(workloads)}"
        path: Path = ("queues", file.places[name]) if name in file.places else ("queues",)
        if name not in wanted:
            hint = "keep it in the file until they have ended, or move those that wait:"
            hint += f" ganglion update {workloads[0]} --queue OTHER"
            raise _in_use(file, path, f"the queue `{name}` is missing, but holds {named}", hint)
        if name in parents:
            problem = f"the queue `{name}` holds {named}, and cannot get queues under it"
            raise _in_use(file, path, problem, "let the new queues have another parent")
        _check_move(state, file, path, wanted[name], named)


def check_one(state: ClusterState, queue: Queue) -> None:
    """A queue that is made or changed fits those above and below it.

    Raises:
        FieldError: its quota is above its parent's, or a child's would be above its own.
        Conflict: it would lie under itself.
    """
    present = state.queues.by_name
    if queue.parent in present and queue.name in state.queues.shares.path(queue.parent):
        raise Conflict(f"queue {queue.name} cannot lie under itself", "give it another parent")
    before = set(above_parent(tuple(present.values())))
    problems = [
        FieldError(each.problem, key=f"{each.key}.{each.flavor}", hint=each.hint)
        for each in above_parent(tuple({**present, queue.name: queue}.values()))
        if each not in before
    ]
    if problems:
        raise first_of(problems)


def _check_move(
    state: ClusterState, file: PolicyFile, path: Path, queue: Queue, named: str
) -> None:
    present = state.queues.by_name[queue.name]
    if present.parent != queue.parent and any(state.queues.shares.usage[queue.name].values()):
        problem = f"the queue `{queue.name}` cannot move to `{queue.parent}`: it holds {named}"
        raise _in_use(file, (*path, "parent"), problem, "wait until they have ended")


def occupants(state: ClusterState) -> dict[str, list[str]]:
    """Queue -> workloads that are live in it, by name."""
    found: dict[str, dict[str, None]] = {}
    for record in state.gangs.records.values():
        if record.phase is not Phase.ENDED:
            found.setdefault(record.gang.queue, {})[record.gang.workload] = None
    return {queue: sorted(found[queue]) for queue in sorted(found)}


def carry_out(draft: Transaction, queues: Sequence[Queue] | None) -> None:
    """Set and remove queues until there are these and no others.

    Raises:
        Conflict: the state does not allow it.
    """
    if queues is None:
        return
    for queue in parents_first(queues):
        if draft.state.queues.by_name.get(queue.name) != queue:
            draft.apply(QueueSet(draft.now, queue))
    wanted = {each.name for each in queues}
    for queue in reversed(parents_first(draft.state.queues.by_name.values())):
        if queue.name not in wanted:
            draft.apply(QueueRemoved(draft.now, queue.name))


def _in_use(file: PolicyFile, path: Path, problem: str, hint: str) -> QueueInUse:
    found: FieldError = file.wrong(problem, path, hint)
    return QueueInUse(found.message, hint)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
