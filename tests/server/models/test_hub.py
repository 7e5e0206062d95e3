"""Repositories of a hub whose files fill an answer of several MiB."""

import asyncio
import json

import httpx2
import pytest

from ganglion.model.errors import ModelRegistryDown
from ganglion.server.models.asking import RegistryClient
from ganglion.server.models.cache.sources import MOST_FILES
from ganglion.server.models.registries import MOST_LISTED, HubRegistry
from ganglion.server.models.settings import HttpRegistry
from ganglion.specs.grammar.rules.models import ModelReference
from tests.server.models.registry import COMMIT
from tests.server.models.weights import HF

WANTED = ModelReference("hf", "org/repo", "@", COMMIT)


def answering(body: bytes) -> HubRegistry:
    """A hub that says this of every repository."""
    transport = httpx2.MockTransport(lambda _request: httpx2.Response(200, content=body))
    client = RegistryClient(lambda _name: None, transport)
    return HubRegistry(HttpRegistry("http://hub.example"), client)


def test_a_repository_with_as_many_files_as_are_kept_is_listed() -> None:
    lfs = {"sha256": "a" * 64, "size": 1 << 30, "pointerSize": 135}
    siblings = [
        {
            "rfilename": f"{'d' * 250}/{'e' * 250}/{n:0250}",
            "blobId": "b" * 40,
            "size": 1 << 30,
            "lfs": lfs,
        }
        for n in range(MOST_FILES)
    ]
    body = json.dumps({"sha": COMMIT, "siblings": siblings}).encode()
    assert 9 << 20 < len(body) < MOST_LISTED
    hub = answering(body)
    assert asyncio.run(hub.resolve(WANTED)).version == COMMIT
    found = asyncio.run(hub.contents(WANTED, HF))
    assert (len(found), found[0].size, found[0].check) == (
        MOST_FILES,
        1 << 30,
        f"sha256:{'a' * 64}",
    )


def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    hub = answering(b" " * (MOST_LISTED + 1))
    for asked in (hub.resolve(WANTED), hub.contents(WANTED, HF)):
        with pytest.raises(ModelRegistryDown, match=r"hub\.example answers with more than 16 MiB"):
            asyncio.run(asked)
