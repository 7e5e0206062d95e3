"""Images of workloads: their digests are found out once, and nothing waits for that."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.model.events import GangSubmitted
from ganglion.server.models import images
from ganglion.server.models.images import watched_as
from ganglion.server.models.resolver import ModelResolver
from ganglion.server.requests.context import ServerContext
from tests.server.conftest import Rig
from tests.server.models.registry import DIGEST, FakeRegistry, fake_registry

IMAGE = "reg.example/team/chat:v3"


def body(name: str, image: str = IMAGE) -> dict[str, Any]:
    return {"name": name, "run": "true", "image": image, "hold": True}


def recorded(rig: Rig) -> list[str]:
    return [each.image for each in rig.ledger.replay() if isinstance(each, GangSubmitted)]


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        (IMAGE, f"oci://{IMAGE}"),
        ("reg.example:5000/chat", "oci://reg.example:5000/chat:latest"),
        ("localhost/chat", "oci://localhost/chat:latest"),
        ("team/chat:1", "oci://docker.io/team/chat:1"),
        ("ubuntu", "oci://docker.io/library/ubuntu:latest"),
    ],
)
def test_a_name_means_what_it_means_to_container_runtimes(image: str, reference: str) -> None:
    assert watched_as(image) == reference


def test_a_tag_is_resolved_when_it_is_submitted_and_recorded_with_its_digest(
    client: TestClient, context: ServerContext, rig: Rig
) -> None:
    with fake_registry() as fake:
        home = context.home.root
        (home / "models.yaml").write_text(f"oci: {{'reg.example': {{url: '{fake.url}'}}}}\n")
        context.find_model = ModelResolver(home).resolve
        _submit(client, fake)
        many = {"workloads": [body("many"), body("pinned", f"reg.example/x@{DIGEST}")]}
        assert client.post("/api/v1/workloads:submit", json=many).json()["refused"] == 0
    resolved = f"{IMAGE}@{DIGEST}"
    assert recorded(rig) == [resolved, resolved, f"reg.example/x@{DIGEST}"]
    shown = client.get("/api/v1/workloads/one").json()
    assert (shown["image"], shown["document"]["image"]) == (resolved, IMAGE)


def _submit(client: TestClient, fake: FakeRegistry) -> None:
    """A dry run records nothing and asks nothing."""
    assert client.post("/api/v1/workloads?dry_run=true", json=body("one")).status_code == 200
    assert fake.asked == []
    assert client.post("/api/v1/workloads", json=body("one")).status_code == 201
    assert len(fake.asked) == 1


@pytest.mark.parametrize(
    ("known", "image", "why"),
    [
        (False, "ubuntu:24.04", "no registry docker.io is known to this server"),
        (True, "reg.example/team/chat:gone", "gone"),
        (True, IMAGE, "did not answer within 0.1 s"),
        (True, "Not an image", "is no name of an image"),
    ],
)
def test_an_image_that_is_not_known_is_recorded_with_the_reason_and_the_job_goes_on(
    client: TestClient,
    context: ServerContext,
    rig: Rig,
    monkeypatch: pytest.MonkeyPatch,
    known: bool,
    image: str,
    why: str,
) -> None:
    monkeypatch.setattr(images, "DEADLINE_S", 0.1)
    with fake_registry() as fake:
        home = context.home.root
        fake.silent = image == IMAGE
        if known:
            (home / "models.yaml").write_text(f"oci: {{'reg.example': {{url: '{fake.url}'}}}}\n")
        context.find_model = ModelResolver(home).resolve
        assert client.post("/api/v1/workloads", json=body("one", image)).status_code == 201
        fake.leave.set()
    (said,) = recorded(rig)
    assert said.startswith(f"{image} (unresolved: ")
    assert why in said
