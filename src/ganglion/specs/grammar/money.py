"""Money: `2.50`, as millionths of a unit of the currency; hours of prices: `20:00-08:00`."""

import re

from ganglion.model.errors import FieldError
from ganglion.model.fleet.price import DAY_MIN, MICRO
from ganglion.specs.grammar.scalars import parse_decimal
from ganglion.specs.wording import show

MOST_MICRO = 1_000_000_000 * MICRO
_HINT = "write it as `2.50`, with at most six digits after the point"
_HOURS_HINT = "write them as `08:00-20:00` or `20:00-08:00`"
_HOURS = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")
_CURRENCY = re.compile(r"[A-Z]{3}")


def parse_money(value: object) -> int:
    """Read `2.50` into millionths. Raises FieldError."""
    found = parse_decimal(value, "an amount of money", _HINT) * MICRO
    if found.denominator != 1:
        raise FieldError(f"{show(value)} has more than six digits after the point", hint=_HINT)
    if found > MOST_MICRO:
        raise FieldError(f"{show(value)} is too large", hint=f"at most {MOST_MICRO // MICRO:,}")
    return int(found)


def print_money(micro: int) -> str:
    """Print millionths exactly, with two digits at least: `2.50`, `-0.000001`."""
    sign, whole, rest = "-" * (micro < 0), abs(micro) // MICRO, abs(micro) % MICRO
    digits = f"{rest:06}"
    return f"{sign}{whole}.{digits[:2]}{digits[2:].rstrip('0')}"


def cut_money(micro: int) -> str:
    """Print millionths with two digits, the rest cut off: `2.50`."""
    return f"{'-' * (micro < 0)}{abs(micro) // MICRO}.{abs(micro) % MICRO // 10_000:02}"


def raised_money(micro: int) -> str:
    """Print millionths with two digits, raised where more would follow: a limit stays one."""
    return cut_money(-(-micro // 10_000) * 10_000)


def parse_currency(value: str) -> str:
    """Read the code of a national currency, as FOCUS asks for: `EUR`. Raises FieldError."""
    text = value.strip().upper()
    if not _CURRENCY.fullmatch(text):
        hint = "use the three letters of ISO 4217, as `EUR` or `USD`"
        raise FieldError(f"{show(value)} is no currency", hint=hint)
    return text


def parse_price_hours(text: str) -> tuple[int, int]:
    """Read `20:00-08:00` into minutes from midnight; (0, 0) = `00:00-24:00`. Raises FieldError."""
    match = _HOURS.fullmatch(text.strip())
    if not match:
        raise FieldError(f"{show(text)} is not a range of hours", hint=_HOURS_HINT)
    start, end = (_minute(match[at], match[at + 1]) for at in (1, 3))
    if (start, end) == (0, DAY_MIN):
        return 0, 0
    if start % DAY_MIN == end % DAY_MIN:
        hint = "leave the hours out where a price holds the whole day"
        raise FieldError(f"{show(text)} begins when it ends", hint=hint)
    return start % DAY_MIN, end % DAY_MIN


def print_price_hours(start_min: int, end_min: int) -> str:
    """Print as `20:00-08:00`; the whole day is empty."""
    if start_min == end_min:
        return ""
    return "-".join(f"{at // 60:02}:{at % 60:02}" for at in (start_min, end_min))


def _minute(hours: str, minutes: str) -> int:
    found = int(hours) * 60 + int(minutes)
    if int(minutes) >= 60 or found > DAY_MIN:
        raise FieldError(f"{hours}:{minutes} is not a time of day", hint=_HOURS_HINT)
    return found
