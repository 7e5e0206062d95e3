"""Pretend nodes that are taken away: a way to rehearse the loss of a node.

A file `outages/NAME` in the home makes the pretend node of that name lost, with everything that
runs on it, until the file is removed. Real nodes are not touched.
"""

from collections.abc import Iterable
from pathlib import Path

from ganglion.model.node import Node
from ganglion.worlds.local.discover import PRETEND

FOLDER = "outages"


class Outages:
    """Which pretend nodes are away.

    Args:
        home: Ganglion's home directory.
        nodes: all nodes.
    """

    def __init__(self, home: Path, nodes: Iterable[Node]) -> None:
        self._folder = home / FOLDER
        self._names = {node.name for node in nodes if node.labels.get(PRETEND)}
        self.away: set[str] = set()

    def look(self) -> tuple[set[str], set[str]]:
        """Nodes that went away and nodes that came back since the last look."""
        try:
            found = {path.name for path in self._folder.iterdir()} & self._names
        except OSError:
            found = set()
        gone, back = found - self.away, self.away - found
        self.away = found
        return gone, back


def take_away(home: Path, node: str) -> None:
    """Have a pretend node lost.

    Raises:
        OSError: the home cannot be written.
    """
    (home / FOLDER).mkdir(mode=0o700, exist_ok=True)
    (home / FOLDER / node).touch(mode=0o600)


def bring_back(home: Path, node: str) -> None:
    """Have a pretend node come back.

    Raises:
        OSError: the home cannot be written.
    """
    (home / FOLDER / node).unlink(missing_ok=True)
