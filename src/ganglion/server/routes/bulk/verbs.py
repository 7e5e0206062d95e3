"""Routes for many workloads at once; each is one turn and one commit."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import pydantic_core
from anyio import from_thread
from fastapi import Header
from msgspec.structs import replace
from pydantic import Field

from ganglion.api.bulk import BatchAnswer, BeforeUpdate, BulkAnswer, Refusal
from ganglion.identity.roles import AccessVerb, ResourceKind
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import FieldError, GanglionError, InputError
from ganglion.server.access.caller import Caller
from ganglion.server.access.checks import check_target, narrowed, own_key
from ganglion.server.access.visible import located
from ganglion.server.commands import live, workspaces
from ganglion.server.commands.submission import submit
from ganglion.server.requests.context import Document, Here, ServerContext
from ganglion.server.rest.filters import WorkloadFilter, wanted
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.routes.bulk import turns as bulk_turns
from ganglion.server.routes.models.requests import found_images, found_models
from ganglion.server.routes.workloads import Update, admitted, changes_of
from ganglion.server.state.refs import Referent, resolve
from ganglion.server.state.transaction import Mind, Transaction

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

router = Routes(tags=["bulk"], responses=ERRORS)

MOST_DOCUMENTS = 1_000
"""Most workloads of one batch."""
MOST_REFS = 10_000

Key = Annotated[
    str,
    # The number of the document is added to it.
    Header(alias="Idempotency-Key", max_length=190, pattern=r"^[\x21-\x7e]*$"),
]


class Selection(Input):
    """Which workloads: those named, and the live ones that pass the filter."""

    workloads: list[Annotated[str, Field(max_length=300)]] = Field(
        [], max_length=MOST_REFS, description="ids, names or unique prefixes; `job/3` is one gang"
    )
    filter: WorkloadFilter | None = Field(None, description="`{}` is every live workload")
    dry_run: bool = Field(False, description="only say which they are")


class CancelMany(Selection):
    """Which workloads to cancel, and how."""

    force: bool = Field(False, description="leave no grace")


class KnownBefore(Input):
    """What a workload has to be for a change of it; keys left out may be anything."""

    priority: int | None = Field(None, ge=0, le=100)
    queue: str | None = Field(None, max_length=1000, description="by its name")
    held: bool | None = None


class UpdateMany(Selection):
    """Which workloads to change, and what."""

    changes: Update
    only_if: KnownBefore = Field(
        default_factory=KnownBefore, description="others are refused: they were changed meanwhile"
    )


BATCH: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["workloads"],
                    "additionalProperties": False,
                    "properties": {
                        "workloads": {
                            "type": "array",
                            "maxItems": MOST_DOCUMENTS,
                            "items": {"$ref": "#/components/schemas/WorkloadFile"},
                        },
                        "force": {"type": "boolean", "default": False},
                    },
                }
            }
        },
    }
}


@router.post("/workloads:submit", openapi_extra=BATCH)
def submit_many(here: Here, body: Document, idempotency_key: Key = "") -> BatchAnswer:
    """Submit up to 1,000 workloads; what is refused of one leaves the others alone.

    The same Idempotency-Key submits nothing twice and repeats what was accepted.
    """
    documents, force = _batch(body.data)
    requests = _with_models(here, list(_checked(here, documents, idempotency_key, force=force)))
    admit = partial(admitted, here.caller)
    return here.service.ask(lambda draft: bulk_turns.submit_all(draft, requests, admit))


def _batch(data: dict[str, Any]) -> tuple[list[Any], bool]:
    documents, force = data.get("workloads"), data.get("force", False)
    unknown = data.keys() - {"workloads", "force"}
    if unknown:
        raise FieldError("unknown key", key=min(unknown), hint="there are workloads, force")
    if not isinstance(documents, list):
        raise FieldError("should be a list of workloads", key="workloads")
    if len(documents) > MOST_DOCUMENTS:
        hint = f"at most {MOST_DOCUMENTS:,}; send the others in a second request"
        raise FieldError(f"there are {len(documents):,}", key="workloads", hint=hint)
    if not isinstance(force, bool):
        raise FieldError("should be true or false", key="force")
    return documents, force


def _checked(
    here: ServerContext, documents: list[Any], key: str, *, force: bool
) -> Iterator[submit.Request | Refusal]:
    """Check documents by themselves, before the turn that takes them."""
    key, account = own_key(here.caller, key), here.account()
    for number, document in enumerate(documents):
        own = {"key": f"{key}#{number}"} if key else {}
        try:
            if not isinstance(document, dict):
                raise InputError("a workload is a JSON object")
            raw = pydantic_core.to_json(document) if key else b""
            others: dict[str, Any] = {"force": force, "account": account, **own}
            yield submit.checked(document, raw, user=here.user, cap=here.caller.cap, **others)
        except GanglionError as error:
            name = document.get("name") if isinstance(document, dict) else None
            yield bulk_turns.refusal(name if isinstance(name, str) else "", error)


def _with_models(
    here: ServerContext, requests: list[submit.Request | Refusal]
) -> list[submit.Request | Refusal]:
    """Ask the registries of models before the turn; what they do not know is refused alone."""
    asking = [each for each in requests if isinstance(each, submit.Request) and each.file.model]
    known = from_thread.run(found_models, here, asking) if asking else {}
    made = list[submit.Request | Refusal]()
    for each in requests:
        found = known.get(each.file.model) if isinstance(each, submit.Request) else None
        if isinstance(each, Refusal) or found is None:
            made.append(each)
        elif isinstance(found, GanglionError):
            made.append(bulk_turns.refusal(each.file.name, found))
        else:
            made.append(replace(each, model=found))
    return _with_images(here, made)


def _with_images(
    here: ServerContext, requests: list[submit.Request | Refusal]
) -> list[submit.Request | Refusal]:
    """Ask the registries of images; what they do not say refuses nothing."""
    asking = [each for each in requests if isinstance(each, submit.Request) and each.file.image]
    known = from_thread.run(found_images, here, asking) if asking else {}
    return [
        replace(each, image=known.get(each.file.image))
        if isinstance(each, submit.Request)
        else each
        for each in requests
    ]


@router.post("/workloads:cancel")
def cancel_many(here: Here, which: CancelMany) -> BulkAnswer:
    """End what waits and stop what runs of many workloads."""
    force = which.force
    return _done(
        here,
        which,
        AccessVerb.STOP,
        lambda draft, ref: live.cancel(draft, ref, here.user, force=force),
    )


@router.post("/workloads:update")
def update_many(here: Here, which: UpdateMany) -> BulkAnswer:
    """Change many live workloads."""
    given = changes_of(which.changes)
    if given.queue is not None:
        check_target(here.caller, given.queue)
    before = list[BeforeUpdate]()

    def act(draft: Transaction, ref: str) -> None:
        entry = draft.book.entries.get(ref)
        known = live.as_before(entry, given) if entry else None
        if entry:
            live.check_before(entry, which.only_if.model_dump(exclude_none=True))
        live.change(draft, ref, given)
        if known:
            before.append(known)

    return replace(_done(here, which, AccessVerb.UPDATE, act), before=tuple(before))


@router.post("/workloads:suspend")
def suspend_many(here: Here, which: Selection) -> BulkAnswer:
    """Stop many workspaces until they are resumed."""
    return _done(
        here,
        which,
        AccessVerb.UPDATE,
        lambda draft, ref: workspaces.suspend(draft, ref, here.user),
    )


@router.post("/workloads:resume")
def resume_many(here: Here, which: Selection) -> BulkAnswer:
    """Let many suspended workspaces start again."""
    cause = Cause(CauseKind.RESUMED, user=here.user)
    return _done(
        here, which, AccessVerb.UPDATE, lambda draft, ref: workspaces.resume(draft, ref, cause)
    )


def _done(
    here: ServerContext, which: Selection, verb: AccessVerb, act: bulk_turns.Act
) -> BulkAnswer:
    if not which.workloads and which.filter is None:
        raise FieldError(
            "name workloads, or give a filter", key="workloads", hint="`filter: {}` is all of them"
        )
    want = wanted(which.filter, here.service.now()) if which.filter is not None else None
    caller = here.caller
    want = narrowed(caller, want) if want else None
    chosen = bulk_turns.Chosen(tuple(which.workloads), want)
    find = resolve if caller.sees_all else partial(_found, caller)
    if which.dry_run:
        here.take_dry_run()
        with here.dry_run() as mind:
            return bulk_turns.preview(mind, here.service.ledger, here.service.now(), chosen, find)

    def allowed(draft: Transaction, ref: str) -> object:
        entry = draft.book.entries.get(ref.partition("/")[0])
        if entry:
            its = entry.workload
            caller.require(verb, ResourceKind.WORKLOAD, its.queue, its.user)
        return act(draft, ref)

    return here.service.ask(lambda draft: bulk_turns.apply(draft, chosen, allowed, find))


def _found(caller: Caller, mind: Mind, ledger: "Ledger", ref: str) -> Referent:
    """What a reference means among the workloads that a caller may see."""
    return resolve(mind, ledger, located(mind, ledger, ref, caller)[0])
