"""What narrows lists and bulk verbs down, as keyword arguments."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, TypedDict

from ganglion.api.workloads import WorkloadBase
from ganglion.specs.grammar.times.instants import parse_past

Values = str | Sequence[str]
"""One value, or several of which one has to hold."""


class Filters(TypedDict, total=False):
    """What a workload has to be; keys that are left out, empty or None do not matter.

    Attributes:
        state: as `QUEUED`; states that are ends list what has ended too.
        queue: by name or path.
        user: who submitted it.
        kind: as `train` or `service`.
        name: ids or names, in which `*`, `?` and `[a-z]` match as in file names.
        text: part of the id, name, queue or user.
        since: submitted within `10m`, since a date, or since a time in ms.
        until: submitted up to then.
    """

    state: Values | None
    queue: Values | None
    user: Values | None
    kind: Values | None
    name: Values | None
    text: str | None
    since: str | int | None
    until: str | int | None


LISTS = ("state", "queue", "user", "kind", "name")


def body_of(filters: Filters) -> dict[str, Any]:
    """Return filters as the body of a request has them."""
    given: dict[str, Any] = {key: value for key, value in filters.items() if value}
    for key in LISTS:
        value = given.get(key, ())
        if isinstance(value, str):
            given[key] = [value]
        elif value:
            given[key] = list(value)
    return {key: each if key in LISTS else str(each) for key, each in given.items()}


def passes(view: WorkloadBase, filters: Filters, *, ended: bool, now: int) -> bool:
    """Whether a workload is what filters ask for, where no server looks.

    Args:
        view: the workload.
        filters: as they are sent to a server.
        ended: whether workloads pass that have ended, although no state is asked for.
        now: time in ms.

    Raises:
        FieldError: a time is none.
    """
    given = body_of(filters)
    if not (ended or "state" in given) and view.over:
        return False
    for key in ("state", "queue", "user", "kind"):
        if key in given and getattr(view, key) not in given[key]:
            return False
    names = given.get("name", ())
    named = (fnmatchcase(one, each) for one in (view.id, view.name) for each in names)
    text, at = given.get("text", "").lower(), view.submitted
    return (
        (not names or any(named))
        and any(text in each.lower() for each in (view.id, view.name, view.queue, view.user))
        and (parse_past(given["since"], now) if "since" in given else 0) <= at
        and at <= (parse_past(given["until"], now) if "until" in given else now)
    )
