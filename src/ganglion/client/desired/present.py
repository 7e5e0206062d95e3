"""What a fleet is now, in the words of files, as far as the caller may see it."""

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ganglion.model.errors import Forbidden
from ganglion.model.policy import Policy
from ganglion.model.queue import Budget
from ganglion.specs.desired.items import (
    FleetItem,
    ItemKind,
    PresentFleet,
    PriceKey,
    PriceStep,
    budget_item,
    policy_item,
    price_item,
    queue_item,
    role_item,
)
from ganglion.specs.policy.policy import parse_policy

if TYPE_CHECKING:
    from ganglion.client import Client


def present(client: "Client", now: int) -> PresentFleet:
    """Read the objects of a fleet.

    Args:
        client: connected to its server.
        now: the time in ms.

    Raises:
        GanglionError: the server answers something else than that the caller may not see it.
    """
    reading = _Reading(client, now)
    found: list[FleetItem] = []
    hidden: dict[ItemKind, str] = {}
    for kind, read in reading.readers():
        try:
            found += read()
        except Forbidden as error:
            hidden[kind] = error.message
    me = client.access.whoami()
    return PresentFleet(
        tuple(found),
        hidden,
        reading.policy,
        reading.flavors(),
        reading.busy,
        frozenset((f"user:{me.user}", *(f"group:{each}" for each in me.groups))),
        reading.tags,
        reading.currency,
        reading.zone,
        not me.every_queue,
        now,
    )


class _Reading:
    """Gathers what the requests say beside the objects themselves."""

    def __init__(self, client: "Client", now: int) -> None:
        self.client = client
        self.now = now
        self.policy: Policy | None = None
        self.busy: dict[str, int] = {}
        self.tags: dict[str, str] = {}
        self.currency = self.zone = ""

    def readers(self) -> Iterable[tuple[ItemKind, Callable[[], list[FleetItem]]]]:
        return (
            (ItemKind.POLICY, self.policies),
            (ItemKind.QUEUE, self.queues),
            (ItemKind.PRICE, self.prices),
            (ItemKind.BUDGET, self.budgets),
            (ItemKind.ROLE, self.roles),
        )

    def policies(self) -> list[FleetItem]:
        found = self.client.policy()
        item = policy_item(found.document)
        self.policy = parse_policy(json.dumps(item.document)).policy
        self.tags[""] = found.etag
        return [item]

    def queues(self) -> list[FleetItem]:
        found = self.client.queues()
        self.busy = {each.name: each.running + each.waiting for each in found}
        self.tags |= {each.name: each.etag for each in found}
        return [queue_item(each.document) for each in found]

    def prices(self) -> list[FleetItem]:
        page = self.client.money.price_history()
        self.currency, self.zone = page.currency, page.zone
        steps: dict[tuple[str, str, str], list[PriceStep]] = {}
        for each in page.items:
            key = (each.flavor, each.kind, each.hours)
            steps.setdefault(key, []).append((each.since, each.micro))
        made = (
            price_item(PriceKey(*key, page.zone, page.currency), dated, self.now)
            for key, dated in steps.items()
        )
        return [each for each in made if each.document["from"]]

    def budgets(self) -> list[FleetItem]:
        return [
            budget_item(
                Budget(
                    *(each.queue, each.micro, each.zone, each.carry_over),
                    warn=each.warn,
                    grace_ms=each.grace_ms,
                )
            )
            for each in self.client.money.budgets().items
        ]

    def roles(self) -> list[FleetItem]:
        return [
            role_item(each.subject, each.role, each.queue, each.until, glass=each.break_glass)
            for each in self.client.access.roles()
            if each.by  # others are the owner's of the server, and no grants
        ]

    def flavors(self) -> tuple[str, ...]:
        """Flavors of the nodes; none where the caller may not see nodes."""
        try:
            found = self.client.nodes()
        except Forbidden:
            return ()
        return tuple(sorted({each.flavor for each in found if each.flavor and not each.cluster}))
