"""A server with a tree of queues, two users' work, and callers of every role."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fastapi.testclient import TestClient

from ganglion.api.use import ModelStore, StoredModel
from ganglion.audit.anchors import Anchor, AnchorReached
from ganglion.identity.roles import Role
from ganglion.model.queue import Queue
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.server.app import guarded, make_app
from ganglion.server.notify.choices import NoticeChoices
from ganglion.server.requests.context import ServerContext
from ganglion.server.whatif.questions import WhatIfQuestions
from tests.server.conftest import Rig

API = "/api/v1"
QUEUES = (
    Queue("org"),
    Queue("research", "org"),
    Queue("vision", "research"),
    Queue("speech", "research"),
    Queue("secretlab", "org"),
    Queue("default"),
)

KEPT = ModelStore("/models", 0, models=(StoredModel("hf://lab/zeppelin@1", "git:1", 1, 1),))
"""Models of others, which the server names only to callers who see the whole fleet."""


class Office:
    """The owner's client, and clients of tokens.

    Args:
        rig: the server; its thread runs.
        app: of it, behind the guard.

    Attributes:
        context: of the server.
    """

    context: ServerContext

    def __init__(self, rig: Rig, app: Any) -> None:
        self.rig, self._app = rig, app
        self.owner = TestClient(
            app,
            "http://localhost",
            headers={"Authorization": "Bearer secret"},
            raise_server_exceptions=False,
        )

    def client(self, token: str, address: str = "testclient") -> TestClient:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.caller("http://localhost", headers, address)

    def caller(
        self, url: str, headers: Mapping[str, str] | None = None, address: str = "testclient"
    ) -> TestClient:
        """A client that shares the loop of the owner's, if that is entered."""
        made = TestClient(
            self._app,
            url,
            headers=dict(headers or {}),
            client=(address, 50_000),
            raise_server_exceptions=False,
        )
        made.portal = self.owner.portal  # else each request has a thread and a loop of its own
        return made

    def grant(self, subject: str, role: str, queue: str = "", until: int | None = None) -> None:
        body = {"subject": subject, "role": role, "queue": queue, "until": until}
        done = self.owner.post(f"{API}/roles:grant", json=body)
        assert done.status_code == 200, done.text

    def token(self, user: str, role: str = "admin", queue: str = "", **more: Any) -> str:
        body = {"user": user, "role": role, "queue": queue, **more}
        made = self.owner.post(f"{API}/tokens", json=body)
        assert made.status_code == 201, made.text
        return str(made.json()["token"])

    def user(self, name: str, role: Role | str, queue: str = "") -> TestClient:
        """A client of a user who was granted one role."""
        self.grant(f"user:{name}", str(role), queue)
        return self.client(self.token(name))

    def submit(self, client: TestClient, name: str, queue: str, **more: Any) -> str:
        body = {"name": name, "run": "true", "resources": {"gpus": 1}, "queue": queue, **more}
        made = client.post(f"{API}/workloads", json=body)
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    def events(self, client: TestClient) -> list[dict[str, Any]]:
        """Every event that a client gets, with its number as `seq`."""
        text = client.get(f"{API}/events?follow=false").text
        return [
            json.loads(block.partition("\ndata: ")[2])
            for block in text.split("\n\n")
            if block.startswith("id:")
        ]


@contextmanager
def office(
    rig: Rig,
    *,
    shares_account: bool = False,
    effects: Effects = SYSTEM,
    sign: Callable[[], None] = lambda: None,
    reached: Callable[[Anchor], AnchorReached] = lambda _anchor: AnchorReached(),
    questions: WhatIfQuestions | None = None,
) -> Iterator[Office]:
    """Serve a rig whose thread runs meanwhile."""
    context = ServerContext(
        rig.service,
        rig.home,
        rig.feed,
        rig.metrics,
        "ada",
        shares_account=shares_account,
        effects=effects,
        sign=sign,
        reached=reached,
        questions=questions,
        notices=NoticeChoices(rig.home.root, effects),
        model_store=lambda: KEPT,
    )
    made = Office(rig, guarded(make_app(context), "secret", loopback=True))
    made.context = context
    with made.owner:
        yield made
