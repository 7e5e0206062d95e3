"""Quantities of resources as the API writes them, added up by the checks of a scheduler.

Written apart from the code under test, so that both do not err alike.
"""

from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal

from tests.controlplane.manifests import Object

Amounts = dict[str, int]
"""Resource -> thousandths of a unit."""

_SUFFIXES = {
    "m": Decimal("0.001"),
    "": Decimal(1),
    **{name: Decimal(1000) ** n for n, name in enumerate("kMGTPE", 1)},
    **{f"{name}i": Decimal(1024) ** n for n, name in enumerate("KMGTPE", 1)},
}


def amounts(written: Mapping[str, str]) -> Amounts:
    """Read `{"cpu": "500m"}`."""
    return {name: _milli(text) for name, text in written.items()}


def requested(pod: Object) -> Amounts:
    """What the containers of a pod request together, and its place on the node."""
    total: Amounts = defaultdict(int, pods=1000)
    for container in pod["spec"]["containers"]:
        asked = container.get("resources", {}).get("requests", {})
        for name, amount in amounts(asked).items():
            total[name] += amount
    return total


def _milli(text: str) -> int:
    number = text.rstrip("mkKMGTPEi")
    return int(Decimal(number) * _SUFFIXES[text[len(number) :]] * 1000)
