"""Quantities as Kubernetes writes them, in integers: `1500m`, `1Ki`, `2e3`, `0.5Gi`."""

import re
from collections.abc import Mapping
from fractions import Fraction

from ganglion.model.errors import InputError
from ganglion.worlds.kubernetes.types.bounds import QUANTITY

MIB = 1 << 20

_DIGITS = 40
"""Most digits before or after the point: enough for 2^63 of the smallest unit."""
_FORM = re.compile(
    rf"([+-]?(?:[0-9]{{1,{_DIGITS}}}(?:\.[0-9]{{0,{_DIGITS}}})?|\.[0-9]{{1,{_DIGITS}}}))"
    r"(?:([eE][+-]?[0-9]{1,2})|(m|u|n|k|[MGTPE]|[KMGTPE]i)?)"
)
_BINARY: Mapping[str, int] = {
    f"{letter}i": 1 << 10 * power for power, letter in enumerate("KMGTPE", 1)
}
_DECIMAL: Mapping[str, int] = {
    letter: 10 ** (3 * power) for power, letter in enumerate("kMGTPE", 1)
}
_SMALL: Mapping[str, int] = {"m": 1_000, "u": 1_000_000, "n": 1_000_000_000}


def exactly(quantity: str | int) -> Fraction:
    """The value of a quantity, in whole units.

    Raises:
        InputError: it is none, or is beyond what the API server can hold.
    """
    value = Fraction(quantity) if isinstance(quantity, int) else _read(quantity)
    if abs(value) > QUANTITY:
        raise InputError(f"{_short(quantity)} is beyond 2^63")
    return value


def _read(quantity: str) -> Fraction:
    found = _FORM.fullmatch(quantity.strip())
    if not found:
        hint = "write it as 2, 500m, 1.5Gi or 2e3"
        raise InputError(f"{_short(quantity)} is no quantity", hint)
    number, exponent, suffix = found.groups()
    value = Fraction(number)
    if exponent:
        return value * Fraction(f"1{exponent}")
    if suffix in _SMALL:
        return value / _SMALL[suffix]
    return value * {**_BINARY, **_DECIMAL}.get(suffix or "", 1)


def _short(quantity: str | int) -> str:
    text = repr(quantity)
    return text if len(text) <= _DIGITS else f"{text[:_DIGITS]}..."


def milli(quantity: str | int) -> int:
    """Thousandths of a unit, rounded up, as Kubernetes does."""
    value = exactly(quantity) * 1000
    return -(-value.numerator // value.denominator)


def units(quantity: str | int) -> int:
    """Whole units (bytes, devices), rounded up."""
    value = exactly(quantity)
    return -(-value.numerator // value.denominator)


def mib(quantity: str | int) -> int:
    """MiB, rounded up: for what is asked for."""
    return -(-units(quantity) // MIB)


def whole_mib(quantity: str | int) -> int:
    """MiB, rounded down: for what there is."""
    return units(quantity) // MIB
