"""Lengths of time: `1d12h`, `90s`, `2:00:00`, `1-12:00:00`."""

import re
from fractions import Fraction

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.scalars import parse_text
from ganglion.specs.wording import show

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MAX_MS = 36_500 * DAY
_UNITS = {"d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND, "ms": 1}
_SPELT = {"w": 7 * DAY, "ms": 1}
_SPELT |= dict.fromkeys(("s", "sec", "secs", "second", "seconds"), SECOND)
_SPELT |= dict.fromkeys(("m", "min", "mins", "minute", "minutes"), MINUTE)
_SPELT |= dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), HOUR)
_SPELT |= dict.fromkeys(("d", "day", "days"), DAY) | dict.fromkeys(("week", "weeks"), 7 * DAY)

_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([a-z]+)\s*")
_PARTS = re.compile(rf"(?:{_PART.pattern})+", re.IGNORECASE)
_CLOCK = re.compile(r"(?:([0-9]{1,9})-)?([0-9]{1,9}):([0-9]{1,2}):([0-9]{1,2})")
_SLURM_DAYS = re.compile(r"([0-9]{1,9})-([0-9]{1,9})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?")
_SLURM_MINUTES = re.compile(r"([0-9]{1,9})(?::([0-9]{1,2}))?")
_HINT = "write `90s`, `30m`, `2h`, `1d12h` or `2:00:00`"


def parse_duration(value: object) -> int:
    """Read `90s`, `1d12h`, `1.5h`, `2:00:00` (h:mm:ss) or `1-12:00:00` into ms."""
    text = parse_text(value, _HINT).strip().lower()
    clock = _CLOCK.fullmatch(text)
    if clock:
        return _bounded(_clock(*clock.groups()), value)
    if text == "0" and not isinstance(value, bool):
        return 0
    if not _PARTS.fullmatch(text):
        raise FieldError(_problem(value, text), hint=_HINT)
    parts = (_part(number, unit, value) for number, unit in _PART.findall(text))
    return _bounded(sum(parts, Fraction(0)), value)


def parse_patience(value: object) -> int:
    """Read a length of time after which a wait is long: a minute or more, in ms."""
    found = parse_duration(value)
    if found < MINUTE:
        raise FieldError(f"{show(value)} is less than a minute", hint="write `30m` or `4h`")
    return found


def print_duration(ms: int) -> str:
    """Print ms as `1d12h`."""
    parts = []
    for unit, size in _UNITS.items():
        count, ms = divmod(ms, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def parse_slurm_time(value: object) -> int:
    """Read Slurm's forms into ms; a bare number is minutes, and 0 means without limit.

    Forms: minutes, minutes:seconds, h:mm:ss, days-hours, days-hours:minutes,
    days-hours:minutes:seconds, `UNLIMITED` (sbatch manual page, option --time).
    """
    text = parse_text(value).strip()
    if text.upper() in ("UNLIMITED", "INFINITE", "-1"):
        return 0
    if match := _SLURM_DAYS.fullmatch(text):
        return _bounded(_clock(*match.groups()), value)
    if match := _SLURM_MINUTES.fullmatch(text):
        return _bounded(_clock("0", "0", match[1], match[2]), value)
    if match := _CLOCK.fullmatch(text):
        return _bounded(_clock(*match.groups()), value)
    raise FieldError(f"{show(value)} is not a time", hint="write minutes, h:mm:ss or d-hh:mm:ss")


def _clock(days: str | None, hours: str, minutes: str | None, seconds: str | None) -> int:
    parts = zip((days, hours, minutes, seconds), (DAY, HOUR, MINUTE, SECOND), strict=True)
    return sum(int(part or 0) * size for part, size in parts)


def _part(number: str, unit: str, value: object) -> Fraction:
    if unit not in _SPELT:
        raise FieldError(f"{show(value)} has an unknown unit {show(unit)}", hint=_HINT)
    return Fraction(number) * _SPELT[unit]


def _bounded(ms: int | Fraction, value: object) -> int:
    if ms > MAX_MS:
        raise FieldError(f"{show(value)} is longer than a hundred years", hint=_HINT)
    if ms != int(ms):
        raise FieldError(f"{show(value)} is finer than a millisecond", hint=_HINT)
    return int(ms)


def _problem(value: object, text: str) -> str:
    if text.startswith("-"):
        return f"a duration cannot be negative, found {show(value)}"
    if re.fullmatch(r"[0-9]+:[0-9]+", text):
        return f"{show(value)} could mean minutes or hours"
    if not isinstance(value, bool) and text.replace(".", "", 1).isdigit():
        return f"{show(value)} has no unit"
    return f"{show(value)} is not a duration"
