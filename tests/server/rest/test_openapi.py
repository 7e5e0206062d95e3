"""The OpenAPI page tells the truth: every check of schemathesis over every operation."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import schemathesis
from fastapi.testclient import TestClient
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from ganglion.seams.clock import SystemClock
from ganglion.seams.effects import SYSTEM
from ganglion.server.app import guarded, make_app
from ganglion.server.requests.context import ServerContext
from ganglion.transport.hosts import Hosts
from tests.effort import TIMES, examples
from tests.server.test_workloads import API, post

AUTH = {"Authorization": "Bearer secret"}
REFUSED = ["400", "401", "403", "404", "405", "406", "409", "412", "413", "415", "422", "5xx"]
"""A body that is too large is 413, a tag that does not fit 412: those are refusals too."""

DOCUMENTS = (
    "POST /api/v1/workloads",
    "POST /api/v1/workloads:submit",
    "PUT /api/v1/bookings/{name}",
    "PUT /api/v1/queues/{name}",
    "POST /api/v1/queues/{name}/check",
)
"""Operations whose body is a file."""

ADDRESSES = "what an address or the URL of a webhook is, no JSON Schema describes"
GRAMMAR = "durations, cron expressions and quantities are languages that no JSON Schema describes"
FILES = "a file may say numbers and lists in words: its grammar is not that of its schema"
NAMES = "users, queues and times to come are checked against what there is"
PASSWORDS = "a password that is easy to guess, or the one so far that is wrong, is refused"
CURSOR = "a cursor is what a page gave: text of another origin is refused by name"
EVENTS = (
    "what an event has is on the page of events, and numbers of records are bound to one another"
)
EXPLAINED: dict[tuple[str, str], str] = {
    **{("positive_data_acceptance", each): FILES for each in DOCUMENTS},
    **{("negative_data_rejection", each): FILES for each in DOCUMENTS},
    ("positive_data_acceptance", "PUT /api/v1/notices"): ADDRESSES,
    ("positive_data_acceptance", "PUT /api/v1/policy"): FILES,
    ("positive_data_acceptance", "POST /api/v1/policy/check"): FILES,
    **{
        ("positive_data_acceptance", f"GET /api/v1/{each}"): CURSOR
        for each in (
            *("bookings", "drains", "gpus", "history", "nodes", "order", "policy/versions"),
            *("queues", "schedules", "usage", "workloads", "audit/records"),
        )
    },
    ("positive_data_acceptance", "GET /api/v1/workloads/{ref}/logs"): GRAMMAR,
    ("positive_data_acceptance", "PATCH /api/v1/workloads/{ref}"): GRAMMAR,
    ("positive_data_acceptance", "POST /api/v1/workloads/{ref}/scale"): GRAMMAR,
    ("positive_data_acceptance", "PUT /api/v1/prices/{flavor}"): GRAMMAR,
    ("positive_data_acceptance", "PUT /api/v1/budgets/{name}"): GRAMMAR,
    **{
        ("positive_data_acceptance", f"POST /api/v1/workloads:{verb}"): (
            "neither workloads nor a filter: the keys are bound to one another"
        )
        for verb in ("cancel", "resume", "suspend", "update")
    },
    **{
        ("positive_data_acceptance", f"POST /api/v1/{each}"): NAMES
        for each in ("roles:grant", "roles:revoke", "tokens")
    },
    ("positive_data_acceptance", "POST /api/v1/users"): PASSWORDS,
    ("positive_data_acceptance", "PUT /api/v1/users/{user}/password"): PASSWORDS,
    ("positive_data_acceptance", "POST /api/v1/clusters/{name}/records"): EVENTS,
    ("positive_data_acceptance", "POST /api/v1/clusters/{name}/answers"): (
        "`why` has the form in which the server itself answers that question"
    ),
    # The stream of events is closed so that it ends, as of a server that leaves.
    ("not_a_server_error", "GET /readyz"): "503 is how a server that shuts down answers",
    ("positive_data_acceptance", "GET /readyz"): "503 is how a server that shuts down answers",
}
"""Findings that are no faults: check and operation -> why."""


class HastyClock(SystemClock):
    """A minute passes in a few ms, so that no number of requests is too many."""

    def monotonic(self) -> float:
        return super().monotonic() * 10_000


class Finding(NamedTuple):
    """What a check of schemathesis found."""

    check: str
    operation: str
    said: str
    request: str
    answer: str


def test_every_answer_is_as_described(context: ServerContext) -> None:
    # So that the stream of events, and logs that are followed, have an end.
    context.feed.close()
    context.effects = SYSTEM._replace(clock=HastyClock())
    app = guarded(make_app(context), "secret", Hosts(["testserver"]), loopback=True)
    with TestClient(app, "http://localhost", headers=AUTH) as client:
        post(client)
        schema = schemathesis.openapi.from_asgi(
            f"{API}/openapi.json", app, config=_config(), headers=AUTH
        )
        tried: set[str] = set()
        found = list(_findings(schema, tried))
        paths = client.get(f"{API}/openapi.json").json()["paths"]
    described = {
        f"{method.upper()} {path}" for path, methods in paths.items() for method in methods
    }
    assert tried >= described
    assert [each for each in found if (each.check, each.operation) not in EXPLAINED] == []
    assert {operation for _, operation in EXPLAINED} <= described


def _config() -> SchemathesisConfig:
    """All checks and phases, the same requests every time; more of them in a soak."""
    costly = [] if TIMES > 1 else [*DOCUMENTS, *(f"POST /api/v1/workloads:{v}" for v in VERBS)]
    return SchemathesisConfig.from_dict(
        {
            "seed": int(os.environ.get("GANGLION_SEED", "20260101")),
            "headers": AUTH,
            "continue-on-failure": True,
            "request-timeout": 120,
            "generation": {
                "max-examples": examples(2),
                "deterministic": TIMES == 1,
                "no-shrink": True,
                "database": "none",
            },
            "checks": {
                "negative_data_rejection": {"expected-statuses": REFUSED},
                "positive_data_acceptance": {
                    "expected-statuses": ["2xx", "304", "401", "403", "404", "409", "412"]
                },
            },
            # Thousands of requests each: they are drawn, and covered in a soak.
            "operations": [
                {"include-name": each, "phases": {"coverage": {"enabled": False}}}
                for each in costly
            ],
        }
    )


VERBS = ("cancel", "resume", "suspend", "update")


def _findings(schema: Any, tried: set[str]) -> Iterator[Finding]:
    for event in from_schema(schema).execute():
        assert not isinstance(event, events.NonFatalError | events.FatalError), event
        if not isinstance(event, events.ScenarioFinished | events.FuzzScenarioFinished):
            continue
        recorder = event.recorder
        tried |= {each.value.operation.label for each in recorder.cases.values()}
        for number, checks in recorder.checks.items():
            for each in checks:
                if each.failure_info is not None:
                    sent = recorder.interactions[number]
                    operation = recorder.cases[number].value.operation.label
                    yield Finding(
                        each.name,
                        operation,
                        each.failure_info.failure.message,
                        f"{sent.request.method} {sent.request.uri} {sent.request.body!r}"[:500],
                        f"{sent.response and sent.response.content!r}"[:500],
                    )


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
