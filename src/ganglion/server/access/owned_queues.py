"""Queues that an owner of a queue above them makes and changes, within what that one has."""

from msgspec.structs import replace

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.identity.grants import Tree
from ganglion.identity.roles import AccessVerb, ResourceKind
from ganglion.model.errors import FieldError, Forbidden
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.server.access.caller import Caller
from ganglion.specs.policy.queue_tree import KINDS, overcommitted

OTHERS = ("lend_limit", "preemption", "timeshare_ms", "kinds")
"""Rules of a queue that are about the work of other queues too."""


def require_above(caller: Caller, state: ClusterState, name: str, parent: str) -> None:
    """Check that a caller may change queues under the parents that a queue has and gets.

    Args:
        caller: who changes it.
        state: the queues as they are.
        name: of the queue.
        parent: it gets; empty = none, so that a grant on the whole fleet is needed.

    Raises:
        Forbidden: it may not.
    """
    present = state.queues.by_name.get(name)
    if present and not caller.sees(name):
        raise _hidden(caller)
    for above in dict.fromkeys((parent, *([present.parent] if present else ()))):
        if above and not caller.sees(above):
            raise _hidden(caller)
        caller.require(AccessVerb.CHANGE, ResourceKind.QUEUE, above)


def require_budget(caller: Caller, tree: Tree, name: str) -> None:
    """Check that a caller may raise the budget of a queue: with a grant above it.

    Args:
        caller: who wants to.
        tree: the queues, those of clusters included.
        name: of the queue.

    Raises:
        Forbidden: it may not.
    """
    present, above = name in tree, tree.get(name, "")
    if (present and not caller.sees(name)) or (above and not caller.sees(above)):
        raise _hidden(caller, "change budget needs the role admin above the queue")
    caller.require(AccessVerb.CHANGE, ResourceKind.BUDGET, above)


def _hidden(
    caller: Caller, rule: str = "change queue needs one of the roles owner, admin above the queue"
) -> Forbidden:
    """The refusal about a queue that the caller may not see: it names none."""
    return caller.refused(rule)


def within_parent(caller: Caller, state: ClusterState, queue: Queue) -> Queue:
    """The queue as its caller may set it: who has no grant on the whole fleet stays within bounds.

    Quotas are parts of the parent's. Rules about the work of other queues are as before, and those
    of a new queue as the parent's.

    Raises:
        FieldError: it would have more, or other rules.
    """
    if caller.changes_every_queue:
        caller.may(AccessVerb.CHANGE, ResourceKind.QUEUE)  # by which grant is recorded
        return queue
    known = state.queues.by_name
    parent = known[queue.parent]
    like, fresh = known.get(queue.name, parent), Queue("")
    for key in OTHERS:
        given, kept = getattr(queue, key), getattr(like, key)
        if given not in (kept, getattr(fresh, key)):
            raise FieldError(
                "it concerns the work of other queues, and stays as it is",
                key=key,
                hint="an owner or admin of the whole fleet can change it",
            )
    _check_parts(state, parent, queue)
    return replace(queue, **{key: getattr(like, key) for key in OTHERS})


def _check_parts(state: ClusterState, parent: Queue, queue: Queue) -> None:
    """Raises FieldError: the parent has less than the queues under it would be guaranteed."""
    for flavor, amount in queue.quota.items():
        bounds = [parent.quota[each] for each in (flavor, ANY_FLAVOR) if each in parent.quota]
        for kind, unit in KINDS.items():
            bounded = any(getattr(each, kind) is not None for each in bounds)
            if getattr(amount, kind) and not bounded:
                raise FieldError(
                    f"the parent `{parent.name}` is guaranteed no {unit} of `{flavor}`",
                    key=f"quota.{flavor}",
                    hint="quotas are parts of the parent's",
                )
    before = {each.problem for each in overcommitted(tuple(state.queues.by_name.values()))}
    after = {**state.queues.by_name, queue.name: queue}
    for each in overcommitted(tuple(after.values())):
        if each.queue in (queue.name, parent.name) and each.problem not in before:
            raise FieldError(each.problem, key=f"quota.{each.flavor}", hint=each.hint)
