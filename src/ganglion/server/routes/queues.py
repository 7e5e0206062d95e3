"""Routes for queues."""

import json
from collections.abc import Collection
from typing import Annotated, Any

from fastapi import Query, Response
from msgspec.structs import replace

from ganglion.api.policies import PolicyOutcome
from ganglion.api.queues import QueuePage, QueueRules, QueueView
from ganglion.api.server import Done
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import FieldError, NotFound
from ganglion.model.queue import Queue
from ganglion.server.access.owned_queues import require_above, within_parent
from ganglion.server.commands import live
from ganglion.server.commands.policies import check_queue as checked
from ganglion.server.commands.policies import flavors_of
from ganglion.server.requests.context import Document, Here, ServerContext, document_body
from ganglion.server.rest import etags
from ganglion.server.rest.filters import TextQuery
from ganglion.server.rest.problems import ERRORS, STALE
from ganglion.server.rest.sending import Routes
from ganglion.server.state.transaction import Transaction
from ganglion.server.views import cluster
from ganglion.specs.policy.policy import parse_policy
from ganglion.specs.policy.queue_schema import PreemptionFile
from ganglion.specs.reading.overlay import written

router = Routes(tags=["queues"], responses=ERRORS)


@router.get("/queues", response_model=QueuePage, responses=etags.TAGGED)
def list_queues(
    here: Here,
    query: Annotated[TextQuery, Query()],
    if_none_match: etags.IfNoneMatch = "",
) -> Response:
    """List queues with their usage."""
    now = here.service.now()
    with here.service.read() as mind:
        found = cluster.queue_page(mind.state, query, _hidden(here, mind.state), now)
    return etags.answer(found, if_none_match)


@router.get("/queues/{name}", response_model=QueueRules, responses=etags.TAGGED)
def show_queue(here: Here, name: str, if_none_match: etags.IfNoneMatch = "") -> Response:
    """Return the rules of a queue."""
    with here.service.read() as mind:
        found = cluster.queue_rules(mind.state, name)
    return etags.answer(found, if_none_match, found.etag)


@router.put("/queues/{name}", responses=STALE, openapi_extra=document_body("QueueFile"))
def set_queue(
    here: Here,
    name: str,
    body: Document,
    if_match: etags.IfMatch = "",
    if_none_match: etags.IfNoneMatch = "",
) -> QueueView:
    """Make or change a queue; the body has the keys of a cluster file's queues.

    Owners of a queue make and change those under it, within its quota.
    """
    queue, _ = understood(here, name, body.data)

    def command(draft: Transaction) -> None:
        require_above(here.caller, draft.state, name, queue.parent)
        _check_unchanged(draft, name, if_match, if_none_match)
        check_parent(draft.state, queue)
        live.set_queue(draft, within_parent(here.caller, draft.state, queue))

    here.service.ask(command)
    now = here.service.now()
    with here.service.read() as mind:
        return cluster.queue_view(mind.state, name, _hidden(here, mind.state), now)


@router.post("/queues/{name}/check", openapi_extra=document_body("QueueFile"))
def check_queue(here: Here, name: str, body: Document) -> PolicyOutcome:
    """Say what is wrong with a queue and what it would change; nothing is set.

    Each who may set the queue may ask. Keys of changes begin with `queues.NAME`.
    """
    queue, unknown = understood(here, name, body.data)
    with here.service.read() as mind:
        require_above(here.caller, mind.state, name, queue.parent)
        check_parent(mind.state, queue)
        try:
            found = checked(mind, within_parent(here.caller, mind.state, queue))
        except FieldError as error:
            first, *others = map(_of_one, error.errors)
            raise first.among(others) from error
    return replace(found, warnings=(*map(str, unknown), *found.warnings))


def _hidden(here: ServerContext, state: ClusterState) -> Collection[str]:
    """Queues whose work the caller may not see."""
    caller = here.caller
    return () if caller.sees_all else state.queues.by_name.keys() - caller.queues


def check_parent(state: ClusterState, queue: Queue) -> None:
    """Check that the parent of a queue is there. Raises NotFound."""
    if queue.parent and queue.parent not in state.queues.by_name:
        raise NotFound(f"there is no queue {queue.parent!r}", "see `ganglion queues`")


def _check_unchanged(draft: Transaction, name: str, if_match: str, if_none_match: str = "") -> None:
    present = cluster.queue_tag(draft.state.queues.by_name.get(name))
    etags.check(present, if_match, if_none_match, f"the queue {name}")


def understood(
    here: ServerContext, name: str, data: dict[str, Any]
) -> tuple[Queue, tuple[FieldError, ...]]:
    """Read the queue of a request, and name flavors in it that no node has; nodes to come may.

    The path names it, and its parent need not be in the body. Keys of `preemption` that the body
    leaves out are as the policy says.
    """
    with here.service.read() as mind:
        rules = written(PreemptionFile, mind.state.config.policy.preemption)
        flavors = flavors_of(mind.state)
    if data.get("name", name) != name:
        raise FieldError(
            f"the path names queue {name}, the body another", key="name", hint="leave it out"
        )
    parent = data.get("parent") or ""
    alone = {**data, "name": name}
    alone.pop("parent", None)
    if not isinstance(parent, str):
        raise FieldError("must be the name of a queue", key="parent")
    try:
        file = parse_policy(json.dumps({"queues": [alone], "preemption": rules}), "", flavors)
    except FieldError as error:
        first, *others = map(_of_one, error.errors)
        raise first.among(others) from error
    (queue,) = file.queues or ()
    return replace(queue, parent=parent.rpartition("/")[2]), tuple(map(_of_one, file.unknown))


def _of_one(error: FieldError) -> FieldError:
    """An error of a policy's only queue, as one of the queue alone."""
    key = error.key.removeprefix("queues[0]").lstrip(".")
    return FieldError(error.problem, key=key, hint=error.hint)


@router.delete("/queues/{name}", responses=STALE)
def delete_queue(here: Here, name: str, if_match: etags.IfMatch = "") -> Done:
    """Remove a queue without gangs and queues."""

    def command(draft: Transaction) -> None:
        if name not in draft.state.queues.by_name:
            raise NotFound(f"there is no queue {name!r}", "see `ganglion queues`")
        require_above(here.caller, draft.state, name, draft.state.queues.by_name[name].parent)
        _check_unchanged(draft, name, if_match)
        live.remove_queue(draft, name)

    here.service.ask(command)
    return Done()
