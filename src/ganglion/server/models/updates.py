"""Giving a service another model, within a turn; its replicas follow one after the other."""

from typing import TYPE_CHECKING

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import Conflict
from ganglion.model.events import ModelUpdated
from ganglion.model.workload import Kind, ResolvedModel
from ganglion.server.models.keeper import has_moved
from ganglion.server.state.refs import resolve
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Mind, Transaction

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

MOST_SURGE = 1_000
"""Most replicas beyond the wanted ones."""


def service_with_model(
    mind: Mind, ledger: "Ledger", ref: str
) -> tuple[LiveWorkload, ResolvedModel]:
    """The live service that a reference means, and its model.

    Raises:
        NotFound: there is no such workload.
        Conflict: it has ended, is no service, is held, or names no model.
    """
    found = resolve(mind, ledger, ref)
    if found.filed:
        raise Conflict(f"{found.workload} has ended already, as {found.filed.state}")
    entry = mind.book.entries[found.workload]
    model = entry.workload.model
    if entry.workload.kind is not Kind.SERVICE:
        hint = "submit it again: every submission gets what its reference means then"
        raise Conflict(f"{entry.id} is no service: it has one model to its end", hint)
    if model is None:
        hint = "submit it with `model:` in its file"
        raise Conflict(f"{entry.id} names no model", hint)
    if entry.workload.held:
        hint = f"release it first: ganglion update {entry.id} --release"
        raise Conflict(f"{entry.id} is held", hint)
    return entry, model


def update_model(
    draft: Transaction, ref: str, wanted: ResolvedModel | None, surge: int, user: str
) -> str:
    """Have the replicas of a service replaced by ones with another model; returns its id.

    Args:
        draft: the open turn.
        ref: id, name or unique prefix.
        wanted: the model; None = the one before the last update.
        surge: replicas beyond those wanted that may run meanwhile; 0 = one goes before another
            comes.
        user: who asks.

    Raises:
        NotFound: there is no such workload.
        Conflict: as of `service_with_model`; it has that model already, had none before, or the
            one before had the same name, as folders have, and so is not to be had by it.
    """
    entry, own = service_with_model(draft.mind, draft.ledger, ref)
    last = draft.book.replicas.updated.get(entry.id)
    if wanted is None and last is None:
        raise Conflict(f"{entry.id} has had no other model than {own.uri}")
    new = wanted or (last.before if last else own)
    if wanted is None and new.uri == own.uri and new.digest != own.digest:
        problem = f"{own.uri} is what {entry.id} had before, but not {new.digest} any more"
        hint = f"name what has that content: ganglion models update {entry.id} --to MODEL"
        raise Conflict(problem, hint)
    if not has_moved(own, new):
        hint = "see what moved: ganglion models list"
        raise Conflict(f"{entry.id} has {own.uri} already", hint)
    cause = Cause(CauseKind.MODEL_UPDATED, text=new.uri, user=user)
    draft.change(entry, model=new)
    draft.record(ModelUpdated(draft.now, entry.id, own, new, surge, cause))
    return entry.id
