"""What differs between files and a fleet, as steps that make the fleet what files say."""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from ganglion.specs.desired.items import FleetItem, ItemKind, PresentFleet, PriceStep, value_at
from ganglion.specs.desired.objects import DesiredFleet
from ganglion.specs.policy.printing import Change, changes


class FleetAction(StrEnum):
    """What becomes of an object."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"
    KEEP = "keep"
    """No file names it, and it stays; the step says why."""
    REFUSE = "refuse"
    """It cannot be compared; the step says why."""


WRITES = (FleetAction.CREATE, FleetAction.CHANGE, FleetAction.DELETE)


class FleetStep(Struct, frozen=True):
    """What becomes of one object that differs.

    Attributes:
        action: what.
        item: as files have it; of one that no file names: as the fleet has it.
        changes: key by key, with the value before and after.
        why: why it stays, or cannot be compared.
        before: as the fleet has it; None = it does not.
    """

    action: FleetAction
    item: FleetItem
    changes: tuple[Change, ...] = ()
    why: str = ""
    before: FleetItem | None = None


def plan(wanted: DesiredFleet, present: PresentFleet, *, prune: bool) -> list[FleetStep]:
    """The steps, in the order in which they are to be taken.

    Args:
        wanted: what files say.
        present: what there is.
        prune: whether what no file names is deleted; only of sorts that some file has a key for.
    """
    there = {each.key: each for each in present.items}
    steps = [step for item in wanted.items if (step := _towards(item, there, present))]
    named = {each.key for each in wanted.items}
    extra = [
        each
        for each in present.items
        if each.key not in named and each.kind in wanted.kinds and not each.over
    ]
    above = _above(wanted, present)
    return [*steps, *(_without(each, present, above, prune=prune) for each in reversed(extra))]


def _above(wanted: DesiredFleet, present: PresentFleet) -> frozenset[str]:
    """Queues that have some below them which files name."""
    parents = {
        each.name: str(each.document.get("parent", ""))
        for each in (*present.of(ItemKind.QUEUE), *wanted.items)
        if each.kind is ItemKind.QUEUE
    }
    found: set[str] = set()
    for item in wanted.items:
        name = parents.get(item.name, "") if item.kind is ItemKind.QUEUE else ""
        while name and name not in found:
            found.add(name)
            name = parents.get(name, "")
    return frozenset(found)


def _towards(
    item: FleetItem, there: dict[tuple[ItemKind, str], FleetItem], now: PresentFleet
) -> FleetStep | None:
    if item.kind in now.hidden:
        return FleetStep(FleetAction.REFUSE, item, why=now.hidden[item.kind])
    before = there.get(item.key)
    if before is None:
        return FleetStep(FleetAction.CREATE, item, tuple(changes({}, item.document)))
    found = tuple(changes(before.document, item.document))
    return FleetStep(FleetAction.CHANGE, item, found, before=before) if found else None


def _without(
    item: FleetItem, present: PresentFleet, above: frozenset[str], *, prune: bool
) -> FleetStep:
    """What becomes of an object that no file names."""
    why = "no file names it; --prune deletes it"
    if prune:
        why = _stays(item, present, above)
    if why:
        return FleetStep(FleetAction.KEEP, item, why=why, before=item)
    return FleetStep(FleetAction.DELETE, item, tuple(changes(item.document, {})), before=item)


def _stays(item: FleetItem, present: PresentFleet, above: frozenset[str]) -> str:
    """Why pruning leaves an object; empty = it does not."""
    busy = present.busy.get(item.name, 0) if item.kind is ItemKind.QUEUE else 0
    if busy:
        return f"it holds {busy} workload{'s' * (busy > 1)}"
    if item.kind is ItemKind.QUEUE and item.name in above:
        return "files name queues below it"
    if item.kind is ItemKind.ROLE and item.document["subject"] in present.subjects:
        return "it is your own grant"
    return "a policy is always in force" if item.kind is ItemKind.POLICY else ""


def price_writes(step: FleetStep, now: int) -> Iterator[PriceStep]:
    """The prices that have to be set, oldest first, so that exactly those of files hold.

    A price that is deleted ends now: what was charged by it stays.
    """
    steps = dict(step.before.steps) if step.before else {}
    if step.action is FleetAction.DELETE:
        ahead = [since for since, micro in steps.items() if since > now and micro is not None]
        yield from ((since, None) for since in (now, *ahead))
        return
    for since in sorted({*steps, *dict(step.item.steps)}):
        wanted = value_at(step.item.steps, since)
        if value_at(tuple(steps.items()), since) != wanted:
            steps[since] = wanted
            yield since, wanted
