"""CPUs and memory, as Kubernetes, Slurm and cloud tools write them."""

import re
from fractions import Fraction

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.scalars import parse_decimal, parse_text
from ganglion.specs.wording import show

MIB = 1 << 20
MAX_CPU_MILLI = 100_000_000
MAX_MEMORY_MIB = 1 << 40
_DECIMAL = {unit: 1000 ** (power + 1) for power, unit in enumerate("KMGTPE")}
_BINARY = {f"{unit}I": 1024 ** (power + 1) for power, unit in enumerate("KMGTPE")}
UNITS = _DECIMAL | _BINARY
"""Bytes per unit, by upper-case unit without its B."""

_MEMORY = re.compile(r"([0-9]{1,18}(?:\.[0-9]{0,9})?)\s*([KMGTPE]i?)B?", re.IGNORECASE)
_CPU_HINT = "write cores as `8`, `0.5` or `500m`"
_MEMORY_HINT = "write it with its unit, as `64GB` or `64Gi`"


def parse_cpus(value: object) -> int:
    """Read `64`, `0.5`, `500m` or `32+` (at least) into thousandths of a core."""
    text = _floor(parse_text(value, _CPU_HINT).strip())
    milli = text.endswith("m")
    number = value if isinstance(value, bool) else text.removesuffix("m")
    cores = parse_decimal(number, "a number of CPU cores", _CPU_HINT)
    return _thousandths(cores if milli else cores * 1000, value)


def print_cpus(milli: int) -> str | int:
    """Print thousandths of a core as `64` or `500m`."""
    return f"{milli}m" if milli % 1000 else milli // 1000


def parse_memory(value: object) -> int:
    """Read `64Gi`, `800GB` or `32GB+` (at least) into MiB, rounded up."""
    text = _floor(parse_text(value, _MEMORY_HINT).strip())
    if text == "0" and not isinstance(value, bool):
        return 0
    mib = memory_of(text)
    if mib is None:
        raise FieldError(_memory_problem(value, text), hint=_MEMORY_HINT)
    if mib > MAX_MEMORY_MIB:
        raise FieldError(f"{show(value)} is more memory than any cluster has")
    return mib


def memory_of(text: str) -> int | None:
    """MiB of a text such as `80GB`, rounded up; None when it is no amount of memory."""
    match = _MEMORY.fullmatch(text)
    if not match or match[2] == "m":
        return None
    return -int(-Fraction(match[1]) * UNITS[match[2].upper()] // MIB)


def print_memory(mib: int) -> str:
    """Print MiB in the largest unit that parses back to exactly as many."""
    if not mib:
        return "0"
    if not mib % 1024:
        return f"{mib >> 10}GiB"
    gigabytes = mib * MIB // 10**9
    exact = gigabytes and memory_of(f"{gigabytes}GB") == mib
    return f"{gigabytes}GB" if exact else f"{mib}MiB"


def _floor(text: str) -> str:
    # A request already means "at least this much", so the marks for that add nothing.
    return text.removesuffix("+").removesuffix("..")


def _thousandths(milli: Fraction, value: object) -> int:
    if milli.denominator != 1:
        raise FieldError(f"{show(value)} is finer than a thousandth of a core", hint=_CPU_HINT)
    if milli > MAX_CPU_MILLI:
        raise FieldError(f"{show(value)} is more cores than any cluster has")
    return int(milli)


def _memory_problem(value: object, text: str) -> str:
    if text.startswith("-"):
        return f"memory cannot be negative, found {show(value)}"
    if not isinstance(value, bool) and text.replace(".", "", 1).isdigit():
        return f"{show(value)} has no unit: it could be bytes, MB or GB"
    return f"{show(value)} is not an amount of memory"
