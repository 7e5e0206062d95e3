"""Nodes and racks that are being emptied, as the server shows them."""

from msgspec import Struct


class LeaverView(Struct):
    """A gang on a node that drains.

    Attributes:
        gang: its id.
        at: when it leaves at the earliest, in ms.
        how: in words.
    """

    gang: str
    at: int = 0
    how: str = ""


class DrainView(Struct):
    """A node or domain that is being emptied.

    Attributes:
        what: the node or domain.
        nodes: names of the nodes.
        by: when what is still there is stopped, in ms.
        reason: for people.
        leavers: what has not left yet.
    """

    what: str
    nodes: tuple[str, ...] = ()
    by: int = 0
    reason: str = ""
    leavers: tuple[LeaverView, ...] = ()


class DrainPage(Struct):
    """Everything that drains, the first deadline first."""

    items: tuple[DrainView, ...] = ()
    next: str | None = None
