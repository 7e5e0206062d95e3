"""The command line against a real API server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.harness import Done
from tests.controlplane.cluster import Cluster
from tests.controlplane.fixtures import cluster, control_plane, control_plane_programs, manager
from tests.controlplane.kubelet import Kubelets

from ganglion.cli.main import run
from ganglion.cli.output import screen

__all__ = ["cluster", "control_plane", "control_plane_programs", "manager"]

Ganglion = Callable[..., Done]
TRAIN = """
name: llama
image: img:1
run: [python, train.py]
nodes: 2
resources: {gpus: 4}
queue: research
env: [TOKEN]
"""


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home of its own, and a clock that runs."""
    monkeypatch.setenv("GANGLION_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TOKEN", "s3cret")
    for name in ("GANGLION_CONTEXT", "GANGLION_SCHEDULER", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "train.yaml").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ganglion(cluster: Cluster, capfdbinary: pytest.CaptureFixture[bytes]) -> Ganglion:
    """Run a command in the namespace team-a of the cluster."""
    cluster.add_namespace("team-a")
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": "team-a"},
        }
    )

    def call(*args: str) -> Done:
        screen.out.cache_clear()
        screen.err.cache_clear()
        where = ("--kubeconfig", str(cluster.kubeconfig), "--namespace", "team-a")
        code = run([*args, *where])
        captured = capfdbinary.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())

    return call


@pytest.fixture
def kubelets(cluster: Cluster, manager: None) -> Iterator[Kubelets]:
    playing = Kubelets(cluster.plane).start()
    yield playing
    playing.stop()
