"""A repository with weights, and a cache of models in a temporary folder."""

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha1, sha256
from pathlib import Path
from urllib.parse import quote

from ganglion.model.workload import ResolvedModel
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.server.models.cache.cache import ModelCache
from ganglion.server.models.mlflow.artifacts import PROXY
from ganglion.server.models.mlflow.registry import RECORD
from ganglion.server.models.resolver import ModelResolver
from tests.faults.clock import HandClock
from tests.server.models.registry import COMMIT, FakeRegistry

HF = ResolvedModel("hf://org/repo@main", f"hf://org/repo@{COMMIT}", COMMIT, f"git:{COMMIT}")
WEIGHTS, CARD = os.urandom(700_000), b"# A model\n"
FOLDER = "0/run/artifacts/model"
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


def tracked(fake: FakeRegistry, files: dict[str, bytes], **version: str) -> ResolvedModel:
    """The registry has version 3 of `chat` of MLflow, and hands these files of it out."""
    fake.version, fake.place = version, "mlflow-artifacts:/0/run/artifacts/model"
    fake.listings.clear()
    for name, content in files.items():
        folder, _, last = f"{FOLDER}/{name}".rpartition("/")
        listed(fake, folder, path=last, is_dir=False, file_size=len(content))
        while folder != FOLDER:
            folder, _, last = folder.rpartition("/")
            listed(fake, folder, path=last, is_dir=True)
        fake.files[quote(f"{PROXY}/{FOLDER}/{name}")] = ({}, content)
    record = dict.fromkeys(RECORD, "") | {"name": "chat", "version": "3", "source": "s3://b/3"}
    said = json.dumps(dict(sorted((record | version).items())), separators=(",", ":"))
    digest = f"record-sha256:{sha256(said.encode()).hexdigest()}"
    return ResolvedModel("models:/chat@champion", "models:/chat/3", "3", digest)


def listed(fake: FakeRegistry, folder: str, **entry: object) -> None:
    """What MLflow hands out has one more entry; of a file without content it says no size."""
    entries = fake.listings.setdefault(folder, [])
    entry = {key: each for key, each in entry.items() if each != 0 or key == "is_dir"}
    if entry not in entries:
        entries.append(entry)


def rewrite(home: Path, old: str, new: str) -> None:
    """Give the settings of a home another text at once: a cache reads them meanwhile."""
    settings = home / "models.yaml"
    (home / "new.yaml").write_text(settings.read_text().replace(old, new))
    (home / "new.yaml").rename(settings)


@contextmanager
def caching(
    home: Path,
    fake: FakeRegistry,
    more: str = "",
    effects: Effects = SYSTEM,
    deadline: str = "10s",
    mlflow: str = "",
) -> Iterator[ModelCache]:
    """A cache whose clock a pause moves on, over a folder beside the home."""
    home.mkdir(exist_ok=True)
    (home / "models.yaml").write_text(
        f"mlflow: {{url: '{mlflow or fake.url}'}}\n"
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
