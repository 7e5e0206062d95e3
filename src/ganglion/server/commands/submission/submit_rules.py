"""What the present state knows and allows of a workload: queue, priority, dependencies, size."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.ledger.records import Filed
from ganglion.lifecycle.expand import gang_count
from ganglion.model.errors import FieldError
from ganglion.model.workload import Deadline, Workload
from ganglion.server.state.transaction import Mind
from ganglion.specs.grammar.times.instants import print_instant
from ganglion.specs.reading.mapping import Unread
from ganglion.specs.wording import noted
from ganglion.specs.workload.behaviour import awaited
from ganglion.specs.workload.convert import plain_env
from ganglion.specs.workload.workload import WorkloadFile, priority_of, references, to_workload

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

MOST_GANGS = 10_000
"""Most gangs of one workload."""


def contradictions(
    mind: Mind, ledger: "Ledger", file: WorkloadFile, now: int
) -> tuple[FieldError, ...]:
    """Everything in a workload that the present state does not know or allow.

    Args:
        mind: the state.
        ledger: knows what has ended.
        file: the workload, as far as it can be read.
        now: in ms.
    """
    problems: list[FieldError] = []
    steps: list[Callable[[], object]] = [
        lambda: priority_of(file.priority, mind.state.config.policy.priorities),
        lambda: references(file),
        lambda: plain_env(file),
        lambda: check_queue(mind.state, queue_of(mind.state, file)),
        lambda: check_size(_whatever_else(file)),
        partial(_check_due, file, now),
    ]
    names = vars(file).get("after", ())
    after = (*awaited(names, well=True), *awaited(names, well=False))
    steps += (partial(looked_up, mind, ledger, name) for name in after)
    for step in steps:
        try:
            noted(step, problems)
        except Unread:
            continue  # its input is broken, which is an error already
    return tuple(problems)


def _check_due(file: WorkloadFile, now: int) -> None:
    if file.deadline:
        check_deadline(file.deadline, now, now)


def queue_of(state: ClusterState, file: WorkloadFile) -> str:
    """The queue that a file means."""
    return (file.queue or default_queue(state)).rpartition("/")[2]


def _whatever_else(file: WorkloadFile) -> Workload:
    """The workload without what its size does not depend on and may be wrong."""
    update = {"priority": 0, "env": {}, "secrets": {}}
    return to_workload(file.model_copy(update=update), user="", default_queue="")


def check_deadline(due: Deadline, submitted: int, now: int) -> None:
    """Raise FieldError where a workload that was submitted then could not keep it; times in ms."""
    if due.of(submitted) <= now:
        raise FieldError(f"{print_instant(due.of(submitted))} has passed", key="deadline")


def check_size(workload: Workload) -> None:
    """A workload has no more gangs than the server takes. Raises FieldError."""
    count = gang_count(workload)
    if count <= MOST_GANGS:
        return
    key, hint = "replicas", f"at most {MOST_GANGS:,}"
    if workload.trials:
        key, hint = "trials", "submit it in parts"
    elif workload.search:
        key, hint = "search.trials", f"at most {MOST_GANGS:,}"
    elif workload.params:
        key, hint = "params", "try some of them: `search: {trials: 1000}`, or submit it in parts"
    raise FieldError(f"it would have {count:,} gangs; most are {MOST_GANGS:,}", key=key, hint=hint)


def default_queue(state: ClusterState) -> str:
    """The queue of files that name none: `default`, or the only leaf; empty = there is none."""
    leaves = [name for name in state.queues.by_name if state.queues.shares.is_leaf(name)]
    return "default" if "default" in leaves or len(leaves) != 1 else leaves[0]


def check_queue(state: ClusterState, name: str) -> None:
    """Gangs may be charged to a queue.

    Raises:
        FieldError: it is unknown, or has queues under it.
    """
    if name not in state.queues.by_name:
        raise FieldError(f"there is no queue {name!r}", key="queue", hint=_meant(name, state))
    if not state.queues.shares.is_leaf(name):
        under = sorted(each.name for each in state.queues.by_name.values() if each.parent == name)
        raise FieldError(
            f"queue {name} has queues under it and takes no workloads itself",
            key="queue",
            hint=f"use one of {', '.join(under)}",
        )


def _meant(name: str, state: ClusterState) -> str:
    leaves = sorted(each for each in state.queues.by_name if state.queues.shares.is_leaf(each))
    close = get_close_matches(name, leaves, n=1)
    return f"did you mean {close[0]}?" if close else f"queues are {_listed(leaves)}"


def _listed(names: Iterable[str], most: int = 8) -> str:
    shown = list(names)
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if shown[most:] else "")


def looked_up(mind: Mind, ledger: "Ledger", name: str) -> Filed | str:
    """The newest workload of a name or id: the id of one that lives, else as it was filed.

    Raises:
        FieldError: there never was one.
    """
    live = mind.book.entries.get(name) or mind.book.named(name)
    if live:
        return live.id
    filed = ledger.history.by_id(name) or ledger.history.latest(name)
    if filed is None:
        raise FieldError(
            f"there is no workload {name!r} to wait for", key="after", hint="submit that one first"
        )
    return filed
