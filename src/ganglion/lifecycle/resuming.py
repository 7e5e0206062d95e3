"""Where the next attempt of a gang may go on."""

from ganglion.model.events import CheckpointCommitted
from ganglion.model.plan import SavePoint

MOST = 8
"""Checkpoints that are remembered of a gang: the newest may be gone when it is needed."""


def remembered(known: tuple[SavePoint, ...], event: CheckpointCommitted) -> tuple[SavePoint, ...]:
    """The checkpoints of a gang, newest first, after another one was reported.

    One that says neither step nor path leaves it to the program to find it, and hides none
    that does. A path that is written again holds the newer state only.
    """
    if not event.step and not event.path:
        return known
    new = SavePoint(event.at, event.step, event.path, event.attempt)
    others = (each for each in known if not event.path or each.path != event.path)
    return (new, *others)[:MOST]
