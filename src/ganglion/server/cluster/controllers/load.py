"""What the pods of a cluster's services say of their load."""

from collections import deque
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.lifecycle.metrics.merge import Merged, Pages, merge
from ganglion.server.signals.prometheus import REMEMBERED, at_ms, of_answers
from ganglion.server.signals.scraper import Found


class Load(Struct, frozen=True):
    """What is known of a service's load.

    Attributes:
        reading: as the scaler wants it; None = nothing new.
        wrong: what cannot be true; empty = nothing.
    """

    reading: Reading | None = None
    wrong: str = ""


class History(Struct):
    """What one service's pods reported of late."""

    pages: deque[Pages]
    since: float = 0.0

    @classmethod
    def empty(cls) -> "History":
        """Nothing was reported yet."""
        return cls(deque(maxlen=REMEMBERED))


def load_of(found: Found | None, history: History, ready: Sequence[str], now: int) -> Load:
    """What was found out since the last time, as the scaler wants it.

    Args:
        found: by the scraper; None = nothing yet.
        history: what was found before; `found` is added.
        ready: pods that should say something.
        now: the time, in ms.
    """
    if found is None or found.since == history.since:
        return Load()
    history.since = found.since
    by_pages = bool(found.pages.pages or found.pages.silent)
    merged = _of_pages(found, history, ready) if by_pages else of_answers(found)
    if merged.values is None:
        return Load(None, merged.wrong)
    return Load(Reading(at_ms(found, now), merged.values), merged.wrong)


def _of_pages(found: Found, history: History, ready: Iterable[str]) -> Merged:
    history.pages.append(found.pages)
    before = history.pages[0] if len(history.pages) > 1 else None
    return merge(found.pages, before, ready)
