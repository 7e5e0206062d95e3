"""Levels of the one topology tree, from the whole fleet down to a device."""

from collections.abc import Mapping
from enum import StrEnum


class Level(StrEnum):
    """A level of the tree. Levels that a cluster lacks are absent from its tree."""

    FLEET = "fleet"
    CLUSTER = "cluster"
    REGION = "region"
    ZONE = "zone"
    BLOCK = "block"
    RACK = "rack"
    NVLINK = "nvlink-domain"
    NODE = "node"
    NUMA = "numa"
    ISLAND = "island"
    GPU = "gpu"


LEVELS: tuple[Level, ...] = tuple(Level)
"""All levels, widest first."""

DEPTH: Mapping[Level, int] = {level: depth for depth, level in enumerate(LEVELS)}
"""How deep a level lies; a larger number is a narrower domain."""

ABOVE_NODE: tuple[Level, ...] = LEVELS[1 : DEPTH[Level.NODE]]
"""The levels that group nodes, widest first; the fleet itself needs no name."""

INSIDE_NODE: tuple[Level, ...] = (Level.NUMA, Level.ISLAND, Level.GPU)
"""The levels that divide one node's devices."""
