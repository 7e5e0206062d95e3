"""Times and chances as people write them on the command line."""

from decimal import Decimal, InvalidOperation

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.times.durations import parse_duration


def parse_ms(text: str, key: str) -> int:
    """Milliseconds of a time such as `90s`, `1.5h` or `30d`.

    Raises:
        FieldError: it is none; names `key`.
    """
    try:
        return parse_duration(text)
    except FieldError as error:
        raise FieldError(error.problem, key=key, hint=error.hint) from None


def parse_chance(text: str, key: str) -> float:
    """A probability from `2%` or `0.02`.

    Raises:
        FieldError: it is none; names `key`.
    """
    try:
        value = Decimal(text.rstrip("%").strip()) / (100 if text.endswith("%") else 1)
    except InvalidOperation:
        value = Decimal(-1)
    if not 0 <= value <= 1:
        raise FieldError(
            f"{text!r} is not a probability", key=key, hint="write it as 2% or 0.02, at most 100%"
        )
    return float(value)
