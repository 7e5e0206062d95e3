"""Working hours: `mon-fri 08:00-20:00 Europe/Berlin`; time zones."""

import re
from zoneinfo import ZoneInfo

from ganglion.model.behaviour import Hours
from ganglion.model.errors import FieldError
from ganglion.specs.grammar.scalars import parse_text
from ganglion.specs.wording import show

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HOURS = re.compile(
    r"(?:(?P<days>[a-z,\- ]*[a-z])\s+)?(?P<h1>\d{1,2}):(?P<m1>\d{2})\s*-\s*"
    r"(?P<h2>\d{1,2}):(?P<m2>\d{2})(?:\s+(?P<zone>\S+))?",
    re.IGNORECASE,
)
_HINT = "write it as `mon-fri 08:00-20:00 Europe/Berlin`"
_DAY_MIN = 24 * 60


def parse_hours(value: object) -> Hours:
    """Read `mon-fri 08:00-20:00 Europe/Berlin`; days left out are Monday to Friday."""
    text = parse_text(value, _HINT).strip()
    match = _HOURS.fullmatch(text)
    if not match:
        raise FieldError(f"{show(value)} is not a range of hours", hint=_HINT)
    start, end = _minutes(match["h1"], match["m1"]), _minutes(match["h2"], match["m2"])
    if start >= end:
        raise FieldError(f"{show(value)} ends before it begins", hint=_HINT)
    days = _days(match["days"].lower()) if match["days"] else Hours().days
    return Hours(days, start, end, parse_zone(match["zone"] or "UTC"))


def print_hours(hours: Hours) -> str:
    """Print as `mon-fri 08:00-20:00 Europe/Berlin`."""
    times = "-".join(f"{at // 60:02}:{at % 60:02}" for at in (hours.start_min, hours.end_min))
    return f"{_day_text(hours.days)} {times} {hours.zone}"


def parse_zone(value: object) -> str:
    """Read the name of a time zone, as `Europe/Berlin`."""
    text = parse_text(value).strip()
    try:
        ZoneInfo(text)
    except (OSError, ValueError, LookupError):
        hint = "use a name as `UTC` or `Europe/Berlin`"
        raise FieldError(f"there is no time zone {show(value)}", hint=hint) from None
    return text


def _minutes(hours: str, minutes: str) -> int:
    found = int(hours) * 60 + int(minutes)
    if int(minutes) >= 60 or found > _DAY_MIN:
        raise FieldError(f"{hours}:{minutes} is not a time of day", hint=_HINT)
    return found


def _days(text: str) -> tuple[int, ...]:
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        low, high = _day(first), _day(last if dash else first)
        span = range(low, high + 1) if low <= high else (*range(low, 7), *range(high + 1))
        found.update(span)
    return tuple(sorted(found))


def _day(text: str) -> int:
    if text[:3] not in DAYS:
        raise FieldError(f"{show(text)} is not a day of the week", hint=_HINT)
    return DAYS.index(text[:3])


def _day_text(days: tuple[int, ...]) -> str:
    low, high = days[0], days[-1]
    if high - low >= 2 and days == tuple(range(low, high + 1)):
        return f"{DAYS[low]}-{DAYS[high]}"
    return ",".join(DAYS[day] for day in days)
