"""Which devices of a node a pod gets."""

import pytest

from ganglion.engine.topology.devices import pick, room
from ganglion.model.fleet.levels import Level

ALL = range(8)
ONE_ISLAND = [("H100", 80, index // 4, 0) for index in ALL]
TWO_ISLANDS = [("H100", 80, index // 4, index // 4) for index in ALL]
PAIRS = [("A100", 40, 0, island) for island in (0, 1, 0, 1, 2, 2, 3, 3)]
"""NVLink bridges whose pairs are not neighbours by index."""
FREE = [1000] * 8


def busy(*indexes: int) -> list[int]:
    return [0 if index in indexes else 1000 for index in ALL]


CASES = {
    "a pair shares a bridge": (PAIRS, FREE, 2, None, (0, 2)),
    "the emptiest-but-enough island is taken": (TWO_ISLANDS, busy(4, 5), 2, None, (6, 7)),
    "an island is not split when one holds all": (TWO_ISLANDS, busy(0), 4, None, (4, 5, 6, 7)),
    "islands are joined when none holds all": (TWO_ISLANDS, busy(0), 5, None, (1, 4, 5, 6, 7)),
    "one NUMA node of an island is enough": (ONE_ISLAND, busy(0), 4, None, (4, 5, 6, 7)),
    "together keeps to one island": (TWO_ISLANDS, busy(0, 4), 4, Level.ISLAND, ()),
    "together may use a whole island": (ONE_ISLAND, busy(0, 4), 4, Level.ISLAND, (1, 2, 3, 5)),
    "together keeps to one NUMA node": (ONE_ISLAND, busy(0, 4), 4, Level.NUMA, ()),
    "a device in use is not whole": (ONE_ISLAND, [999] * 8, 1, None, ()),
}


@pytest.mark.parametrize(
    ("kinds", "free", "count", "together", "expected"), CASES.values(), ids=CASES
)
def test_the_closest_devices_are_picked(
    kinds: list, free: list[int], count: int, together: Level | None, expected: tuple[int, ...]
) -> None:
    assert pick(kinds, free, ALL, count, together) == expected


def test_only_usable_devices_are_picked() -> None:
    assert pick(ONE_ISLAND, FREE, (6, 7), 2, None) == (6, 7)
    assert pick(ONE_ISLAND, FREE, (7,), 2, None) == ()


ROOMS = {
    "whole devices": (ONE_ISLAND, busy(0), 2, [1000] * 8, None, 3),
    "whole devices per island": (TWO_ISLANDS, busy(0), 2, [1000] * 8, Level.ISLAND, 3),
    "shares per device": (ONE_ISLAND, [1000, 500, 300, 0, 0, 0, 0, 0], 1, [400] * 8, None, 3),
    "too small devices do not count": (ONE_ISLAND, FREE, 4, [1000] * 8, None, 2),
}


@pytest.mark.parametrize(
    ("kinds", "free", "count", "milli", "together", "expected"), ROOMS.values(), ids=ROOMS
)
def test_room_counts_whole_pods(
    kinds: list,
    free: list[int],
    count: int,
    milli: list[int],
    together: Level | None,
    expected: int,
) -> None:
    assert room(kinds, free, ALL, milli, count, together) == expected
