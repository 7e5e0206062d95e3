"""One verb for many workloads: one turn, one commit, and what was refused.

What is refused for one workload leaves the others alone. A failure that has changed something
already undoes all of it.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.api.bulk import BatchAnswer, BatchItem, BulkAnswer, Refusal
from ganglion.api.workloads import Accepted
from ganglion.model.errors import GanglionError
from ganglion.server.commands.submission import submit
from ganglion.server.rest.filters import RowFilter
from ganglion.server.state.refs import Referent, resolve
from ganglion.server.state.transaction import Mind, Transaction
from ganglion.server.views import lists

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

MOST_PROBLEMS = 100
"""Most refusals that an answer spells out."""

Act = Callable[[Transaction, str], object]
"""Does something to one workload, or raises why it cannot."""
Find = Callable[[Mind, "Ledger", str], Referent]
"""Says what a reference means, or raises that it means nothing."""
Admit = Callable[[Transaction, submit.Request, submit.Known], Accepted]
"""Takes a workload in, or raises why it is refused."""


class Chosen(Struct, frozen=True):
    """Which workloads a bulk verb is about.

    Attributes:
        refs: ids, names or unique prefixes, with `/index` for one gang.
        want: live workloads that pass; None = none but `refs`.
    """

    refs: tuple[str, ...] = ()
    want: RowFilter | None = None


class _Resolved(Struct):
    """What references and filter mean.

    Attributes:
        ids: of workloads, or of gangs.
        prefixes: references that are only the beginning of an id, with that id.
        problems: references that mean nothing.
    """

    ids: list[str] = field(default_factory=list)
    prefixes: dict[str, str] = field(default_factory=dict)
    problems: list[Refusal] = field(default_factory=list)


def apply(draft: Transaction, chosen: Chosen, act: Act, find: Find = resolve) -> BulkAnswer:
    """Do one thing to many workloads, the oldest first.

    Args:
        draft: the open turn.
        chosen: which.
        act: what to do to each.
        find: what a reference means.

    Raises:
        GanglionError: one failed after it had changed the turn; none of it is kept.
    """
    found = _resolved(draft.mind, draft.ledger, chosen, find)
    done = list[str]()
    for ref in found.ids:
        before = draft.size
        try:
            act(draft, ref)
        except GanglionError as error:
            if draft.size > before:
                raise
            found.problems.append(refusal(ref, error))
        else:
            done.append(ref)
    return _answer(draft.now, found, done)


def preview(
    mind: Mind, ledger: "Ledger", now: int, chosen: Chosen, find: Find = resolve
) -> BulkAnswer:
    """Say which workloads a bulk verb would be about; nothing changes."""
    found = _resolved(mind, ledger, chosen, find)
    return replace(_answer(now, found, found.ids), done=0)


def _answer(now: int, found: _Resolved, done: Sequence[str]) -> BulkAnswer:
    refused = len(found.problems)
    return BulkAnswer(
        at=now,
        matched=max(len(found.ids), len(done) + refused),
        done=len(done),
        refused=refused,
        workloads=tuple(done),
        prefixes=found.prefixes,
        problems=tuple(found.problems[:MOST_PROBLEMS]),
    )


def _resolved(mind: Mind, ledger: "Ledger", chosen: Chosen, find: Find) -> _Resolved:
    """What is named and what passes the filter, each once, the oldest of the latter first."""
    found = _Resolved()
    for ref in chosen.refs:
        try:
            named = find(mind, ledger, ref)
        except GanglionError as error:
            found.problems.append(refusal(ref, error))
            continue
        index = "" if named.gang is None else f"/{named.gang}"
        found.ids.append(named.workload + index)
        if ref.removesuffix(index) not in (named.workload, named.name):
            found.prefixes[ref] = named.workload + index
    if chosen.want is not None:
        passing = [entry.id for entry in lists.live(mind, chosen.want)]
        found.ids += reversed(passing)
    found.ids = list(dict.fromkeys(found.ids))
    return found


def refusal(workload: str, error: GanglionError) -> Refusal:
    """Return an error as one line of an answer."""
    return Refusal(
        workload=workload, code=error.code, detail=error.message or str(error), hint=error.hint
    )


def submit_all(
    draft: Transaction,
    requests: Sequence[submit.Request | Refusal],
    admit: Admit = submit.submit,
) -> BatchAnswer:
    """Submit many workloads.

    Args:
        draft: the open turn.
        requests: checked documents, and those that were refused for what is in them.
        admit: takes one of them in.

    Raises:
        GanglionError: one failed after it had changed the turn; none of it is kept.
    """
    keys = [each.key for each in requests if isinstance(each, submit.Request) and each.key]
    known = submit.known_requests(draft, keys) if keys else {}
    items = [_submitted(draft, each, known, admit) for each in requests]
    refused = sum(item.problem is not None for item in items)
    return BatchAnswer(accepted=len(items) - refused, refused=refused, items=tuple(items))


def _submitted(
    draft: Transaction, request: submit.Request | Refusal, known: submit.Known, admit: Admit
) -> BatchItem:
    if isinstance(request, Refusal):
        return BatchItem(name=request.workload, problem=request)
    before, name = draft.size, request.file.name or ""
    try:
        made = admit(draft, request, known)
    except GanglionError as error:
        if draft.size > before:
            raise
        return BatchItem(name=name, problem=refusal(name, error))
    return BatchItem(id=made.id, name=made.name, gangs=made.gangs, due=made.due)
