"""What users call workloads and gangs: an id, the beginning of one, or a name."""

from typing import TYPE_CHECKING, NamedTuple

from ganglion.ledger.records import Filed
from ganglion.lifecycle.cluster_gangs import DeliveredGang
from ganglion.model.errors import Conflict, NotFound
from ganglion.server.state.transaction import Mind

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger


class Referent(NamedTuple):
    """What a reference names.

    Attributes:
        workload: id of the workload.
        filed: as it lies in the ledger, when it has ended; None while it lives.
        gang: its index, when the reference names one.
        name: of the workload.
    """

    workload: str
    filed: Filed | None
    gang: int | None
    name: str = ""


def resolve(mind: Mind, ledger: "Ledger", ref: str) -> Referent:
    """Find a workload by id, by name (the latest of that name), or by a unique prefix of its id.

    `/index` behind any of them names one gang.

    Raises:
        NotFound: there is none.
        Conflict: the prefix fits several.
    """
    head, slash, tail = ref.rpartition("/")
    if slash and tail.isascii() and tail.isdigit() and len(tail) < 10:
        return _resolve(mind, ledger, head)._replace(gang=int(tail))
    return _resolve(mind, ledger, ref)


def _resolve(mind: Mind, ledger: "Ledger", ref: str) -> Referent:
    if ref in mind.book.entries:
        return Referent(ref, None, None, mind.book.entries[ref].workload.name)
    named = mind.book.named(ref)
    if named:
        return Referent(named.id, None, None, ref)
    away = living(mind, ref)
    if away:
        cluster, gang = away
        hint = f"there: ganglion ... {gang.own_name} --context CONTEXT -N {gang.namespace}"
        raise Conflict(
            f"{ref} lives in cluster {cluster}, where it is changed and looked into", hint
        )
    # PostgreSQL takes no NUL in text.
    filed = None if "\0" in ref else _filed(ledger, ref)
    if filed is None:
        raise NotFound(f"there is no workload {ref!r}", "see `ganglion ps --all`")
    return Referent(filed.id, None if filed.id in mind.book.entries else filed, None, filed.name)


def living(mind: Mind, ref: str) -> tuple[str, DeliveredGang] | None:
    """The workload that lives in a cluster under an id or name, and that cluster.

    None = there is none, or one of the server itself lives under it.
    """
    head, slash, tail = ref.rpartition("/")
    name = head if slash and tail == "0" else ref
    if name in mind.book.entries or mind.book.named(name):
        return None
    return next(iter(mind.book.clusters.called(name)), None)


def _filed(ledger: "Ledger", ref: str) -> Filed | None:
    history = ledger.history
    found = history.by_id(ref) or history.latest(ref)
    if found or not ref:
        return found
    fitting = history.starting_with(ref)
    if len(fitting) > 1:
        shown = ", ".join(each.id for each in fitting)
        raise Conflict(f"{ref!r} fits several workloads", f"write more of the id: {shown}")
    return fitting[0] if fitting else None
