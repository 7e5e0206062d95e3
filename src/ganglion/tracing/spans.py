"""Spans: what took how long, for which request, as W3C Trace Context and OpenTelemetry have it."""

import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

from ganglion.tracing.record import Span, SpanKind, SpanPlace, Value

if TYPE_CHECKING:
    from ganglion.tracing.export import Exporter

__all__ = [
    "SpanKind",
    "SpanPlace",
    "Value",
    "alone",
    "called",
    "current",
    "emit",
    "exporter",
    "read",
    "span",
]

HEADER = "traceparent"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_PARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_current: ContextVar[SpanPlace | None] = ContextVar("span", default=None)
_service = ["ganglion"]


def current() -> SpanPlace | None:
    """The span that is open in this task or thread; None = none, or nothing is traced."""
    return _current.get()


def called(service: str) -> None:
    """Say what this process is, unless `$OTEL_SERVICE_NAME` does."""
    _service[0] = service


def read(header: str) -> SpanPlace | None:
    """The span that a caller names in `traceparent`; None = it names none."""
    found = _PARENT.fullmatch(header)
    return SpanPlace(found[1], found[2]) if found else None


@cache
def exporter() -> "Exporter | None":
    """Where spans go; None = no endpoint is configured."""
    environ = os.environ
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    base = environ.get(ENDPOINT, "").rstrip("/")
    url = environ.get(TRACES) or (f"{base}/v1/traces" if base else "")
    if not url:
        return None
    from ganglion.tracing.export import Exporter  # noqa: PLC0415 - only where it is configured

    return Exporter(url, environ.get("OTEL_SERVICE_NAME") or _service[0])


@contextmanager
def span(
    name: str, kind: SpanKind, parent: SpanPlace | None = None, attributes: Mapping[str, Value] = {}
) -> Iterator[dict[str, Value]]:
    """Measure a block; spans within it are its children.

    Args:
        name: with few different values.
        kind: which side of a request.
        parent: None = the span that is open here, else a new trace begins.
        attributes: what is known at the beginning.

    Yields:
        the attributes; more may be added.
    """
    with alone(name, kind, parent, attributes) as (place, known):
        if place is None:
            yield known
            return
        token = _current.set(place)
        try:
            yield known
        finally:
            _current.reset(token)


@contextmanager
def alone(
    name: str, kind: SpanKind, parent: SpanPlace | None = None, attributes: Mapping[str, Value] = {}
) -> Iterator[tuple[SpanPlace | None, dict[str, Value]]]:
    """Measure a block that others run in between, as a generator's: it has no children here.

    Args:
        name: as of `span`.
        kind: as of `span`.
        parent: as of `span`.
        attributes: as of `span`.

    Yields:
        where the span lies, None = nothing is traced; and the attributes.
    """
    sink = exporter()
    known = dict(attributes)
    if sink is None:
        yield None, known
        return
    above = parent or _current.get()
    place, begin, failed = _below(above), time.time_ns(), True
    try:
        yield place, known
        failed = False
    except GeneratorExit:  # the reader of a stream has had enough
        failed = False
        raise
    finally:
        above_id = above.span if above else ""
        sink.take(Span(name, kind, place, above_id, begin, time.time_ns(), known, failed))


def emit(
    name: str, parent: SpanPlace, begin: int, end: int, attributes: Mapping[str, Value] = {}
) -> SpanPlace:
    """Record a span of which both ends are known, in ns; returns where it lies."""
    place = _below(parent)
    sink = exporter()
    if sink:
        sink.take(Span(name, SpanKind.INTERNAL, place, parent.span, begin, end, attributes))
    return place


def _below(parent: SpanPlace | None) -> SpanPlace:
    return SpanPlace(parent.trace if parent else secrets.token_hex(16), secrets.token_hex(8))
