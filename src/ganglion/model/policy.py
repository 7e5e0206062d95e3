"""Policy as data: the knobs of the engine, with safe defaults."""

from enum import StrEnum

from msgspec import Struct


class Order(StrEnum):
    """Who goes first among waiting gangs of equal priority."""

    FAIR = "fair"
    """Queues that use the smallest part of what they deserve first, then the oldest gang."""
    FIFO = "fifo"
    """The oldest gang first, whatever its queue."""
    SHORTEST = "shortest"
    """The shortest expected run time first."""
    SMALLEST = "smallest"
    """The smallest expected service (GPUs x expected run time) first."""


class Weighted(Struct, frozen=True, forbid_unknown_fields=True):
    """A Score plugin and how much its opinion counts."""

    name: str
    weight: int = 1


class Policy(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the engine decides.

    Attributes:
        order: who goes first among equals in priority.
        strict: whether a gang that cannot start keeps all later ones of its queue waiting.
        scores: Score plugins by entry point name, with weights.
        filters: Filter plugins that apply beside the built-in rules.
        permits: Permit plugins asked before every start.
        preempts: Preempt plugins asked before a victim is taken.
        tries: most domains in which a gang's placement is tried before it waits.
    """

    order: Order = Order.FAIR
    strict: bool = False
    scores: tuple[Weighted, ...] = (Weighted("ganglion"),)
    filters: tuple[str, ...] = ()
    permits: tuple[str, ...] = ()
    preempts: tuple[str, ...] = ()
    tries: int = 8
