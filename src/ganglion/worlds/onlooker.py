"""Observers of whether a workspace is used, which every world offers."""

from typing import Protocol

from ganglion.lifecycle.workspaces.look import Look
from ganglion.lifecycle.workspaces.observations import Witness


class Onlooker(Protocol):
    """Looks at one attempt of a workspace, from a thread of its own; may wait for answers."""

    @property
    def required(self) -> frozenset[Witness]:
        """Sources that have to confirm before the workspace may be called idle; may grow."""

    def look(self) -> Look:
        """What can be seen now. One that cannot see returns a doubt; never raises."""

    def close(self) -> None:
        """Let go of connections."""
