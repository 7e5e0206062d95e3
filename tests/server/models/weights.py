"""A repository with weights, and a cache of models in a temporary folder."""

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha1, sha256
from pathlib import Path

from ganglion.model.workload import ResolvedModel
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.server.models.cache.cache import ModelCache
from ganglion.server.models.resolver import ModelResolver
from tests.faults.clock import HandClock
from tests.server.models.registry import COMMIT, FakeRegistry

HF = ResolvedModel("hf://org/repo@main", f"hf://org/repo@{COMMIT}", COMMIT, f"git:{COMMIT}")
WEIGHTS, CARD = os.urandom(700_000), b"# A model\n"
AT = f"/org/repo/resolve/{COMMIT}"


def hub(fake: FakeRegistry, files: dict[str, bytes]) -> None:
    """The registry has a repository with these files."""
    siblings = []
    for name, content in files.items():
        said: dict[str, object] = {"rfilename": name, "size": len(content)}
        git = b"blob %d\0" % len(content) + content
        said["blobId"] = sha1(git, usedforsecurity=False).hexdigest()
        if len(content) > 1_000:
            said["lfs"] = {"sha256": sha256(content).hexdigest(), "size": len(content)}
        siblings.append(said)
        fake.files[f"{AT}/{name}"] = ({}, content)
    body = json.dumps({"sha": COMMIT, "siblings": siblings}).encode()
    fake.files[f"/api/models/org/repo/revision/{COMMIT}"] = ({}, body)


@contextmanager
def caching(
    home: Path, fake: FakeRegistry, more: str = "", effects: Effects = SYSTEM, deadline: str = "10s"
) -> Iterator[ModelCache]:
    """A cache whose clock a pause moves on, over a folder beside the home."""
    home.mkdir(exist_ok=True)
    (home / "models.yaml").write_text(
        f"hf: {{url: '{fake.url}'}}\ns3: {{url: '{fake.url}'}}\n"
        f"oci: {{reg.example: {{url: '{fake.url}'}}}}\n"
        f"cache: {{folder: '{home.parent}/models'{more}}}\ndeadline: {deadline}\n"
    )
    effects = effects._replace(clock=HandClock())
    with closing(ModelCache(ModelResolver(home, effects=effects), effects)) as made:
        made.look()
        made.use([])
        made.start()
        yield made
