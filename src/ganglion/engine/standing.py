"""How queues compare when it is decided whose gang goes next."""

from typing import Protocol

from ganglion.engine.record import GangRecord

Rank = tuple[int, ...]
"""Smaller goes first; compared before the gang's priority where the rules say so."""


class Standing(Protocol):
    """Ranks the next gang of each queue against the next gangs of the others."""

    def rank(self, record: GangRecord) -> Rank:
        """The rank of a gang as things stand, its priority included, its age not."""
