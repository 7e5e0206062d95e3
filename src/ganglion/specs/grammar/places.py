"""Levels of the topology, and where pods may lie relative to each other."""

import re

from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import DEPTH, Level
from ganglion.model.workload import Topology
from ganglion.specs.grammar.scalars import parse_text
from ganglion.specs.wording import listed, meant, show

LEVEL_ALIASES = {
    "nvlink": Level.NVLINK,
    "nvlink_domain": Level.NVLINK,
    "host": Level.NODE,
    "socket": Level.NUMA,
    "superblock": Level.BLOCK,
    "datacenter": Level.ZONE,
}
PLACES: tuple[Level, ...] = tuple(level for level in Level if level not in (Level.FLEET, Level.GPU))
"""Levels that pods can be asked to share."""

RULES = {
    "required": "required",
    "require": "required",
    "level": "required",
    "preferred": "preferred",
    "prefer": "preferred",
    "forbidden": "forbidden",
    "forbid": "forbidden",
    "spread": "forbidden",
}
"""Keys of a placement mapping, each with its rule."""

_PREFER = re.compile(r"prefer(?:red)?[ _:-]+(.+)")


def parse_level(value: object) -> Level:
    """Read the name of a level, `cluster` to `island`."""
    word = parse_text(value).strip().lower()
    names = {level.value: level for level in PLACES} | LEVEL_ALIASES
    if word not in names:
        hint = meant(word, names) or f"use {listed(level.value for level in PLACES)}"
        raise FieldError(f"there is no topology level {show(value)}", hint=hint)
    return names[word]


def parse_levels(value: object) -> tuple[Level, ...]:
    """Read a list of levels, widest first."""
    levels = tuple(parse_level(each) for each in (value if isinstance(value, list) else [value]))
    ordered = sorted(set(levels), key=lambda level: DEPTH[level])
    if list(levels) != ordered:
        hint = f"write `[{', '.join(ordered)}]`"
        raise FieldError("levels are listed once each, widest first", hint=hint)
    return levels


def parse_placement(value: object) -> Topology:
    """Read `any`, `rack`, `prefer_rack` or a mapping of required, preferred, forbidden."""
    if isinstance(value, dict):
        return _consistent(_rules(value))
    word = parse_text(value, "write `rack`, `prefer_rack` or `any`").strip().lower()
    if word == "any":
        return Topology()
    if match := _PREFER.fullmatch(word):
        return Topology(preferred=parse_level(match[1]))
    return Topology(required=parse_level(word))


def print_placement(topology: Topology) -> str | dict[str, str]:
    """Print in the shortest form that parses back to the same."""
    levels = {
        "required": topology.required,
        "preferred": topology.preferred,
        "forbidden": topology.forbidden,
    }
    rules = {rule: level.value for rule, level in levels.items() if level is not None}
    if rules.keys() == {"required"}:
        return rules["required"]
    if rules.keys() == {"preferred"}:
        return f"prefer_{rules['preferred']}"
    return rules or "any"


def _rules(given: dict[str, object]) -> Topology:
    found: dict[str, Level] = {}
    for key, value in given.items():
        if key not in RULES:
            hint = meant(str(key), RULES) or "use required, preferred and forbidden"
            raise FieldError(f"unknown key {show(key)}", key=str(key), hint=hint)
        if RULES[key] in found:
            raise FieldError(f"`{RULES[key]}` is given twice", key=key)
        try:
            found[RULES[key]] = parse_level(value)
        except FieldError as error:
            raise FieldError(error.problem, key=key, hint=error.hint) from None
    return Topology(**found)


def _consistent(topology: Topology) -> Topology:
    required, preferred, forbidden = topology.required, topology.preferred, topology.forbidden
    if required and preferred and DEPTH[preferred] < DEPTH[required]:
        raise FieldError(
            f"preferring {preferred} means nothing where {required} is required",
            hint="prefer a narrower level than the required one",
        )
    for rule in (required, preferred):
        if rule and forbidden and DEPTH[forbidden] <= DEPTH[rule]:
            raise FieldError(
                f"pods cannot share one {rule} while no two may share one {forbidden}",
                hint="forbid a narrower level, as `node`",
            )
    return topology
