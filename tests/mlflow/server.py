"""A real tracking server of MLflow with its registry of models: SQLite, files in a folder."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

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

    def version(self, name: str, files: dict[str, bytes] | None = None, *, source: str = "") -> str:
        """Register what a run has logged as the next version; returns its number.

        Args:
            name: of the registered model.
            files: path below the model -> content, which the server keeps.
            source: where they lie otherwise, in a folder that the run has its files in.
        """
        experiment = "0"
        if source:
            made = self.ask("experiments/create", name=source, artifact_location=source)
            experiment = made["experiment_id"]
        run = self.ask("runs/create", experiment_id=experiment)["run"]["info"]
        root = str(run["artifact_uri"])
        for path, content in (files or {}).items():
            place = root.removeprefix("mlflow-artifacts:/")
            url = f"{self.url}/api/2.0/mlflow-artifacts/artifacts/{quote(f'{place}/model/{path}')}"
            answer = self._client.put(url, content=content)
            assert answer.status_code == 200, answer.text
        source = f"{root}/model"
        said = self.ask("model-versions/create", name=name, source=source, run_id=run["run_id"])
        return str(said["model_version"]["version"])

    def source(self, name: str, version: str) -> str:
        """Where the files of a version lie."""
        said = self._client.get("model-versions/get-download-uri", params=_of(name, version))
        return str(said.json()["artifact_uri"])

    def delete(self, name: str, version: str = "") -> None:
        """Remove a version from the registry; without one, the model with all of them."""
        path = "model-versions/delete" if version else "registered-models/delete"
        answer = self._client.request("DELETE", path, json=_of(name, version))
        assert answer.status_code == 200, answer.text

    def alias(self, name: str, alias: str, version: str) -> None:
        self.ask("registered-models/alias", name=name, alias=alias, version=version)

    def close(self) -> None:
        self._client.close()


def _of(name: str, version: str) -> dict[str, str]:
    return {"name": name} | ({"version": version} if version else {})


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
