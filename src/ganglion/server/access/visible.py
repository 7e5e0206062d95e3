"""Workloads that a caller may see, by whatever it calls them."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ganglion.lifecycle.clusters import live_id, place_of
from ganglion.model.errors import Conflict, NotFound
from ganglion.model.workload import UnixAccount, Workload
from ganglion.server.access.caller import Caller
from ganglion.server.state.transaction import Mind

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

_INDEX = re.compile(r"(.+)(/[0-9]{1,9})")


class Place(NamedTuple):
    """Where a workload belongs.

    Attributes:
        id: of the workload.
        queue: it is charged to, or was.
        user: whose it is.
        account: that its programs run as; None = that of the server.
    """

    id: str
    queue: str
    user: str
    account: UnixAccount | None


def _place(key: str, workload: Workload) -> Place:
    return Place(key, workload.queue, workload.user, workload.account)


def located(mind: Mind, ledger: "Ledger", ref: str, caller: Caller) -> tuple[str, Place]:
    """Find a workload among those that the caller may see.

    Returns:
        the reference with the whole id, and where the workload belongs.

    Raises:
        NotFound: there is none; or there is one, and the caller may not see it.
        Conflict: several begin so.
    """
    parts = _INDEX.fullmatch(ref)
    name, index = parts.groups() if parts else (ref, "")
    found = next(_named(mind, ledger, name, caller), None) or _begins(ledger, name, caller)
    return found.id + index, found


def _named(mind: Mind, ledger: "Ledger", name: str, caller: Caller) -> Iterator[Place]:
    lives = mind.book.entries.get(name)
    known = [lives] if lives else reversed(mind.book.all_named(name))
    for each in known:
        if caller.sees(each.workload.queue):
            yield _place(each.id, each.workload)
    for cluster, gang in mind.book.clusters.called(name):
        queue = place_of(cluster, gang.gang.queue)
        if caller.sees(queue):
            yield Place(live_id(cluster, gang), queue, gang.gang.user, None)
    filed = () if "\0" in name else (ledger.history.by_id(name), ledger.history.latest(name))
    for row in filed:
        if row and row.id not in mind.book.entries and caller.sees(row.workload.queue):
            yield _place(row.id, row.workload)


def _begins(ledger: "Ledger", name: str, caller: Caller) -> Place:
    found = ledger.history.starting_with(name) if name and "\0" not in name else []
    fitting = [each for each in found if caller.sees(each.workload.queue)]
    if len(fitting) > 1:
        shown = ", ".join(each.id for each in fitting)
        raise Conflict(f"{name!r} fits several workloads", f"write more of the id: {shown}")
    if not fitting:
        raise NotFound(f"there is no workload {name!r}", "see `ganglion ps --all`")
    return _place(fitting[0].id, fitting[0].workload)


Queues = Callable[[Collection[str]], dict[str, str]]
"""Ids of workloads -> the queue of each one that there is or was."""


def queues_of(mind: Mind, ledger: "Ledger", ids: Iterable[str]) -> dict[str, str]:
    """Ids of workloads -> the queue of each one that there is or was."""
    found = dict[str, str]()
    for each in ids:
        live = mind.book.entries.get(each)
        filed = None if live or "\0" in each else ledger.history.by_id(each)
        away = [] if live else mind.book.clusters.called(each)
        if live:
            found[each] = live.workload.queue
        elif away:
            found[each] = place_of(away[0][0], away[0][1].gang.queue)
        elif filed:
            found[each] = filed.workload.queue
    return found
