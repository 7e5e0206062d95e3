"""Steps of a plan as requests, one object at a time."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from ganglion.model.errors import EnvironmentFault, Forbidden, GanglionError
from ganglion.model.queue import GRACE_MS, WARN_PERCENT
from ganglion.specs.desired.items import FleetItem, ItemKind, Json, PresentFleet
from ganglion.specs.desired.plan import WRITES, FleetAction, FleetStep, price_writes
from ganglion.specs.grammar.money import parse_money
from ganglion.specs.grammar.times.durations import parse_duration
from ganglion.specs.grammar.times.instants import parse_instant

if TYPE_CHECKING:
    from ganglion.client import Client

Call = Callable[[], object]


class FleetOutcome(Struct, frozen=True):
    """What came of a step.

    Attributes:
        step: the step.
        error: why it failed; None = it was taken.
    """

    step: FleetStep
    error: GanglionError | None = None


def carry_out(
    client: "Client", steps: Sequence[FleetStep], present: PresentFleet
) -> Iterator[FleetOutcome]:
    """Take steps, each by its own requests; one that fails stops no other.

    What fails is tried again after others have succeeded, as long as that helps: a quota can be
    raised only after that of the queue above. What the caller may not do is not tried again.

    Args:
        client: connected to the server that `present` was read from.
        steps: of a plan; those that write nothing are passed over.
        present: what the plan was made of.
    """
    left = [(step, list(_calls(client, step, present))) for step in steps if step.action in WRITES]
    while left:
        failed: list[tuple[FleetStep, list[Call], GanglionError]] = []
        for step, calls in left:
            error = _taken(calls)
            if error is None or isinstance(error, Forbidden | EnvironmentFault):
                yield FleetOutcome(step, error)
            else:
                failed.append((step, calls, error))
        if len(failed) == len(left):
            yield from (FleetOutcome(step, error) for step, _, error in failed)
            return
        left = [(step, calls) for step, calls, _ in failed]


def _taken(calls: list[Call]) -> GanglionError | None:
    """Make the calls that are left of a step; those that were answered are removed."""
    while calls:
        try:
            calls[0]()
        except GanglionError as error:
            return error
        calls.pop(0)
    return None


def _calls(client: "Client", step: FleetStep, present: PresentFleet) -> Iterator[Call]:
    item, deletes = step.item, step.action is FleetAction.DELETE
    match item.kind:
        case ItemKind.POLICY:
            tag = present.tags.get("", "")
            yield partial(client.set_policy, item.text, file=item.file, etag=tag)
        case ItemKind.QUEUE if deletes:
            yield partial(client.delete_queue, item.name)
        case ItemKind.QUEUE:
            rules = {key: value for key, value in item.document.items() if key != "name"}
            tag = present.tags.get(item.name, "")
            yield partial(client.set_queue, item.name, rules, etag=tag)
        case ItemKind.PRICE:
            yield from _prices(client, step, present.now)
        case ItemKind.BUDGET if deletes:
            yield partial(client.money.remove_budget, item.name)
        case ItemKind.BUDGET:
            yield partial(
                client.money.set_budget,
                item.name,
                parse_money(item.document["amount"]),
                zone=item.document["zone"],
                carry_over="carry_over" in item.document,
                warn=item.document.get("warn", WARN_PERCENT),
                grace_ms=_grace_ms(item.document),
            )
        case ItemKind.ROLE:
            yield _role(client, item, deletes=deletes)


def _grace_ms(document: Json) -> int:
    return parse_duration(document["grace"]) if "grace" in document else GRACE_MS


def _prices(client: "Client", step: FleetStep, now: int) -> Iterator[Call]:
    about = step.item.document
    for since, micro in price_writes(step, now):
        yield partial(
            client.money.set_price,
            about["flavor"],
            micro,
            since_ms=since,
            kind=about.get("kind", ""),
            hours=about.get("hours", ""),
            zone=about.get("zone", ""),
            currency=about["currency"],
        )


def _role(client: "Client", item: FleetItem, *, deletes: bool) -> Call:
    about = item.document
    whom = (about["subject"], about["role"], about.get("queue", ""))
    if deletes:
        return partial(client.access.revoke, *whom)
    until = parse_instant(about["until"]) if "until" in about else None
    return partial(client.access.grant, *whom, until, break_glass="break_glass" in about)
