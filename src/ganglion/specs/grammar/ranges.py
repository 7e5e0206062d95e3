"""Ranges: how many nodes, and the values of a sweep."""

import re

from msgspec import Struct

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.scalars import parse_text, parse_whole
from ganglion.specs.wording import show

MAX_VALUES = 100_000
_PART = r"\d{1,9}(?:-\d{1,9})?(?::\d{1,9})?"
_ARRAY = re.compile(rf"{_PART}(?:\s*,\s*{_PART})*\s*(?:%\s*\d{{1,9}})?", re.ASCII)
_RANGE = re.compile(r"\s*(-?[0-9]{1,12})\s*\.\.\s*(-?[0-9]{1,12})\s*")


class CountRange(Struct, frozen=True):
    """A count `low..high`; both equal when it is fixed."""

    low: int
    high: int

    @property
    def elastic(self) -> bool:
        """Whether there is a choice."""
        return self.low < self.high


def parse_span(value: object, most: int, least: int = 1) -> CountRange:
    """Read `4`, `2..4` or `{min: 2, max: 4}`, each at least `least` and at most `most`."""
    low, high = _ends(value)
    span = CountRange(parse_whole(low, least, most), parse_whole(high, least, most))
    if span.low > span.high:
        raise FieldError(
            f"the range {show(value)} runs backwards", hint=f"write `{span.high}..{span.low}`"
        )
    return span


def print_span(span: CountRange) -> int | str:
    """Print as `4` or `2..4`."""
    return f"{span.low}..{span.high}" if span.elastic else span.high


def parse_values(value: object) -> tuple[str, ...]:
    """Read the values of one parameter: a list, one scalar, or a range `0..4` of whole numbers."""
    items = value if isinstance(value, (list, tuple)) else [value]
    values = tuple(each for item in items for each in _values(item))
    if not values:
        raise FieldError("needs at least one value", hint="write `[1, 2, 3]` or `0..4`")
    if len(set(values)) < len(values):
        raise FieldError("holds the same value twice")
    return values


def is_array(value: object) -> bool:
    """Whether a value looks like `0-99%8`, `1,3,5-7` or `0-20:5`."""
    return isinstance(value, str) and _ARRAY.fullmatch(value.strip()) is not None


def parse_array(text: str) -> tuple[list[int], int]:
    """Read `0-99%8`, `1,3,5-7` or `0-20:5` into numbers and the most at once (0 = all)."""
    if not is_array(text):
        raise FieldError(f"{show(text)} is not a list of array tasks", hint="as `0-9%4`")
    ids, _, limit = text.partition("%")
    found = sorted({each for part in ids.split(",") for each in _tasks(part.strip(), text)})
    if len(found) > MAX_VALUES:
        raise FieldError(f"{show(text)} has {len(found):,} tasks; most are {MAX_VALUES:,}")
    return found, parse_whole(limit.strip(), 1, MAX_VALUES) if limit else 0


def _tasks(part: str, text: str) -> range:
    ends, _, by = part.partition(":")
    first, _, last = ends.partition("-")
    low, high, step = int(first), int(last or first), int(by or 1)
    if high < low:
        hint = f"write `{text.replace(f'{first}-{last}', f'{last}-{first}')}`"
        raise FieldError(f"{show(text)} runs backwards", hint=hint)
    if not step:
        raise FieldError(f"{show(text)} goes on by nothing", hint="as `0-20:5`")
    if (high - low) // step >= MAX_VALUES:
        raise FieldError(f"{show(text)} has more than {MAX_VALUES:,} tasks")
    return range(low, high + 1, step)


def _ends(value: object) -> tuple[object, object]:
    if isinstance(value, dict):
        if set(value) != {"min", "max"}:
            raise FieldError("a range needs `min` and `max`", hint="write `2..4`")
        return value["min"], value["max"]
    if isinstance(value, str) and ".." in value:
        low, _, high = value.partition("..")
        if not low.strip() or not high.strip():
            raise FieldError(f"the range {show(value)} needs both ends", hint="write `2..4`")
        return low, high
    return value, value


def _values(item: object) -> tuple[str, ...]:
    match = _RANGE.fullmatch(item) if isinstance(item, str) else None
    if not match:
        return (parse_text(item),)
    low, high = int(match[1]), int(match[2])
    if low > high:
        raise FieldError(f"the range {show(item)} runs backwards", hint=f"write `{high}..{low}`")
    if high - low >= MAX_VALUES:
        raise FieldError(f"the range {show(item)} has more than {MAX_VALUES:,} values")
    return tuple(str(number) for number in range(low, high + 1))
