"""What the scheduler of a cluster answers, with the names that the server has for things."""

import re
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from ganglion.api.reasons import Explained, Reason
from ganglion.lifecycle.clusters import ClusterBook, live_id, place_of
from ganglion.metering.clusters import metered_name

_KEY = re.compile(r"[\w.-]+(?:/[\w.-]+){3,}")
"""What the id of a gang looks like in a cluster."""


def fresh_explained(cluster: str, book: ClusterBook, gang: str, told: Explained) -> Explained:
    """What a scheduler says of a gang, as the server says it.

    Args:
        cluster: its name.
        book: what is known of it here.
        gang: id in the cluster of the one that was asked about.
        told: the answer. For what it has waited, and what yielding cost it, only the server knows.
    """
    names = _names(cluster, book, {gang, *_named(told)}, _texts(told))
    known, said = book.gangs.get(gang), _sentences(names)

    def ids(found: Iterable[str]) -> tuple[str, ...]:
        return tuple(names.get(each, each) for each in found)

    return replace(
        told,
        gang=names[gang],
        text=said(told.text),
        reason=_reason(told.reason, said),
        ahead=ids(told.ahead),
        holders=ids(told.holders),
        guesses=ids(told.guesses),
        closed={place_of(cluster, node): said(why) for node, why in told.closed.items()},
        suggestions=tuple(
            replace(
                each,
                change=said(each.change),
                stops=ids(each.stops),
                awaits=ids(each.awaits),
                queue=place_of(cluster, each.queue) if each.queue else "",
            )
            for each in told.suggestions
        ),
        preemptions=known.preemptions if known else 0,
        lost_gpu_ms=known.lost_gpu_ms if known else 0,
    )


def _reason(reason: Reason | None, said: Callable[[str], str]) -> Reason | None:
    return reason and replace(reason, message=said(reason.message))


def _named(told: Explained) -> Iterable[str]:
    yield from (*told.ahead, *told.holders, *told.guesses)
    for each in told.suggestions:
        yield from (*each.stops, *each.awaits)


def _texts(told: Explained) -> str:
    changes = (each.change for each in told.suggestions)
    reason = told.reason.message if told.reason else ""
    return "\n".join((told.text, reason, *changes, *told.closed.values()))


def _names(cluster: str, book: ClusterBook, ids: Iterable[str], texts: str) -> Mapping[str, str]:
    """Gangs by their ids in the cluster -> their ids here; of those that are named."""
    more = (each for each in _KEY.findall(texts) if each in book.gangs)
    return {
        each: live_id(cluster, book.gangs[each])
        if each in book.gangs
        else metered_name(cluster, each)
        for each in (*ids, *more)
    }


def _sentences(names: Mapping[str, str]) -> Callable[[str], str]:
    """Puts ids of the server into sentences."""
    every = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    return lambda text: every.sub(lambda found: names[found[0]], text)
