"""Sends spans to a collector: OTLP over HTTP as JSON, by a thread, a batch at a time.

The form is that of the OpenTelemetry protocol, https://opentelemetry.io/docs/specs/otlp/.
"""

import atexit
import json
import logging
import os
import queue
import threading
from collections.abc import Mapping
from typing import Any
from urllib.error import URLError
from urllib.parse import unquote, urlsplit
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

from ganglion import __version__
from ganglion.tracing.record import Span, Value

MOST_WAITING = 4_096
"""Spans that wait to be sent; later ones are dropped and counted."""
MOST_SENT = 512
"""Spans of one request."""
EVERY_S = 1.0
"""How long a span waits for others before it is sent."""
TIMEOUT_S = 5.0
LAST_S = 2.0
"""Most time that the end of the process waits for the last spans."""

log = logging.getLogger(__name__)


class Exporter:
    """Sends spans; never blocks those that measure.

    Args:
        url: of the collector, as `http://127.0.0.1:4318/v1/traces`.
        service: what this process is called.

    Attributes:
        lost: spans that were dropped or that the collector refused.
    """

    def __init__(self, url: str, service: str) -> None:
        self._url, self._service = url, service
        self._spans: queue.Queue[Span | None] = queue.Queue(MOST_WAITING)
        self._opener = _opener(url)
        self._said = False
        self.lost = 0
        protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
        if protocol != "http/json":
            log.warning("traces are sent as OTLP http/json, not as %s", protocol)
        self._thread = threading.Thread(target=self._run, name="traces", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def take(self, span: Span) -> None:
        """Send a span in a while."""
        try:
            self._spans.put_nowait(span)
        except queue.Full:
            self.lost += 1

    def close(self) -> None:
        """Send what waits, for a short while at most."""
        atexit.unregister(self.close)
        try:
            self._spans.put(None, timeout=LAST_S)
        except queue.Full:
            return  # the collector does not answer: the rest is lost with the process
        self._thread.join(LAST_S)

    def _run(self) -> None:
        while True:
            batch, last = self._gathered()
            if batch:
                self._send(batch)
            if last:
                return

    def _gathered(self) -> tuple[list[Span], bool]:
        """Wait for spans; returns them, and whether they are the last."""
        batch: list[Span] = []
        wait: float | None = None
        while len(batch) < MOST_SENT:
            try:
                found = self._spans.get(timeout=wait)
            except queue.Empty:
                return batch, False
            if found is None:
                return batch, True
            batch.append(found)
            wait = EVERY_S
        return batch, False

    def _send(self, batch: list[Span]) -> None:
        body = json.dumps(message(self._service, batch)).encode()
        headers = {"Content-Type": "application/json", **_headers()}
        try:
            with self._opener.open(Request(self._url, body, headers), timeout=TIMEOUT_S):
                self._said = False
        except (URLError, OSError, ValueError) as error:
            self.lost += len(batch)
            if not self._said:  # once, until the collector takes spans again
                log.warning("traces are not delivered to %s: %s", _shown(self._url), error)
            self._said = True


def message(service: str, batch: list[Span]) -> dict[str, Any]:
    """A batch as OTLP has it.

    Args:
        service: what this process is called.
        batch: spans that have ended.
    """
    about: dict[str, Value] = {"service.name": service, "service.version": __version__}
    about["process.pid"] = os.getpid()
    scope = {"name": "ganglion", "version": __version__}
    spans = [_span(each) for each in batch]
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(about)},
                "scopeSpans": [{"scope": scope, "spans": spans}],
            }
        ]
    }


def _span(span: Span) -> dict[str, Any]:
    return {
        "traceId": span.place.trace,
        "spanId": span.place.span,
        "parentSpanId": span.parent,
        "name": span.name,
        "kind": int(span.kind),
        "startTimeUnixNano": str(span.begin),
        "endTimeUnixNano": str(span.end),
        "attributes": _attributes(span.attributes),
        "status": {"code": 2} if span.failed else {},
    }


def _attributes(found: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in found.items()]


def _value(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": value}


def _headers() -> dict[str, str]:
    """Headers that the environment asks for, as `key=value,key=value`; values are secrets."""
    given = os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "")
    pairs = (each.partition("=") for each in given.split(",") if "=" in each)
    return {key.strip(): unquote(value.strip()) for key, _, value in pairs}


def _opener(url: str) -> OpenerDirector:
    """Past the proxies of the environment where the collector is on this machine."""
    near = urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
    return build_opener(ProxyHandler({})) if near else build_opener()


def _shown(url: str) -> str:
    """The URL without what may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or ''}{parts.path}"
