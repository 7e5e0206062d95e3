"""What failed of a workload, once more."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ganglion.api.workloads import Accepted
from ganglion.ledger.history import TRIMMED
from ganglion.ledger.records import Filed
from ganglion.lifecycle.clusters import cluster_of
from ganglion.lifecycle.expand import params_of
from ganglion.model.errors import Conflict
from ganglion.model.events import Outcome
from ganglion.model.workload import Kind, Workload
from ganglion.server.commands.submission.submit import checked, submit
from ganglion.server.state.refs import resolve
from ganglion.server.state.transaction import Transaction

RETRY_OF = "retry-of"
"""Label that names the workload whose failures a workload repeats."""

FINE = (Outcome.SUCCEEDED, Outcome.STOPPED_EARLY, Outcome.CANCELLED)
"""Ends after which nothing is to be repeated."""

NOT_AGAIN = ("after", "schedule", "singleton")
"""Keys of a file that decide when it is submitted: that was decided the first time."""


class _Told(Struct):
    """What is read of a gang that was filed."""

    index: int
    outcome: Outcome | None = None


class _Detail(Struct):
    gangs: list[_Told]


class _Known(Struct):
    """A workload that lives, or has ended."""

    id: str
    workload: Workload
    document: bytes
    failed: list[int]


def retry(draft: Transaction, ref: str, user: str, key: str = "", *, cap: str = "") -> Accepted:
    """Submit what failed of a workload as a workload of its own.

    Of a sweep those trials are run that failed; anything else runs as a whole. What still runs
    or waits of it goes on.

    Args:
        draft: the open turn.
        ref: id, name or unique prefix.
        user: who asks.
        key: idempotency key.
        cap: id of the token within whose spending cap it has to stay; empty = of none.

    Raises:
        NotFound: there is no such workload.
        Conflict: nothing of it failed, that is being repeated already, or it ran in a cluster.
    """
    known = _known(draft, ref)
    cluster = cluster_of(known.workload.queue)
    if cluster:
        raise Conflict(
            f"{known.id} ran in cluster {cluster}", "submit it there: ganglion submit --context"
        )
    for entry in draft.book.entries.values():
        if entry.workload.labels.get(RETRY_OF) == known.id and not key:
            raise Conflict(f"{known.id} is being retried already, as {entry.id}")
    if not known.failed:
        raise Conflict(f"nothing of {known.id} has failed", "what was cancelled is submitted anew")
    data = _document(known, [entry.workload.name for entry in draft.book.entries.values()])
    digest, account = f"retry {known.id}", known.workload.account
    request = checked(data, user=user, key=key, digest=digest, account=account, cap=cap)
    frozen = {"model": known.workload.model, "image": known.workload.run.resolved}
    return submit(draft, replace(request, **frozen))


def _known(draft: Transaction, ref: str) -> _Known:
    found = resolve(draft.mind, draft.ledger, ref)
    if found.filed:
        filed = found.filed
        if filed.document == TRIMMED:
            raise Conflict(
                f"the file of {filed.id} is not kept any more", "submit it anew, from your own file"
            )
        return _Known(filed.id, filed.workload, filed.document, _failed(_gangs(filed)))
    entry = draft.book.entries[found.workload]
    ends = (_Told(each.gang.index, each.outcome) for each in draft.records(found.workload))
    return _Known(entry.id, entry.workload, entry.document, _failed(ends))


def _gangs(filed: Filed) -> list[_Told]:
    return msgspec.json.decode(filed.detail, type=_Detail).gangs


def _failed(ends: Iterable[_Told]) -> list[int]:
    return [each.index for each in ends if each.outcome and each.outcome not in FINE]


def _document(known: _Known, taken: list[str]) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.json.decode(known.document)
    for key in NOT_AGAIN:
        data.pop(key, None)
    if known.workload.kind is Kind.SWEEP:
        for key in ("params", "search"):
            data.pop(key, None)
        data["trials"] = [params_of(known.workload, index) for index in known.failed]
        data["kind"] = "sweep"
    data["name"] = _free(known.workload.name, taken)
    data["labels"] = {**data.get("labels", {}), RETRY_OF: known.id}
    return data


def _free(name: str, taken: list[str]) -> str:
    """The name itself, or with a number behind it where it is taken."""
    stem = name[:50].rstrip("-")
    names = (name, *(f"{stem}-retry-{number}" for number in range(1, len(taken) + 2)))
    return next(each for each in names if each not in taken)
