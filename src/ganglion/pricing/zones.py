"""Hours of the day in a time zone: which minute a moment lies in, and when minutes begin."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

DAY_MS = 86_400_000
MINUTE_MS = 60_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)


def minute_of(at_ms: int, zone: str) -> int:
    """The minute of the day there, counted from midnight."""
    there = _moment(at_ms).astimezone(ZoneInfo(zone))
    return there.hour * 60 + there.minute


def cuts_of(minutes: Iterable[int], zone: str, begin: int, end: int) -> Iterator[int]:
    """The moments in (begin, end), in ms, at which minutes of the day begin, or clocks are set."""
    there, wanted = ZoneInfo(zone), tuple(minutes)
    day = _moment(begin).astimezone(there).replace(hour=0, minute=0, second=0, microsecond=0)
    day -= _DAY
    while _ms(day) < end:
        for minute in wanted:
            hour, rest = divmod(minute % 1_440, 60)
            for fold in (0, 1):  # the hour that comes twice has two of each minute
                at = _ms(day.replace(hour=hour, minute=rest, fold=fold))
                if begin < at < end:
                    yield at
        step = _clock_set(_ms(day), _ms(day + _DAY), there)
        if step is not None and begin < step < end:
            yield step
        day += _DAY


def _clock_set(begin: int, end: int, zone: ZoneInfo) -> int | None:
    """When the clocks of a zone were set within a day, to the minute; None = they were not."""
    before = _moment(begin).astimezone(zone).utcoffset()
    if _moment(end).astimezone(zone).utcoffset() == before:
        return None
    low, high = begin // MINUTE_MS, end // MINUTE_MS
    while high - low > 1:
        middle = (low + high) // 2
        same = _moment(middle * MINUTE_MS).astimezone(zone).utcoffset() == before
        low, high = (middle, high) if same else (low, middle)
    return high * MINUTE_MS


def _moment(at_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=at_ms)


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def month_of(at_ms: int, zone: str) -> tuple[int, int]:
    """When the month that a moment lies in begins and ends there, in ms."""
    there = _moment(at_ms).astimezone(ZoneInfo(zone))
    first = there.replace(day=1, hour=0, minute=0, second=0, microsecond=0, fold=0)
    after = (first + 31 * _DAY).replace(day=1)
    return _ms(first), _ms(after)


def date_there(at_ms: int, zone: str) -> str:
    """The date of a moment there, as `2027-01-01`."""
    return _moment(at_ms).astimezone(ZoneInfo(zone)).date().isoformat()
