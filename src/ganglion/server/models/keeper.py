"""Proposes another model to services whose reference means one by now; see `Controller`."""

import msgspec
from msgspec import Struct

from ganglion.model.workload import ResolvedModel
from ganglion.server.controllers.alarms import settle
from ganglion.server.models.images import watched_as
from ganglion.server.models.watch import ModelWatch
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Transaction
from ganglion.specs.grammar.rules.models import reference_of

LOOK_MS = 1_000
"""How often readings are looked at."""
MOVED = "model.moved"
"""Alarm: a reference means another model than the service has."""


class _Imaged(Struct):
    image: str = ""


_IMAGED = msgspec.json.Decoder(_Imaged)


class ModelsKeeper:
    """Watches the references of services and schedules, and the images of schedules.

    All it knows is in the book.

    Args:
        watch: asks registries, in a thread of its own.
    """

    name = "models"

    def __init__(self, watch: ModelWatch) -> None:
        self._watch = watch

    def note(self, event: object) -> None:
        """The book notes everything."""

    def forget(self) -> None:
        """The book is made anew."""

    def memory(self) -> None:
        """The book remembers everything."""

    def recall(self, memory: None) -> None:
        """The book remembers everything."""

    def tend(self, draft: Transaction) -> int | None:
        """Say what is to be watched, and propose what has moved."""
        services = [draft.book.entries[each] for each in draft.book.replicas.issued]
        wanted = {each.id: moving(each.workload.model) for each in services}
        standing = draft.book.schedules.live.values()
        models = (moving(each.model) for each in standing)
        images = (watched_as(_IMAGED.decode(each.document).image) for each in standing)
        references = frozenset(filter(None, (*wanted.values(), *models, *images)))
        self._watch.want(references)
        for entry in services:
            if entry.workload.model:
                self._propose(draft, entry, wanted[entry.id])
        return draft.now + LOOK_MS if any(wanted.values()) else None

    def _propose(self, draft: Transaction, entry: LiveWorkload, reference: str) -> None:
        now, own = self._watch.latest(reference), entry.workload.model
        words = {}
        if now and own and has_moved(own, now):
            is_same = now.uri == own.uri  # of a name without versions only the digest says more
            new, old = (now.digest, own.digest) if is_same else (now.uri, own.uri)
            words[MOVED] = (
                f"{reference} is {new} now, and it has {old}: "
                f"ganglion models update {entry.workload.name}"
            )
        settle(draft, entry.id, words, MOVED)


def moving(model: ResolvedModel | None) -> str:
    """The reference of a model that may come to mean another; empty = it cannot."""
    return model.reference if model and reference_of(model.reference).moves else ""


def has_moved(own: ResolvedModel, now: ResolvedModel) -> bool:
    """Whether a reference means another model than it did."""
    return (own.uri, own.digest) != (now.uri, now.digest)
