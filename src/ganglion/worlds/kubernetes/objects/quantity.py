"""Quantities as Kubernetes writes them, in integers: `1500m`, `1Ki`, `2e3`, `0.5Gi`."""

import re
from collections.abc import Mapping
from fractions import Fraction

from ganglion.model.errors import InputError

MIB = 1 << 20

_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|(m|u|n|k|[MGTPE]|[KMGTPE]i)?)")
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
        InputError: it is none.
    """
    if isinstance(quantity, int):
        return Fraction(quantity)
    found = _FORM.fullmatch(quantity.strip())
    if not found:
        raise InputError(f"{quantity!r} is no quantity", "write it as 2, 500m, 1.5Gi or 2e3")
    number, exponent, suffix = found.groups()
    value = Fraction(number)
    if exponent:
        return value * Fraction(f"1{exponent}")
    if suffix in _SMALL:
        return value / _SMALL[suffix]
    return value * {**_BINARY, **_DECIMAL}.get(suffix or "", 1)


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
