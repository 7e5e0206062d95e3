"""What is known about the size of a group, in one form for every system."""

from msgspec import Struct

from ganglion.worlds.kubernetes.types.meta import Meta


class GroupTerms(Struct, frozen=True):
    """What is known about the size of a group.

    Attributes:
        total: pods it has when it is complete; 0 = as many as there are.
        least: fewest that may start; 0 = all.
        sets: fewest by set.
        is_gang: whether its pods need each other at all.
        said: what its PodGroup says in fields of its own, as annotations.
        levels: set -> annotations that constrain it.
        parts: PodGroups that start together with each other, by name; empty = it is one group.
        lacking: why it is not complete, where its size alone does not say it.
    """

    total: int = 0
    least: int = 0
    sets: dict[str, int] = {}
    is_gang: bool = True
    said: Meta = Meta()
    levels: dict[str, Meta] = {}
    parts: "dict[str, GroupTerms]" = {}
    lacking: str = ""
