"""A real tracking server of MLflow with its registry of models: SQLite, files in a folder."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests import effort
from tests.mlflow.build import build, missing, python
from tests.ports import unused
from tests.server.process import until

QUIET = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
}


class MlflowServer:
    """The registry, as people who train models use it.

    Args:
        url: where it listens.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx2.Client(base_url=f"{url}/api/2.0/mlflow/", timeout=30)

    def ask(self, path: str, **body: object) -> dict[str, Any]:
        answer = self._client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def register(self, name: str) -> None:
        self.ask("registered-models/create", name=name)

    def version(self, name: str) -> str:
        """Register what a run has logged as the next version; returns its number."""
        run = self.ask("runs/create", experiment_id="0")["run"]["info"]
        source = f"{run['artifact_uri']}/model"
        made = self.ask("model-versions/create", name=name, source=source, run_id=run["run_id"])
        return str(made["model_version"]["version"])

    def alias(self, name: str, alias: str, version: str) -> None:
        self.ask("registered-models/alias", name=name, alias=alias, version=version)

    def close(self) -> None:
        self._client.close()


def require() -> None:
    """Skip, and say why, where MLflow is not installed; `make soak` installs it."""
    if effort.TIMES > 1:
        build()
    if missing():
        pytest.skip(f"NO REAL REGISTRY OF MODELS: {missing()}")


@contextmanager
def mlflow_server(folder: Path) -> Iterator[MlflowServer]:
    """Run `mlflow server` on a port of its own."""
    require()
    port = unused()
    options = {
        "backend-store-uri": f"sqlite:///{folder}/mlflow.db",
        "artifacts-destination": f"{folder}/artifacts",
        "host": "127.0.0.1",
        "port": str(port),
        "workers": "1",
    }
    said = [word for name, value in options.items() for word in (f"--{name}", value)]
    with (folder / "mlflow.log").open("wb") as log:
        process = subprocess.Popen(
            [str(python()), "-m", "mlflow", "server", *said],
            cwd=folder,
            env={"HOME": str(folder), "PATH": "/usr/bin:/bin", **QUIET},
            stdout=log,
            stderr=log,
        )
    made = MlflowServer(f"http://127.0.0.1:{port}")
    try:
        until(lambda: process.poll() is not None or _answers(made.url), 120)
        assert process.poll() is None, (folder / "mlflow.log").read_text("utf-8", "replace")
        yield made
    finally:
        made.close()
        process.terminate()
        process.wait(30)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/health", timeout=5).status_code == 200
    except httpx2.TransportError:
        return False
