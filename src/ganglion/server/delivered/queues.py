"""Queues of clusters: as their schedulers said last."""

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec.structs import asdict

from ganglion.api.queues import Amount, ClusterQueue
from ganglion.lifecycle.clusters import ClusterBook, place_of
from ganglion.model import resources
from ganglion.model.queue import Queue


def cluster_queues(cluster: str, book: ClusterBook) -> tuple[ClusterQueue, ...]:
    """Queues of a cluster, by name, with what they and all queues below them hold."""
    used, counts = Counter[str](), Counter[tuple[str, bool]]()
    for gang in book.gangs.values():
        milli = gang.placement.gpu_milli if gang.holds and gang.placement else 0
        for queue in _path(gang.gang.queue, book.parents):
            used[queue] += milli
            counts[queue, gang.holds] += 1
    found = list[ClusterQueue]()
    for name, parent in sorted(book.parents.items()):
        above = place_of(cluster, parent) if parent else ""
        rules, running, waiting = book.rules.get(name), counts[name, True], counts[name, False]
        view = ClusterQueue(
            place_of(cluster, name),
            above,
            gpu_used_milli=used[name],
            running=running,
            waiting=waiting,
        )
        found.append(_ruled(view, rules) if rules else view)
    return tuple(found)


def _path(queue: str, parents: Mapping[str, str]) -> Iterator[str]:
    """A queue and those above it; what a scheduler says may go round in a circle."""
    seen = set[str]()
    while queue and queue not in seen:
        seen.add(queue)
        yield queue
        queue = parents.get(queue, "")


def _ruled(view: ClusterQueue, rules: Queue) -> ClusterQueue:
    view.quota, view.limit = amounts_of(rules.quota), amounts_of(rules.limit)
    view.lend_limit = amounts_of(rules.lend_limit)
    view.over_quota_weight = rules.over_quota_weight
    return view


def amounts_of(
    amounts: Mapping[str, resources.Amount] | Mapping[str, resources.Usage],
) -> dict[str, Amount]:
    """Amounts of a rule, or of what is used, as they are shown."""
    return {key: Amount(**asdict(each)) for key, each in amounts.items()}
