"""Pools and single nodes of a cluster file into nodes, with their topology checked."""

from collections.abc import Callable, Iterator

from msgspec import structs

from ganglion.files.cluster_schema import Machine, Pool, Single, Topped
from ganglion.files.yaml import Path
from ganglion.model.errors import FieldError
from ganglion.model.levels import ABOVE_NODE, DEPTH, Level
from ganglion.model.node import Device, Node
from ganglion.model.resources import WHOLE

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

Wrong = Callable[[str, Path, str], FieldError]
Domains = dict[Level, str]


def nodes_of(file: Topped, wrong: Wrong) -> tuple[Node, ...]:
    """Build all nodes.

    Args:
        file: the validated file.
        wrong: makes an error of problem, canonical path and hint.

    Raises:
        FieldError: a name occurs twice, a pool does not divide, or domains overlap.
    """
    if sum(pool.nodes for pool in file.pools) + len(file.nodes) > MAX_NODES:
        raise wrong(f"together more than {MAX_NODES:,} nodes", ("pools",), "")
    made: dict[str, tuple[Node, Path]] = {}
    for node, path in _all(file, wrong):
        if node.name in made:
            raise wrong(f"the node `{node.name}` exists already", (*path, "name"), "")
        _declared(file, node, path, wrong)
        made[node.name] = (node, path)
    return _nested(list(made.values()), wrong)


def _all(file: Topped, wrong: Wrong) -> Iterator[tuple[Node, Path]]:
    for at, pool in enumerate(file.pools):
        path: Path = ("pools", at)
        _divisible(pool, path, wrong)
        width = len(str(pool.nodes - 1))
        machine = _machine(pool, path, wrong)
        for number in range(pool.nodes):
            name = f"{pool.name}-{number:0{width}}"
            yield machine(name, _pool_domains(pool, number)), path
    for at, single in enumerate(file.nodes):
        path = ("nodes", at)
        yield _machine(single, path, wrong)(single.name, _domains(single)), path


def _machine(spec: Pool | Single, path: Path, wrong: Wrong) -> Callable[[str, Domains], Node]:
    devices = _devices(spec, path, wrong)

    def node(name: str, domains: Domains) -> Node:
        return Node(
            name=name,
            cpu_milli=spec.cpus,
            memory_mib=spec.memory,
            devices=devices,
            domains=domains,
            labels=spec.labels,
            flavor=spec.flavor,
            cpu_flavor=spec.cpu_flavor,
            max_pods=spec.max_pods,
            cordoned=spec.cordoned,
        )

    return node


def _devices(spec: Machine, path: Path, wrong: Wrong) -> tuple[Device, ...]:
    gpus, count = spec.gpus, spec.gpus.count
    if gpus.milli != WHOLE or gpus.share_mib or len(gpus.types) > 1:
        hint = "as `H100:80GB:8`"
        raise wrong("a node has whole GPUs of one model", (*path, "gpus"), hint)
    for key, parts in (("islands", spec.islands), ("numa", spec.numa)):
        if count % parts:
            hint = "choose a divisor of the number of GPUs"
            raise wrong(f"{count} GPUs do not divide into {parts} parts", (*path, key), hint)
    model = gpus.types[0] if gpus.types else UNNAMED
    return tuple(
        Device(
            type=model,
            memory_mib=gpus.min_memory_mib,
            numa=place * spec.numa // count,
            island=place * spec.islands // count,
        )
        for place in range(count)
    )


def _domains(spec: Machine) -> Domains:
    named = {level: getattr(spec, level.value.replace("-", "_")) for level in ABOVE_NODE}
    return {level: name for level, name in named.items() if name}


def _pool_domains(pool: Pool, number: int) -> Domains:
    found = _domains(pool)
    for level, key in PER.items():
        size = getattr(pool, key)
        if size:
            found[level] = f"{pool.name}-{_LETTERS[level]}{number // size}"
    if pool.racks:
        found[Level.RACK] = pool.racks[number * len(pool.racks) // pool.nodes]
    return {level: found[level] for level in ABOVE_NODE if level in found}


def _divisible(pool: Pool, path: Path, wrong: Wrong) -> None:
    wide = 0
    for level, key in PER.items():
        size = getattr(pool, key)
        named = getattr(pool, level.value.replace("-", "_")) or (level is Level.RACK and pool.racks)
        if size and named:
            raise wrong(f"the {level} is given twice", (*path, key), "keep one of the two")
        if size and wide % size:
            hint = f"a {level} cannot lie in two wider domains"
            raise wrong(f"{size} does not divide {wide}, the size around it", (*path, key), hint)
        wide = size or wide


def _declared(file: Topped, node: Node, path: Path, wrong: Wrong) -> None:
    if not file.levels:
        return
    for level in node.domains:
        if level not in file.levels:
            hint = f"add `{level}` to `levels`, or leave it out here"
            raise wrong(f"`{node.name}` names a {level}, which `levels` lacks", path, hint)


def _nested(made: list[tuple[Node, Path]], wrong: Wrong) -> tuple[Node, ...]:
    """Check that every domain lies in one wider domain, and fill in what a node left out."""
    around: dict[tuple[Level, str], Domains] = {}
    for node, path in made:
        for level, name in node.domains.items():
            known = around.setdefault((level, name), {})
            for wider, outer in node.domains.items():
                if DEPTH[wider] >= DEPTH[level]:
                    continue
                if known.setdefault(wider, outer) != outer:
                    both = f"{known[wider]} and {outer}"
                    hint = f"{level} names are unique in the fleet; check `{node.name}`"
                    raise wrong(f"{level} {name} lies under two {wider}s: {both}", path, hint)
    return tuple(_filled(node, around) for node, _ in made)


def _filled(node: Node, around: dict[tuple[Level, str], Domains]) -> Node:
    found: Domains = dict(node.domains)
    for level, name in node.domains.items():
        found = {**around[level, name], **found}
    if found.keys() == node.domains.keys():
        return node
    ordered = {level: found[level] for level in ABOVE_NODE if level in found}
    return structs.replace(node, domains=ordered)
