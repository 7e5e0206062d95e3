"""The objects that files name, checked against one another and against the fleet."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from ganglion.model.errors import FieldError
from ganglion.model.fleet.price import Price, overlaps
from ganglion.model.policy import Policy
from ganglion.model.queue import CLUSTER_SIGN, Budget, Preemption, Queue
from ganglion.specs.desired.files import DesiredFiles, DesiredPart
from ganglion.specs.desired.items import (
    FleetItem,
    ItemKind,
    Json,
    PresentFleet,
    PriceKey,
    PriceStep,
    budget_item,
    policy_item,
    price_item,
    queue_item,
    role_item,
)
from ganglion.specs.desired.schema import BudgetFile, PriceFile, RoleFile
from ganglion.specs.grammar.money import print_price_hours
from ganglion.specs.grammar.times.instants import parse_instant
from ganglion.specs.policy.policy import policy_of
from ganglion.specs.policy.printing import policy_document, queue_document
from ganglion.specs.policy.queue_schema import QueueFile
from ganglion.specs.policy.queues import queues_of
from ganglion.specs.reading.mapping import Unread
from ganglion.specs.reading.yaml import Path, dotted
from ganglion.specs.wording import meant, noted, show

KEYS = {
    "policy": ItemKind.POLICY,
    "queues": ItemKind.QUEUE,
    "prices": ItemKind.PRICE,
    "budgets": ItemKind.BUDGET,
    "roles": ItemKind.ROLE,
}
"""Key of a file -> what it holds."""
RULES_ABOUT_OTHERS = ("lend_limit", "preemption", "timeshare", "kinds")
"""Keys of a queue that only who may change every queue can change."""


Entry = TypeVar("Entry", BudgetFile, RoleFile)


class DesiredFleet(Struct, frozen=True):
    """What files say a fleet should be.

    Attributes:
        items: in the order in which they are applied; queues follow their parents.
        kinds: sorts that some file has a key for; of others nothing is said.
    """

    items: tuple[FleetItem, ...]
    kinds: frozenset[ItemKind]


def desired(files: DesiredFiles, present: PresentFleet) -> DesiredFleet:
    """The objects that files name.

    Args:
        files: as they were read.
        present: the fleet that they are for; queues that they leave out stay in its tree.

    Raises:
        FieldError: all that is wrong with all files.
    """
    policy = _policy(files, present)
    queues = _queues(files, present, policy[0].preemption if policy[0] else Preemption())
    names = {vars(each).get("name", "") for _, _, each in files.entries("queues")}
    names |= {each.name for each in present.of(ItemKind.QUEUE)}
    names |= {str(each.document.get("parent", "")) for each in present.of(ItemKind.QUEUE)}
    if ItemKind.QUEUE not in present.hidden:
        _known_queues(files, names)
    items = [*policy[1], *queues, *_prices(files, present)]
    items += _once(files, "budgets", _budget)
    items += [each for each in _once(files, "roles", _role) if not _ended(each, present.now)]
    files.settle()
    return DesiredFleet(tuple(items), frozenset(KEYS[key] for key in files.lists if key in KEYS))


def _policy(files: DesiredFiles, present: PresentFleet) -> tuple[Policy | None, list[FleetItem]]:
    """The policy that holds in the end, and the object, if a file has settings."""
    found: list[DesiredPart] = [part for part in files.parts if part.settings]
    for other in found[1:]:
        first = next(iter(other.settings))
        problem = f"the policy is in {found[0].place()[0]} already"
        files.wrong(other.renaming.wrong(problem, (first,), "keep its settings in one file"))
    if not found:
        return present.policy, []
    part = found[0]
    try:
        policy = policy_of(part.file)
    except Unread:
        return present.policy, []
    item = policy_item(policy_document(policy), part.text)
    return policy, [item.at(part.place(next(iter(part.settings))))]


def _queues(files: DesiredFiles, present: PresentFleet, rules: Preemption) -> list[FleetItem]:
    """The queues of all files, parents first, as a tree with those that the fleet keeps."""
    own = list(files.entries("queues"))
    read: list[QueueFile] = [each for _, _, each in own]
    names = {vars(each).get("name", "") for each in read}
    kept = _kept(present, names)

    def wrong(problem: str, path: Path, hint: str) -> FieldError:
        at = path[1] if len(path) > 1 else None
        if not isinstance(at, int):
            return FieldError(problem, key=dotted(path), hint=hint)
        if at < len(own):
            part, place, _ = own[at]
            return part.renaming.wrong(problem, (*place, *path[2:]), hint)
        key = dotted(("queues", kept[at - len(own)].name, *path[2:]))
        return FieldError(problem, key=key, hint=hint)

    def build() -> tuple[Queue, ...]:
        return queues_of([*read, *kept], present.flavors, rules, wrong, [])

    problems: list[FieldError] = []
    try:
        found = noted(build, problems) or ()
    except Unread:
        found = ()
    for each in problems:
        files.wrong(each)
    places = {vars(each).get("name", ""): part.place(*path) for part, path, each in own}
    documents = (queue_document(each) for each in found if each.name in names)
    return [queue_item(_as_bounded(each, present)).at(places[each["name"]]) for each in documents]


def _as_bounded(document: Json, present: PresentFleet) -> Json:
    """What a file says of a queue, with the rules that a server keeps for the caller."""
    if not present.bounded:
        return document
    same = (each for each in present.of(ItemKind.QUEUE) if each.name == document["name"])
    now = next((each.document for each in same), {})
    return document | {
        key: now[key] for key in RULES_ABOUT_OTHERS if key in now and key not in document
    }


def _kept(present: PresentFleet, names: set[str]) -> list[QueueFile]:
    """Queues of the fleet that no file names, so that the tree is whole.

    Their quotas count against queues of files alone: what the fleet has already is not refused.
    """
    found: dict[str, QueueFile] = {}
    parents: dict[str, None] = {}
    for item in present.of(ItemKind.QUEUE):
        parent = str(item.document.get("parent", ""))
        parents[parent] = None
        if item.name in names:
            continue
        keys = ("name", "parent", "quota") if parent in names or not parent else ("name", "parent")
        some = {key: item.document[key] for key in keys if key in item.document}
        found[item.name] = QueueFile.model_validate(some)
    for parent in parents:  # of some a caller sees no more than the name
        if parent and parent not in names and parent not in found:
            found[parent] = QueueFile.model_validate({"name": parent})
    return list(found.values())


def _known_queues(files: DesiredFiles, names: set[str]) -> None:
    """Note budgets and roles of queues that are neither in files nor in the fleet.

    Whether a cluster has a queue is known to the server alone.
    """
    for key in ("budgets", "roles"):
        for part, path, each in files.entries(key):
            name = vars(each).get("queue", "").rpartition("/")[2]
            if name and name not in names and CLUSTER_SIGN not in name:
                hint = meant(name, names) or "list it under `queues`"
                problem = f"there is no queue {show(name)}"
                files.wrong(part.renaming.wrong(problem, (*path, "queue"), hint))


def _once(files: DesiredFiles, key: str, make: Callable[[Entry], FleetItem]) -> Iterator[FleetItem]:
    """The objects of a list; one that is named twice is wrong."""
    first: dict[str, str] = {}
    for part, path, each in files.entries(key):
        file, line = part.place(*path)
        try:
            item = make(each).at((file, line))
        except Unread:
            continue  # noted where it was read
        if item.name in first:
            problem = f"{item.kind} {item.name} is given twice, first at {first[item.name]}"
            files.wrong(part.renaming.wrong(problem, path, "keep one of them"))
            continue
        first[item.name] = f"{file}:{line}"
        yield item


def _budget(each: BudgetFile) -> FleetItem:
    queue = each.queue.rpartition("/")[2]
    return budget_item(
        Budget(queue, each.amount, each.zone, each.carry_over, each.warn, each.grace)
    )


def _role(each: RoleFile) -> FleetItem:
    queue = each.queue.rpartition("/")[2]
    return role_item(each.subject, each.role, queue, each.until, glass=each.break_glass)


def _ended(role: FleetItem, now: int) -> bool:
    """Whether a grant has ended by itself, so that it neither is nor should be."""
    until = role.document.get("until")
    return until is not None and parse_instant(until) <= now


class _PriceEntries(Struct):
    """Entries of one flavor, kind and hours, and where the first of them is written."""

    about: PriceKey
    place: tuple[str, int]
    steps: list[PriceStep]


def _prices(files: DesiredFiles, present: PresentFleet) -> list[FleetItem]:
    """Prices by flavor, kind and hours, each with its dates."""
    found: dict[tuple[str, str, str], _PriceEntries] = {}
    entries: list[tuple[DesiredPart, Path, PriceFile]] = [*files.entries("prices")]
    units = (vars(each).get("currency", "") for _, _, each in entries)
    zones = (
        vars(each).get("zone", "") for _, _, each in entries if any(vars(each).get("hours", ()))
    )
    usual = PriceKey(
        "",
        zone=present.zone or next(filter(None, zones), "UTC"),
        currency=present.currency or next(filter(None, units), ""),
    )
    dated: list[tuple[Price, DesiredPart, Path]] = []
    for part, path, each in entries:
        try:
            about, step = _price_key(each, usual), (each.since, each.price)
        except Unread:
            continue  # noted where it was read
        group = found.setdefault(
            (about.flavor, about.kind, about.hours), _PriceEntries(about, part.place(*path), [])
        )
        if problem := _against(group, about, step):
            files.wrong(part.renaming.wrong(problem, path, "keep one of them"))
        elif problem := _unlike(about, usual):
            hint = "all prices have one currency, and all hours of prices one time zone"
            files.wrong(part.renaming.wrong(problem, path, hint))
        group.steps.append(step)
        dated.append(
            (Price(each.flavor, each.since, each.price, each.kind, *each.hours), part, path)
        )
    _no_overlaps(files, dated)
    return [
        price_item(each.about, each.steps, present.now).at(each.place) for each in found.values()
    ]


def _unlike(about: PriceKey, usual: PriceKey) -> str:
    """In what a price differs from the others, and may not; empty = in nothing."""
    if about.currency != usual.currency:
        return f"prices are in {usual.currency}, not in {about.currency}"
    if about.hours and about.zone != usual.zone:
        return f"hours of prices are those of {usual.zone}, not of {about.zone}"
    return ""


def _no_overlaps(files: DesiredFiles, dated: Sequence[tuple[Price, DesiredPart, Path]]) -> None:
    """Note prices whose hours overlap while both hold: files say all dates of a price."""
    places = {id(price): (part, path) for price, part, path in dated}
    for one, other in overlaps([price for price, _, _ in dated]):
        part, path = places[id(other)]
        file, line = places[id(one)][0].place(*places[id(one)][1])
        hours = print_price_hours(one.start_min, one.end_min)
        problem = f"its hours overlap those of {file}:{line}, {hours}"
        hint = "end one of them, as `price: none`, where the other begins"
        files.wrong(part.renaming.wrong(problem, (*path, "hours"), hint))


def _price_key(each: PriceFile, usual: PriceKey) -> PriceKey:
    hours = print_price_hours(*each.hours)
    zone = (each.zone or usual.zone) if hours else ""
    return PriceKey(each.flavor, each.kind, hours, zone, each.currency or usual.currency)


def _against(group: _PriceEntries, about: PriceKey, step: PriceStep) -> str:
    """What an entry contradicts of those before it; empty = nothing."""
    if step[0] in dict(group.steps):
        return "the price of this date is given twice"
    if about.zone != group.about.zone:
        return f"its hours are those of {group.about.zone} above"
    if about.currency != group.about.currency:
        return f"its currency is {group.about.currency} above"
    return ""
