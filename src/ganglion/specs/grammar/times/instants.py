"""Points in time: `2026-12-01T08:00Z`, `2026-12-01 08:00`, `now`, `+2h`."""

from datetime import UTC, datetime, timedelta, tzinfo

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.scalars import parse_text
from ganglion.specs.grammar.times.durations import parse_duration
from ganglion.specs.wording import show

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_HINT = "write `2026-12-01T08:00Z`, or with another offset as `2026-12-01T08:00+01:00`"


def parse_instant(value: object, zone: tzinfo | None = UTC) -> int:
    """Read a date and time (ISO 8601) into ms since 1970.

    Args:
        value: as YAML or a person gives it.
        zone: of times that name none; None = that of this machine.

    Raises:
        FieldError: it is no time.
    """
    text = parse_text(value, _HINT).strip()
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise FieldError(f"{show(value)} is not a date and time", hint=_HINT) from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=zone) if zone else found.astimezone()
    if found < _EPOCH:
        raise FieldError(f"{show(value)} is before 1970", hint=_HINT)
    return (found - _EPOCH) // _MS


def parse_when(text: str, now: int, zone: tzinfo | None = None) -> int:
    """Read `now`, `+2h` or a date and time into ms since 1970. Raises FieldError."""
    word = text.strip()
    if word == "now":
        return now
    if word.startswith("+"):
        return now + parse_duration(word[1:])
    return parse_instant(word, zone)


def parse_past(text: str, now: int) -> int:
    """Read a time in ms, a date, or a length of time before now: `1790000000000`, `10m`.

    Args:
        text: as a person gives it.
        now: the time in ms.

    Raises:
        FieldError: it is none of these.
    """
    word = text.strip()
    try:
        if word.isascii() and word.isdigit():
            return int(word)
        if word[:1].isdigit() and "-" not in word:
            return max(0, now - parse_duration(word))
        return parse_instant(word)
    except (FieldError, ValueError) as error:
        problem = error.problem if isinstance(error, FieldError) else f"{show(text)} is no time"
        hint = "write `10m`, `2026-12-01T08:00Z`, or ms since 1970"
        raise FieldError(problem, hint=hint) from error


def print_instant(ms: int) -> str:
    """Print in UTC, to the second where that is exact."""
    found = _EPOCH + timedelta(milliseconds=ms)
    fine = "milliseconds" if ms % 1000 else "seconds"
    return found.isoformat(timespec=fine).replace("+00:00", "Z")
