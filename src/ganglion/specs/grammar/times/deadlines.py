"""Deadlines: so long after the submit, or a date and time."""

from ganglion.model.errors import FieldError
from ganglion.model.workload import Deadline
from ganglion.specs.grammar.scalars import parse_text
from ganglion.specs.grammar.times.durations import parse_duration, print_duration
from ganglion.specs.grammar.times.instants import parse_instant, print_instant
from ganglion.specs.wording import show

_HINT = "write `12h`, counted from the submit, or a date and time as `2026-12-01T08:00Z`"


def parse_deadline(value: object) -> Deadline:
    """Read `12h` or `2026-12-01T08:00Z`. Raises FieldError."""
    text = parse_text(value, _HINT)
    try:
        return Deadline(at_ms=parse_instant(text))
    except FieldError:
        pass
    try:
        found = Deadline(within_ms=parse_duration(value))
    except FieldError:
        raise FieldError(f"{show(value)} is no deadline", hint=_HINT) from None
    if not found.within_ms:
        raise FieldError("a deadline cannot be over when it begins", hint=_HINT)
    return found


def print_deadline(deadline: Deadline) -> str:
    """Print what parses back to the same."""
    if deadline.at_ms:
        return print_instant(deadline.at_ms)
    return print_duration(deadline.within_ms)
