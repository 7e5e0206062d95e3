"""Times as the API writes them."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(now_ms: int) -> str:
    """Return a time with a resolution of one second, as conditions have it."""
    return _at(now_ms).strftime("%Y-%m-%dT%H:%M:%SZ")


def micros(now_ms: int) -> str:
    """Return a time with six decimals, as events have it."""
    return _at(now_ms).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read_ms(written: str) -> int:
    """Return a time that the API wrote, in ms since 1970; 0 where there is none."""
    if not written:
        return 0
    return (datetime.fromisoformat(written) - _EPOCH) // timedelta(milliseconds=1)


def _at(now_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=now_ms)
