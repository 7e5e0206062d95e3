"""The OpenAPI page tells the truth."""

from typing import Any

import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from ganglion.server.app import make_app
from ganglion.server.context import Context
from tests.server.test_workloads import API, post

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


ENDLESS = (f"{API}/events", f"{API}/shutdown")
"""The stream of events has no end, and a shutdown would end the test of everything else."""


def test_every_answer_is_as_described(context: Context) -> None:
    app = make_app(context)
    with TestClient(app):
        schema = schemathesis.openapi.from_asgi(f"{API}/openapi.json", app)
        operations = [found.ok() for found in schema.get_all_operations()]
        tried = [each for each in operations if each.path not in ENDLESS]
        assert len(tried) >= 17
        for operation in tried:
            _try_out(operation)


def _try_out(operation: Any) -> None:
    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def conforms(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    conforms()


def test_every_route_says_how_it_fails(client: TestClient) -> None:
    page = client.get(f"{API}/openapi.json").json()
    for path, methods in page["paths"].items():
        for method, route in methods.items():
            if route["tags"] == ["server"]:
                continue
            described = route["responses"]
            assert {"401", "404", "409", "422", "503"} <= set(described), (method, path)
            for status, answer in described.items():
                if int(status) >= 400:
                    body = answer["content"]["application/problem+json"]["schema"]
                    assert body == {"$ref": "#/components/schemas/Problem"}, (method, path)


def test_documents_are_described_by_their_canonical_keys(client: TestClient) -> None:
    page = client.get(f"{API}/openapi.json").json()
    known = page["components"]["schemas"]
    assert {"run", "nodes", "resources", "queue"} <= set(known["WorkloadFile"]["properties"])
    assert "quota" in known["QueueFile"]["properties"]
    assert post(client, **{"time_limit": "1h"}).status_code == 201
