"""References against a real MLflow with a registry in SQLite."""

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ganglion.model.errors import FieldError, ModelRegistryDown
from ganglion.server.models.resolver import ModelResolver
from tests.mlflow.build import cached, missing
from tests.server.process import until

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server."""
    folder, port = tmp_path_factory.mktemp("mlflow"), free_port()
    command = [str(cached() / "bin" / "python"), "-m", "mlflow", "server", "--workers", "1"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    command += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=env)
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: _answers(url, server), 300)
        yield url
    finally:
        server.terminate()
        server.wait(30)


def _answers(url: str, server: "subprocess.Popen[bytes]") -> bool:
    assert server.poll() is None, "MLflow ended"
    try:
        return httpx2.get(f"{url}/health", timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


def post(url: str, path: str, **body: Any) -> dict[str, Any]:
    answer = httpx2.post(f"{url}/api/2.0/mlflow/{path}", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_aliases_and_versions_of_a_real_registry(mlflow: str, tmp_path: Path) -> None:
    (tmp_path / "models.yaml").write_text(f"mlflow: {{url: '{mlflow}'}}\ndeadline: 1m\n")
    resolver = ModelResolver(tmp_path)
    post(mlflow, "registered-models/create", name="chat")
    for number in (1, 2):
        post(mlflow, "model-versions/create", name="chat", source=f"s3://bucket/chat/{number}")
    post(mlflow, "registered-models/alias", name="chat", alias="champion", version="1")
    first = asyncio.run(resolver.resolve("models:/chat@champion"))
    assert (first.uri, first.version) == ("models:/chat/1", "1")
    pinned = asyncio.run(resolver.resolve("models:/chat/1"))
    assert (pinned.uri, pinned.digest) == (first.uri, first.digest)
    post(mlflow, "registered-models/alias", name="chat", alias="champion", version="2")
    second = asyncio.run(resolver.resolve("models:/chat@champion"))
    assert second.uri == "models:/chat/2"
    assert second.digest != first.digest
    for reference in ("models:/chat@gone", "models:/chat/9", "models:/other/1"):
        with pytest.raises(FieldError) as refused:
            asyncio.run(resolver.resolve(reference))
        assert refused.value.key == "model"
    (tmp_path / "models.yaml").write_text(f"mlflow: {{url: '{mlflow}/elsewhere'}}\n")
    with pytest.raises((FieldError, ModelRegistryDown)):
        asyncio.run(resolver.resolve("models:/chat/1"))
