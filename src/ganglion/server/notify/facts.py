"""What notices say, and to whom they go."""

from collections.abc import Iterator
from datetime import UTC, datetime

from ganglion.ledger.records import Filed
from ganglion.model.behaviour import Notify
from ganglion.model.events import (
    BudgetDenied,
    BudgetRaised,
    BudgetRequested,
    GangEnded,
    GangStarted,
    GlassBroken,
)
from ganglion.server.notify.notices import Notice
from ganglion.specs.grammar.money import cut_money


def facts_of_end(kind: str, event: GangStarted | GangEnded, filed: Filed) -> dict[str, str]:
    """The content of a notice that a gang started or ended."""
    over = kind in ("end", "failure")
    code, said = (event.exit_code, event.message) if isinstance(event, GangEnded) else (None, "")
    return {
        "JOB_ID": filed.id,
        "NAME": filed.name,
        "GANG": event.gang,
        "QUEUE": filed.workload.queue,
        "USER": filed.workload.user,
        "STATE": filed.state if over else "",
        "EXIT_CODE": "" if code is None else str(code),
        "MESSAGE": said,
    }


def facts_of_glass(event: GlassBroken) -> dict[str, str]:
    """The content of a notice of broken glass."""
    until = datetime.fromtimestamp(event.until_ms / 1000, UTC)
    return {
        "USER": event.user,
        "ROLE": event.role,
        "QUEUE": event.queue,
        "UNTIL": f"{until:%Y-%m-%d %H:%M:%S} UTC",
        "MESSAGE": event.reason,
    }


def facts_of_request(event: BudgetRequested | BudgetRaised | BudgetDenied) -> dict[str, str]:
    """The content of a notice that a request was made, approved or denied."""
    match event:
        case BudgetRequested():
            said = f"{event.user} asks for {cut_money(event.micro)} more until the month is over"
        case BudgetRaised():
            said = f"{event.user} approved {cut_money(event.micro)} more until the month is over"
        case BudgetDenied():
            said = f"{event.user} denied the request"
    message = f"{said}: {event.reason}" if event.reason else said
    facts = {"QUEUE": event.queue, "USER": event.user, "REQUEST": str(event.number)}
    return facts | {"MESSAGE": message}


def addressed(
    seq: int, workload: str, kind: str, facts: dict[str, str], wanted: Notify
) -> Iterator[Notice]:
    """Notices of one thing that happened, for whom it is wanted."""
    if kind not in wanted.on:
        return
    for address in wanted.mail:
        yield Notice(seq, workload, kind, "mail", address, facts)
    for url in wanted.webhook:
        yield Notice(seq, workload, kind, "webhook", url, facts, wanted.signing_key)
    if wanted.command:
        yield Notice(seq, workload, kind, "command", wanted.command, facts)
