"""Spans reach a real collector, in one trace from the client to the cycle."""

import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketDenialResponse

from ganglion.client import Client
from ganglion.model.errors import GanglionError
from ganglion.model.events import AlarmSet
from ganglion.tracing import export, spans
from tests.server.conftest import Rig, client, context, quiet, rig  # noqa: F401 - fixtures
from tests.server.process import until
from tests.server.requests.test_pod_sessions import Supervisor, job, pod  # noqa: F401 - fixtures

Fields = dict[str, Any]


class Collector(HTTPServer):
    """Takes spans as an OpenTelemetry collector does.

    Attributes:
        spans: all that came, by name.
        headers: of the newest request.
        services: names of what sent them.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.spans: dict[str, Fields] = {}
        self.headers: dict[str, str] = {}
        self.services: set[str] = set()
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers as OTLP has it."""

    server: Collector

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert (self.path, self.headers["Content-Type"]) == ("/v1/traces", "application/json")
        self.server.headers = {key.lower(): value for key, value in self.headers.items()}
        for resource in body["resourceSpans"]:
            about = {each["key"]: each["value"] for each in resource["resource"]["attributes"]}
            self.server.services.add(about["service.name"]["stringValue"])
            for scope in resource["scopeSpans"]:
                self.server.spans |= {span["name"]: span for span in scope["spans"]}
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    made = Collector()
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    monkeypatch.setenv(spans.ENDPOINT, made.url)
    monkeypatch.setattr(export, "EVERY_S", 0.01)
    spans.exporter.cache_clear()
    yield made
    sink = spans.exporter()
    if sink:
        sink.close()
    monkeypatch.undo()
    spans.exporter.cache_clear()
    made.shutdown()
    thread.join()
    made.server_close()


def attributes(span: Fields) -> Fields:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def test_one_trace_goes_from_the_client_to_the_cycle(
    collector: Collector,
    client: TestClient,  # noqa: F811 - fixture
    rig: Rig,  # noqa: F811 - fixture
) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        headers, body = dict(request.headers), request.content
        url = request.url.raw_path.decode()
        answer = client.request(request.method, url, headers=headers, content=body)
        return httpx2.Response(answer.status_code, content=answer.content)

    sdk = Client("http://localhost", "secret", transport=httpx2.MockTransport(handle))
    sdk.submit({"name": "a", "run": "true", "resources": {"gpus": 1}})
    sink = spans.exporter()
    assert sink
    sink.close()
    found = collector.spans
    chain = [found["POST"], found["POST /api/v1/workloads"], found["commit"], found["cycle"]]
    assert len({span["traceId"] for span in chain}) == 1
    assert chain[0]["parentSpanId"] == ""
    for above, below in pairwise(chain):
        assert below["parentSpanId"] == above["spanId"]
        assert int(below["startTimeUnixNano"]) <= int(below["endTimeUnixNano"])
    assert [span["kind"] for span in chain] == [3, 2, 1, 1]
    server = attributes(chain[1])
    assert (server["http.route"], server["http.response.status_code"]) == (
        "/api/v1/workloads",
        "201",
    )
    assert attributes(chain[2])["ganglion.request"] == server["ganglion.request"]
    assert int(attributes(chain[2])["ganglion.cycle"]) == rig.ledger.cycle
    assert collector.services == {"ganglion"}


def test_a_session_in_a_pod_is_a_span_of_the_server_until_it_ends(
    collector: Collector,
    client: TestClient,  # noqa: F811 - fixture
    rig: Rig,  # noqa: F811 - fixture
    job: str,  # noqa: F811 - fixture
    pod: Supervisor,  # noqa: F811 - fixture
) -> None:
    above, said = (
        spans.SpanPlace("a" * 32, "b" * 16),
        {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"},
    )
    url = "ws://localhost/api/v1/workloads"
    with client.websocket_connect(f"{url}/{job}/exec", headers=said) as there:
        there.send_text('{"command": ["ls"]}')
        until(lambda: pod.asked)
        until(lambda: "commit" in collector.spans)
        ends_after = time.time_ns()
        assert "GET /api/v1/workloads/{ref}/exec" not in collector.spans
        pod.done.set()
        # A caller that left before would cut the session's end short.
        found = until(lambda: collector.spans.get("GET /api/v1/workloads/{ref}/exec"))
    with (
        pytest.raises(WebSocketDenialResponse),
        client.websocket_connect(f"{url}/none/attach", headers=said),
    ):
        pass
    refused = until(lambda: collector.spans.get("GET /api/v1/workloads/{ref}/attach"))
    assert attributes(refused)["http.response.status_code"] == "404"
    assert (found["traceId"], found["parentSpanId"]) == (above.trace, above.span)
    assert (found["kind"], found["status"]) == (2, {})
    assert int(found["endTimeUnixNano"]) > ends_after
    about = attributes(found)
    assert (about["http.response.status_code"], bool(about["ganglion.request"])) == ("101", True)
    assert collector.spans["commit"]["parentSpanId"] == found["spanId"]


def test_a_stream_of_events_is_one_span_of_client_and_server_and_has_no_children(
    collector: Collector,
    client: TestClient,  # noqa: F811 - fixture
    rig: Rig,  # noqa: F811 - fixture
) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        url = request.url.raw_path.decode()
        answer = client.request(request.method, url, headers=dict(request.headers))
        kind = {"content-type": answer.headers["content-type"]}
        return httpx2.Response(answer.status_code, headers=kind, content=answer.content)

    rig.service.ask(lambda draft: draft.record(AlarmSet(draft.now, "n0", "a.b", "m")))
    sdk = Client("http://localhost", "secret", transport=httpx2.MockTransport(handle))
    stream = sdk.events(follow=False)
    next(stream)
    assert spans.current() is None
    assert "GET" not in collector.spans
    # Readers may be done early, in any thread.
    thread = threading.Thread(target=stream.close)  # type: ignore[attr-defined]  # a generator
    thread.start()
    thread.join()
    sink = spans.exporter()
    assert sink
    sink.close()
    above, below = collector.spans["GET"], collector.spans["GET /api/v1/events"]
    assert (below["traceId"], below["parentSpanId"]) == (above["traceId"], above["spanId"])
    assert (above["kind"], above["status"], below["kind"]) == (3, {}, 2)
    assert attributes(above)["http.response.status_code"] == "200"


def test_a_websocket_has_a_span_of_the_client_and_names_it_to_the_server(
    collector: Collector,
) -> None:
    seen: list[httpx2.Request] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(409, json={"code": "state.not_running", "message": "m"})

    sdk = Client("http://localhost", "secret", transport=httpx2.MockTransport(refuse))
    with pytest.raises(GanglionError) as raised, sdk.terminals.attach("a"):
        pass
    sink = spans.exporter()
    assert sink
    sink.close()
    found = collector.spans["GET"]
    place = f"00-{found['traceId']}-{found['spanId']}-01"
    assert seen[0].headers["traceparent"] == place
    assert attributes(found)["url.path"] == "/api/v1/workloads/a/attach"
    assert (found["kind"], found["status"]) == (3, {"code": 2})
    assert raised.value.request == seen[0].headers["X-Request-Id"]


def test_headers_and_the_name_of_the_service_come_from_the_environment(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, x-other=c")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    with spans.span("work", spans.SpanKind.INTERNAL):
        pass
    sink = spans.exporter()
    assert sink
    sink.close()
    assert (collector.headers["x-key"], collector.headers["x-other"]) == ("a b", "c")
    assert collector.services == {"mine"}


def test_a_span_that_fails_says_so(collector: Collector) -> None:
    with pytest.raises(ValueError, match="odd"), spans.span("work", spans.SpanKind.INTERNAL):
        raise ValueError("odd")
    sink = spans.exporter()
    assert sink
    sink.close()
    assert collector.spans["work"]["status"] == {"code": 2}


def test_a_collector_that_refuses_is_said_once_and_harms_nothing(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.status = 503
    sink = spans.exporter()
    assert sink
    with caplog.at_level(logging.WARNING, "ganglion.tracing.export"):
        for number in range(export.MOST_SENT + 1):
            with spans.span(f"work {number}", spans.SpanKind.INTERNAL):
                pass
        sink.close()
    assert sink.lost == export.MOST_SENT + 1
    (said,) = [each.getMessage() for each in caplog.records]
    assert said.startswith(f"traces are not delivered to {collector.url}/v1/traces: HTTP Error 503")


def test_nothing_is_measured_or_imported_without_an_endpoint() -> None:
    program = (
        "import sys; from ganglion.tracing import spans\n"
        "with spans.span('a', spans.SpanKind.INTERNAL): assert spans.current() is None\n"
        "print('ganglion.tracing.export' in sys.modules, 'urllib.request' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={}, check=True
    )
    assert done.stdout.split() == ["False", "False"], done.stderr


@pytest.mark.parametrize("header", ["", "x", "00-0-0-00", f"01-{'a' * 32}-{'b' * 16}-01"])
def test_a_parent_that_is_none_begins_a_new_trace(header: str) -> None:
    assert spans.read(header) is None


def test_a_parent_is_read_as_it_is_written() -> None:
    place = spans.SpanPlace("a" * 32, "b" * 16)
    assert spans.read(place.header()) == place


def test_the_decision_is_listed() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "decisions"
    assert "(traces.md)" in (page / "README.md").read_text("utf-8")
