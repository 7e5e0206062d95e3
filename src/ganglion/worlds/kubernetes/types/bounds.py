"""What no cluster has and no pod needs: numbers beyond these are mistakes, or worse.

The API server takes any quantity below 2^63 and any text in an annotation. What is computed
from them takes time and memory by their size, so what is out of bounds is refused by name.
"""

from ganglion.model.errors import InputError

QUANTITY = 2**63 - 1
"""Largest whole number that the API server itself can hold."""
CPU_MILLI = 1_000_000_000
"""Thousandths of cores of one node or pod: a million cores."""
MEMORY_MIB = 1 << 34
"""MiB of one node, pod or device: 16 PiB."""
DEVICES = 4_096
"""GPUs of one node or pod, with their slices and replicas."""
PODS = 100_000
"""Pods of one gang, and pod slots of one node."""

REASON = 500
"""Characters of a reason for people; annotations that it repeats may have 256 KiB."""


def brief(text: str) -> str:
    """A reason, cut in its middle where it is longer than people read."""
    half = REASON // 2
    return text if len(text) <= REASON else f"{text[: half - 5]} ... {text[-half:]}"


def within(what: str, value: int, most: int, least: int = 0) -> int:
    """Return a value that is within bounds.

    Raises:
        InputError: it is not; names it.
    """
    if not least <= value <= most:
        raise InputError(f"{what} must be between {least} and {most}, got {value}")
    return value
