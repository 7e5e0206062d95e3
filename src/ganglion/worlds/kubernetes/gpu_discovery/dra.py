"""Devices of dynamic resource allocation: read and counted, and left to kube-scheduler."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from ganglion.worlds.kubernetes.types.dra import ResourceSlice, SliceDevice


class Published(Struct, frozen=True):
    """What drivers publish.

    Attributes:
        counts: node -> driver -> devices.
        attributes: node -> attribute, with its domain, -> value; those on which all devices of
            one driver on that node agree.
        troubles: pools of which a part is missing.
    """

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    troubles: tuple[str, ...] = ()


NOTHING = Published()
"""No driver publishes anything."""


def published(slices: Iterable[ResourceSlice]) -> Published:
    """Count devices by node and driver.

    Of every pool only the newest generation counts, and only once all its slices are there: a
    driver replaces them one by one.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seen: defaultdict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    pools = _newest(slices)
    for parts in pools.values():
        for node, driver, device in _devices(parts):
            counts[node][driver] += 1
            seen[node, driver].append(_attributes(driver, device))
    return Published(
        {node: dict(sorted(each.items())) for node, each in sorted(counts.items())},
        _common(seen),
        tuple(_incomplete(pools)),
    )


def told(counts: Mapping[str, int]) -> str:
    """Devices of one node in words, as `gpu.nvidia.com offers 8 devices`."""
    each = [f"{driver} offers {count} devices" for driver, count in sorted(counts.items())]
    return f"{', '.join(each)} by dynamic resource allocation, left to kube-scheduler"


_Pools = dict[tuple[str, str], list[ResourceSlice]]


def _newest(slices: Iterable[ResourceSlice]) -> _Pools:
    pools: _Pools = {}
    for each in sorted(slices, key=lambda part: part.metadata.name):
        key = each.spec.driver, each.spec.pool.name
        known = pools.get(key)
        newer = known is None or each.spec.pool.generation > known[0].spec.pool.generation
        if known is None or newer:
            pools[key] = [each]
        elif each.spec.pool.generation == known[0].spec.pool.generation:
            known.append(each)
    return dict(sorted(pools.items()))


def _is_complete(parts: list[ResourceSlice]) -> bool:
    return len(parts) == parts[0].spec.pool.resource_slice_count


def _incomplete(pools: _Pools) -> Iterator[str]:
    for (driver, pool), parts in pools.items():
        if not _is_complete(parts):
            expected = parts[0].spec.pool.resource_slice_count
            yield f"pool {pool} of {driver} has {len(parts)} of {expected} slices: not counted yet"


def _devices(parts: list[ResourceSlice]) -> Iterator[tuple[str, str, SliceDevice]]:
    """Node, driver and device of a complete pool; devices of no single node are left out."""
    if not _is_complete(parts):
        return
    for part in parts:
        for device in part.spec.devices or ():
            node = device.node_name or part.spec.node_name
            if node:
                yield node, part.spec.driver, device


def _attributes(driver: str, device: SliceDevice) -> dict[str, str]:
    """A device's attributes; names without domain belong to the driver."""
    return {
        (name if "/" in name else f"{driver}/{name}"): value.text
        for name, value in device.described.items()
        if value.text
    }


def _common(seen: Mapping[tuple[str, str], list[dict[str, str]]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for (node, _), each in sorted(seen.items()):
        shared = set(each[0].items()).intersection(*(other.items() for other in each[1:]))
        found.setdefault(node, {}).update(sorted(shared))
    return found
