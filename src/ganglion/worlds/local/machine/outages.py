"""Nodes that are taken away on purpose: a way to rehearse the loss of a node.

A file `outages/NAME` in the home makes the node of that name lost, with everything that runs on
it, until the file is removed. Nodes with real GPUs are not touched.
"""

from collections.abc import Iterable
from pathlib import Path

from ganglion.model.fleet.node import Node
from ganglion.worlds.local.machine import host

FOLDER = "outages"


class Outages:
    """Which nodes are away.

    Args:
        home: Ganglion's home directory.
        nodes: all nodes.
    """

    def __init__(self, home: Path, nodes: Iterable[Node]) -> None:
        self._folder = home / FOLDER
        self._names = {
            node.name for node in nodes if not any(device.uuid for device in node.devices)
        }
        self.away: set[str] = set()

    def look(self) -> tuple[set[str], set[str]]:
        """Nodes that went away and nodes that came back since the last look."""
        try:
            found = set(host.names(self._folder)) & self._names
        except OSError:  # not readable now: no node went away or came back
            return set(), set()
        gone, back = found - self.away, self.away - found
        self.away = found
        return gone, back


def take_away(home: Path, node: str) -> None:
    """Have a node lost.

    Raises:
        OSError: the home cannot be written.
    """
    host.make_folder(home / FOLDER)
    host.replace_whole(home / FOLDER / node, b"")


def bring_back(home: Path, node: str) -> None:
    """Have a node come back.

    Raises:
        OSError: the home cannot be written.
    """
    host.remove(home / FOLDER / node)
