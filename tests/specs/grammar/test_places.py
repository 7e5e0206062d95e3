import itertools

import pytest

from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import Level
from ganglion.model.workload import Topology
from ganglion.specs.grammar.places import (
    PLACES,
    parse_level,
    parse_levels,
    parse_placement,
    print_placement,
)


@pytest.mark.parametrize(
    ("value", "topology"),
    [
        ("any", Topology()),
        ("rack", Topology(required=Level.RACK)),
        ("prefer_rack", Topology(preferred=Level.RACK)),
        ("prefer-rack", Topology(preferred=Level.RACK)),
        ("prefer: rack", Topology(preferred=Level.RACK)),
        ("nvlink", Topology(required=Level.NVLINK)),
        ({"prefer": "rack", "spread": "node"}, Topology(None, Level.RACK, Level.NODE)),
        ({"required": "block", "preferred": "rack"}, Topology(Level.BLOCK, Level.RACK)),
    ],
)
def test_placements_are_read(value: object, topology: Topology) -> None:
    assert parse_placement(value) == topology


@pytest.mark.parametrize(
    ("value", "problem", "hint"),
    [
        ("rak", "no topology level", "did you mean `rack`?"),
        ("gpu", "no topology level", ""),
        ({"requird": "rack"}, "unknown key", "did you mean `required`?"),
        ({"require": "rack", "required": "rack"}, "given twice", ""),
        ({"required": "node", "forbidden": "node"}, "cannot share", ""),
        ({"required": "rack", "forbidden": "zone"}, "cannot share", ""),
        ({"required": "rack", "prefer": "zone"}, "means nothing", "narrower"),
        ({"required": "x"}, "no topology level", ""),
        ([], "expected text", ""),
        (None, "expected text", ""),
    ],
)
def test_placements_that_make_no_sense_are_refused(value: object, problem: str, hint: str) -> None:
    with pytest.raises(FieldError, match=problem) as caught:
        parse_placement(value)
    assert hint in caught.value.hint


def test_every_consistent_placement_is_printed_so_that_it_parses_back() -> None:
    kept = 0
    for levels in itertools.product((None, *PLACES), repeat=3):
        topology = Topology(*levels)
        try:
            assert parse_placement(print_placement(topology)) == topology
        except FieldError:
            continue
        kept += 1
    assert kept > 100


def test_levels_have_the_names_of_several_tools() -> None:
    assert parse_level("host") is Level.NODE
    assert parse_level("NVLink") is Level.NVLINK


def test_levels_are_listed_widest_first() -> None:
    assert parse_levels(["zone", "rack"]) == (Level.ZONE, Level.RACK)
    with pytest.raises(FieldError, match="widest first") as caught:
        parse_levels(["rack", "zone"])
    assert caught.value.hint == "write `[zone, rack]`"
