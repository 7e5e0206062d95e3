"""A checkpoint: all that the server knows after an event, as a document of any version.

What is in it, and how it is read by later versions: docs/decisions/snapshots.md.
"""

import zlib
from typing import Any

from msgspec import Struct

from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.state.snapshot import saved, state_of
from ganglion.model.causes.former import cause_of
from ganglion.model.errors import GanglionError
from ganglion.model.events import PolicySet
from ganglion.server.recovery.documents import Unreadable, document, value_of
from ganglion.server.state.registry import LiveWorkload, Registry
from ganglion.server.state.transaction import Mind

FORMAT = 2
"""Grows with every change that versions before it would misread.

2: causes are values; before, they were sentences.
"""
_CAUSES = 2
"""The first format with causes that are values."""
LEVEL = 1
"""Of compression: the quickest."""

Memories = dict[str, Any]
"""What keepers remember, by their names."""


class Unusable(GanglionError):
    """A checkpoint that cannot be read by this version."""

    code = "checkpoint"


class LedgerCheckpoint(Struct, frozen=True):
    """A checkpoint that was read.

    Attributes:
        entries: the workloads that lived, by id.
        memories: of the keepers.
    """

    parts: dict[str, Any]
    entries: dict[str, LiveWorkload]
    memories: Memories

    @property
    def policy(self) -> PolicySet | None:
        """The policy that was in force; None = none was ever set."""
        return next(reversed(self.parts["book"]["policies"]), None)

    def mind(self, plugins: Plugins) -> Mind:
        """The state, with the plugins of the policy in force; to be called once.

        Raises:
            Unusable: it contradicts itself.
        """
        try:
            book, state = self.parts["book"], state_of(self.parts["state"], plugins)
            return Mind.of(state, Registry.of(book), book.get("waits", {}))
        # What is wrong inside a document raises almost anything.
        except Exception as error:
            raise Unusable(f"{type(error).__name__}: {error}") from error


def written(mind: Mind, memories: Memories) -> bytes:
    """Make a checkpoint of a state between two turns."""
    parts = {
        "format": FORMAT,
        "state": saved(mind.state),
        "book": mind.book.parts(),
        "entries": mind.book.entries,
        "memories": memories,
    }
    return zlib.compress(document(parts), LEVEL)


def read(body: bytes) -> LedgerCheckpoint:
    """Read a checkpoint.

    Raises:
        Unusable: it is damaged, or of a later version.
    """
    try:
        parts = value_of(zlib.decompress(body))
        if parts["format"] > FORMAT:
            raise Unusable(f"format {parts['format']} is of a later version")
        if parts["format"] < _CAUSES:
            _upgrade(parts["state"]["gangs"])
        return LedgerCheckpoint(parts, parts["entries"], parts["memories"])
    except (zlib.error, Unreadable, KeyError, TypeError, AttributeError) as error:
        raise Unusable(f"{type(error).__name__}: {error}") from error


def _upgrade(gangs: list[dict[str, Any]]) -> None:
    """Make causes of the sentences in records of gangs."""
    for fields in gangs:
        for name in fields.keys() & {"cause", "held_for"}:
            fields[name] = cause_of(fields[name])
