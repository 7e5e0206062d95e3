"""Pools and single nodes of a cluster file into nodes, with their topology checked."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from msgspec import structs

from ganglion.model.causes import CordonKind
from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import ABOVE_NODE, DEPTH, Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.resources import WHOLE
from ganglion.specs.cluster.schema import MachineShape, Pool, Single, Topped
from ganglion.specs.reading.mapping import as_read
from ganglion.specs.reading.validate import Wrong
from ganglion.specs.reading.yaml import Path
from ganglion.specs.wording import first_of

UNNAMED = "GPU"
"""Type of GPUs whose model the file does not name."""

PER = {
    Level.ZONE: "per_zone",
    Level.BLOCK: "per_block",
    Level.RACK: "per_rack",
    Level.NVLINK: "per_nvlink_domain",
}
_LETTERS = {Level.ZONE: "z", Level.BLOCK: "b", Level.RACK: "r", Level.NVLINK: "d"}
MAX_NODES = 200_000

Domains = dict[Level, str]
Around = dict[tuple[Level, str], Domains]
"""Domain -> the wider domains that it lies in."""
Problems = Iterator[FieldError]


class NodeLocation(NamedTuple):
    """Where a node lies.

    Attributes:
        name: of the node.
        domains: those that its description names.
        path: of its description.
    """

    name: str
    domains: Domains
    path: Path


def nodes_of(file: Topped, wrong: Wrong) -> tuple[Node, ...]:
    """Build all nodes.

    Args:
        file: the file, as far as it can be read.
        wrong: makes an error of problem, canonical path and hint.

    Raises:
        FieldError: names occur twice, pools do not divide, domains overlap; all that is wrong.
        Unread: what a node consists of cannot be read.
    """
    specs: dict[Path, Pool | Single] = {
        (key, at): each
        for key in ("pools", "nodes")
        for at, each in enumerate(vars(file).get(key, ()))
    }
    if sum(vars(each).get("nodes", 1) for each in specs.values()) > MAX_NODES:
        raise wrong(f"together more than {MAX_NODES:,} nodes", ("pools",), "")
    problems = [
        problem
        for path, each in specs.items()
        for rule in (_divisible, _whole, _parts)
        for problem in as_read(rule(each, path, wrong))
    ]
    spots = [spot for path, each in specs.items() for spot in _spots(each, path)]
    problems += _named_twice(spots, wrong)
    problems += _undeclared(spots, vars(file).get("levels", ()), wrong)
    around: Around = {}
    problems += _overlaps(spots, around, wrong)
    if problems:
        raise first_of(problems)
    read: list[Pool | Single] = [*file.pools, *file.nodes]
    machines = {path: _machine(each) for path, each in zip(specs, read, strict=True)}
    return tuple(
        structs.replace(machines[path], name=name, domains=_filled(domains, around))
        for name, domains, path in spots
    )


def _machine(spec: Pool | Single) -> Node:
    """Build a node of a description; its name and domains follow."""
    return Node(
        name=spec.name,
        cpu_milli=spec.cpus,
        memory_mib=spec.memory,
        devices=_devices(spec),
        labels=spec.labels,
        flavor=spec.flavor,
        cpu_flavor=spec.cpu_flavor,
        max_pods=spec.max_pods,
        cordoned=spec.cordoned,
        cordoned_by=CordonKind.PERSON if spec.cordoned else None,
        holds=spec.holds,
    )


def _devices(spec: MachineShape) -> tuple[Device, ...]:
    count, types = spec.gpus.count, spec.gpus.types
    return tuple(
        Device(
            type=types[0] if types else UNNAMED,
            memory_mib=spec.gpus.min_memory_mib,
            numa=place * spec.numa // count,
            island=place * spec.islands // count,
        )
        for place in range(count)
    )


def _whole(spec: MachineShape, path: Path, wrong: Wrong) -> Problems:
    gpus = spec.gpus
    if gpus.milli != WHOLE or gpus.share_mib or len(gpus.types) > 1:
        hint = "as `H100:80GB:8`"
        yield wrong("a node has whole GPUs of one model", (*path, "gpus"), hint)


def _parts(spec: MachineShape, path: Path, wrong: Wrong) -> Problems:
    count = spec.gpus.count
    for key in ("islands", "numa"):
        parts = vars(spec).get(key, 1)
        if count % parts:
            hint = "choose a divisor of the number of GPUs"
            yield wrong(f"{count} GPUs do not divide into {parts} parts", (*path, key), hint)


def _divisible(pool: MachineShape, path: Path, wrong: Wrong) -> Problems:
    wide = 0
    for level, key in PER.items() if isinstance(pool, Pool) else ():
        size = getattr(pool, key)
        named = _named(pool, level) or (level is Level.RACK and vars(pool).get("racks"))
        if size and named:
            yield wrong(f"the {level} is given twice", (*path, key), "keep one of the two")
        if size and wide % size:
            hint = f"a {level} cannot lie in two wider domains"
            yield wrong(f"{size} does not divide {wide}, the size around it", (*path, key), hint)
        wide = size or wide


def _spots(spec: Pool | Single, path: Path) -> Iterator[NodeLocation]:
    """Where the nodes of a description lie, as far as it can be read."""
    domains = {level: named for level in ABOVE_NODE if (named := _named(spec, level))}
    name = vars(spec).get("name")
    if name is None:
        return
    if isinstance(spec, Single):
        yield NodeLocation(name, domains, path)
        return
    count = vars(spec).get("nodes", 0)
    width = len(str(count - 1))
    for number in range(count):
        yield NodeLocation(
            f"{name}-{number:0{width}}", domains | _shared(spec, number, count), path
        )


def _shared(pool: Pool, number: int, count: int) -> Domains:
    """The domains that a node of a pool shares with those beside it."""
    read = vars(pool)
    sizes = {level: read.get(key, 0) for level, key in PER.items()}
    found = {
        level: f"{pool.name}-{_LETTERS[level]}{number // size}"
        for level, size in sizes.items()
        if size
    }
    if racks := read.get("racks"):
        found[Level.RACK] = racks[number * len(racks) // count]
    return found


def _named(spec: MachineShape, level: Level) -> str:
    """The domain of a level that a description names; empty = none that can be read."""
    return str(vars(spec).get(level.value.replace("-", "_"), ""))


def _named_twice(spots: Sequence[NodeLocation], wrong: Wrong) -> Problems:
    seen: set[str] = set()
    told: set[Path] = set()
    for name, _, path in spots:
        if name in seen and path not in told:
            told.add(path)
            yield wrong(f"the node `{name}` exists already", (*path, "name"), "")
        seen.add(name)


def _undeclared(spots: Sequence[NodeLocation], levels: Collection[Level], wrong: Wrong) -> Problems:
    told: set[tuple[Path, Level]] = set()
    for node, domains, path in spots if levels else ():
        for level in domains:
            if level not in levels and (path, level) not in told:
                told.add((path, level))
                hint = f"add `{level}` to `levels`, or leave it out here"
                yield wrong(f"`{node}` names a {level}, which `levels` lacks", path, hint)


def _overlaps(spots: Sequence[NodeLocation], around: Around, wrong: Wrong) -> Problems:
    """Yield domains that lie in two wider ones, once for each description; fill `around`."""
    told: set[Path] = set()
    for node, domains, path in spots:
        for level, name in domains.items():
            known = around.setdefault((level, name), {})
            for wider, outer in domains.items():
                if DEPTH[wider] >= DEPTH[level] or known.setdefault(wider, outer) == outer:
                    continue
                if path not in told:
                    told.add(path)
                    both = f"{known[wider]} and {outer}"
                    hint = f"{level} names are unique in the fleet; check `{node}`"
                    yield wrong(f"{level} {name} lies under two {wider}s: {both}", path, hint)


def _filled(domains: Domains, around: Around) -> Domains:
    """The domains of a node, with those that it left out and others in the same place name."""
    found: Domains = dict(domains)
    for level, name in domains.items():
        found = {**around[level, name], **found}
    return {level: found[level] for level in ABOVE_NODE if level in found}
