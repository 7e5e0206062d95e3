"""What a span is; the form is that of W3C Trace Context and of OpenTelemetry."""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

Value = str | int | bool


class SpanKind(IntEnum):
    """Numbers of OTLP."""

    INTERNAL = 1
    SERVER = 2
    CLIENT = 3


class SpanPlace(NamedTuple):
    """Where a span lies.

    Attributes:
        trace: id of the trace, 32 hexadecimal digits.
        span: id of the span, 16 hexadecimal digits.
    """

    trace: str
    span: str

    def header(self) -> str:
        """Value of the header `traceparent`."""
        return f"00-{self.trace}-{self.span}-01"


class Span(NamedTuple):
    """One span that has ended; times in ns since 1970."""

    name: str
    kind: SpanKind
    place: SpanPlace
    parent: str
    begin: int
    end: int
    attributes: Mapping[str, Value]
    failed: bool = False
