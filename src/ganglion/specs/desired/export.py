"""A fleet as files: the same fleet gives the same bytes."""

from ganglion.specs.desired.items import FleetItem, ItemKind, Json, PresentFleet
from ganglion.specs.policy.printing import yaml_text

NAMES = {
    ItemKind.POLICY: ("policy.yaml", ""),
    ItemKind.QUEUE: ("queues.yaml", "queues"),
    ItemKind.PRICE: ("prices.yaml", "prices"),
    ItemKind.BUDGET: ("budgets.yaml", "budgets"),
    ItemKind.ROLE: ("roles.yaml", "roles"),
}
"""Sort -> its file, and the key of its list; empty = the file is the object."""


def export(present: PresentFleet) -> dict[str, str]:
    """Name of a file -> its text, for every sort that could be read.

    Queues come parents first and then by name, prices by flavor, kind, hours and date.
    """
    found: dict[str, str] = {}
    for kind, (name, key) in NAMES.items():
        if kind in present.hidden:
            continue
        items = _ordered(present.of(kind))
        if kind is ItemKind.POLICY:
            found[name] = yaml_text(items[0].document)
        else:
            entries = [entry for each in items for entry in _entries(each)]
            found[name] = yaml_text({key: entries})
    return found


def _entries(item: FleetItem) -> list[Json]:
    if item.kind is not ItemKind.PRICE:
        return [item.document]
    document = dict(item.document)
    flavor, dated = document.pop("flavor"), document.pop("from")
    return [
        {"flavor": flavor, "price": price, "since": since} | document
        for since, price in dated.items()
    ]


def _ordered(items: tuple[FleetItem, ...]) -> list[FleetItem]:
    """Queues parents first, each family by name; all else by name."""
    parents = {
        each.name: str(each.document.get("parent", ""))
        for each in items
        if each.kind is ItemKind.QUEUE
    }

    def path(name: str) -> tuple[str, ...]:
        above = parents.get(name, "")
        return (*(path(above) if above in parents else ()), name)

    return sorted(items, key=lambda each: path(each.name) if parents else (each.name,))
