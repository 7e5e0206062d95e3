"""Texts, whole numbers, decimals and truth values out of whatever YAML or JSON yields."""

import re
from fractions import Fraction
from math import isfinite

from ganglion.model.errors import FieldError
from ganglion.specs.wording import show

_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
_DECIMAL = re.compile(r"[0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400}")
# Python refuses to print integers of more than a few thousand digits.
_MAX_BITS = 1024
TRUTH = dict.fromkeys(("true", "yes", "on"), True) | dict.fromkeys(("false", "no", "off"), False)
"""Words for truth values, in lower case."""


def parse_text(value: object, hint: str = "") -> str:
    """Return text; numbers and truth values become the text they were written as."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value.bit_length() > _MAX_BITS:
            raise FieldError(f"{show(value)} makes no sense here", hint=hint)
        return str(value)
    if isinstance(value, float) and isfinite(value):
        return repr(value)
    if not isinstance(value, str):
        raise FieldError(f"expected text, found {show(value)}", hint=hint)
    if "\0" in value or not _encodable(value):
        raise FieldError("text must not contain NUL bytes or broken characters", hint=hint)
    return value


def parse_whole(value: object, low: int, high: int) -> int:
    """Return a whole number of `low`..`high`, given as number or text."""
    text = "" if isinstance(value, (bool, list, dict)) or value is None else parse_text(value)
    text = text.strip().removesuffix(".0")
    if not _WHOLE.fullmatch(text):
        raise FieldError(f"expected a whole number, found {show(value)}")
    number = int(text)
    if number < 0 <= low:
        raise FieldError(f"cannot be negative, found {show(value)}")
    if number < low:
        raise FieldError(f"{show(value)} is too small", hint=f"the smallest possible is {low}")
    if number > high:
        raise FieldError(f"{show(value)} is too large", hint=f"the largest possible is {high:,}")
    return number


def parse_decimal(value: object, what: str, hint: str) -> Fraction:
    """Return a number without unit that is not negative, exactly."""
    text = parse_text(value, hint).strip()
    if text.startswith("-") and _DECIMAL.fullmatch(text[1:]):
        raise FieldError(f"{what} cannot be negative, found {show(value)}", hint=hint)
    if isinstance(value, bool) or not _DECIMAL.fullmatch(text):
        raise FieldError(f"{show(value)} is not {what}", hint=hint)
    return Fraction(text)


def parse_percentages(value: object) -> tuple[int, ...]:
    """Read percentages of 1 to 99, as a list or as `50,80,95`; sorted, each once."""
    hint = "write it as `50,80,95`"
    words = value if isinstance(value, list) else parse_text(value, hint).split(",")
    texts = [parse_text(each, hint).strip().removesuffix("%").strip() for each in words]
    found = [text for text in texts if text]
    wrong = [t for t in found if not (_WHOLE.fullmatch(t) and 1 <= int(t) <= 99)]
    if wrong:
        raise FieldError(f"{show(wrong[0])} is no percentage from 1 to 99", hint=hint)
    return tuple(sorted({int(text) for text in found}))


def parse_bool(value: object) -> bool:
    """Return a truth value: true/false, yes/no or on/off."""
    if isinstance(value, bool):
        return value
    word = value.lower() if isinstance(value, str) else ""
    if word not in TRUTH:
        raise FieldError(f"expected true or false, found {show(value)}")
    return TRUTH[word]


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeError:
        return False
    return True
