"""What is looked at to say whether the server works: each check by name."""

from ganglion.api.server import Check, Health
from ganglion.server.requests.context import ServerContext
from ganglion.server.state.set_apart import told_apart, told_flaws
from ganglion.server.telemetry.metrics import ServerStanding

STALLED_S = 120
"""A turn that takes longer than this counts as one that never ends."""
LEAST_FREE = 1 << 30
"""Bytes of free disk below which the check of the disk warns."""

OK, WARN, FAIL = "ok", "warn", "fail"


def alive(here: ServerContext) -> Health:
    """Whether the server works: turns are taken, written and carried out.

    Args:
        here: the server.
    """
    return _told(_working(here))


def ready(here: ServerContext) -> Health:
    """Whether requests are accepted, and what needs a person though they are.

    Args:
        here: the server.
    """
    checks = [*_working(here), _requests(here), _disk(here)]
    url_trouble = here.door_trouble()
    checks.append(Check(name="router", status=WARN if url_trouble else OK, message=url_trouble))
    uncut = here.uncut()
    checks.append(Check(name="retention", status=WARN if uncut else OK, message=uncut))
    unsigned = here.unsigned()
    checks.append(Check(name="audit", status=WARN if unsigned else OK, message=unsigned))
    untrusted = here.certificate.trouble() if here.certificate else ""
    checks.append(Check(name="tls", status=WARN if untrusted else OK, message=untrusted))
    unhelped = here.unhelped()
    checks.append(Check(name="helper", status=WARN if unhelped else OK, message=unhelped))
    unread = here.host.trouble() if here.host else ""
    checks.append(Check(name="accounts", status=WARN if unread else OK, message=unread))
    unproven = here.unproven()
    checks.append(Check(name="login", status=WARN if unproven else OK, message=unproven))
    if all(each.status != FAIL for each in checks):
        checks.append(_set_apart(here))
    return _told(checks)


def standing(here: ServerContext) -> ServerStanding:
    """What metrics say of the server.

    Args:
        here: the server.
    """
    found = ready(here)
    with here.service.read() as mind:
        apart = sum(1 for each in mind.state.gangs.records.values() if each.fault)
    ledger = here.service.ledger
    return ServerStanding(
        failing={each.name: each.status for each in found.checks},
        ledger_events=ledger.head,
        ledger_bytes=here.home.size_of(ledger.where),
        streams=here.feed.streams,
        apart=apart,
    )


def _working(here: ServerContext) -> list[Check]:
    service = here.service
    successor = service.successor.message if service.successor else ""
    failing = {service.failing: service.trouble} if service.trouble else {}
    idle_s = service.idle_s()
    stalled = f"no turn has ended for {idle_s:.0f} s" if idle_s > STALLED_S else ""
    return [
        _check("turns", failing.get("turns", "") or stalled),
        _check("ledger", failing.get("ledger", "") or successor),
        _check("world", failing.get("world", "")),
    ]


def _requests(here: ServerContext) -> Check:
    return _check("requests", "the server is shutting down" if here.feed.closing else "")


def _disk(here: ServerContext) -> Check:
    try:
        free = here.home.free()
    except OSError as error:
        return Check(name="disk", status=FAIL, message=f"{here.home.root}: {error.strerror}")
    if free < LEAST_FREE:
        text = f"{free >> 20} MiB are free below {here.home.root}"
        return Check(name="disk", status=WARN, message=text)
    return Check(name="disk", status=OK)


def _set_apart(here: ServerContext) -> Check:
    with here.service.read() as mind:
        apart = {gang: each.fault for gang, each in mind.state.gangs.records.items() if each.fault}
        told = [*([told_apart(apart)] if apart else []), *told_flaws(mind.book.flaws)]
    return Check(name="set_apart", status=WARN if told else OK, message="; ".join(told))


def _check(name: str, trouble: str) -> Check:
    return Check(name=name, status=FAIL if trouble else OK, message=trouble)


def _told(checks: list[Check]) -> Health:
    failed = [each.message for each in checks if each.status == FAIL]
    warned = [each.message for each in checks if each.status == WARN]
    return Health(
        status="trouble" if failed else "ok",
        trouble="; ".join(dict.fromkeys(failed or warned)),
        checks=tuple(checks),
    )
