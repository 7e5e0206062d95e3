"""A walk through the portal beside a scheduler on a real API server, in a real browser."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tools.portal import PORTAL

from tests.controlplane.cluster import Cluster
from tests.controlplane.fixtures import cluster, control_plane, control_plane_programs, kubelets
from tests.controlplane.kubelet import Kubelets
from tests.portal.test_walk import BROWSERS, PICTURES, ROOT, missing, node
from tests.worlds.kubernetes.process import SchedulerProcess
from tests.worlds.kubernetes.test_outbox import ServerProcess, ready, reporting

__all__ = ["cluster", "control_plane", "control_plane_programs", "kubelets"]

LIMIT_S = 60.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server without nodes of its own."""
    made = ServerProcess(tmp_path / "home")
    with made.running(signal.SIGTERM):
        yield made


@pytest.fixture
def scheduler(
    cluster: Cluster, server: ServerProcess, tmp_path: Path
) -> Iterator[SchedulerProcess]:
    """The scheduler of the cluster, which delivers to the server as `east`."""
    cluster.wait(lambda: ready(server), "the server serves", LIMIT_S)
    assert server.run("role", "grant", "east", "reporter", "-q", "east:")[0] == 0
    code, made = server.run("token", "create", "east", "reporter", "-q", "east:")
    assert code == 0
    token = tmp_path / "token"
    token.write_text(made.strip().split()[-1])
    with SchedulerProcess(
        cluster.kubeconfig, *reporting(server, tmp_path / "outbox", token)
    ) as process:
        yield process


@pytest.mark.skipif(bool(missing()), reason=f"NO WALK BESIDE A CLUSTER: {missing()}")
def test_the_portal_shows_and_follows_the_work_of_a_cluster(
    cluster: Cluster, kubelets: Kubelets, server: ServerProcess, scheduler: SchedulerProcess
) -> None:
    cluster.add_nodes(3, gpus=4, labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
    train = cluster.add_gang("train", 2, gpus=4)
    cluster.wait_bound(train)
    cluster.add_gang("stretch", 2, gpus=4, annotations={"ganglion.dev/gang-min": "1"})
    cluster.wait(lambda: len(cluster.bound()) > len(train), scheduler.log, LIMIT_S)
    late = cluster.add_gang("late", 2, gpus=4)

    def end(names: list[str]) -> None:
        for name in names:
            kubelets.end(cluster.pods("default")[name])

    deeds: dict[str, Callable[[], None]] = {
        "end train": lambda: end(train),
        "end late": lambda: end(late),
        "end the scheduler": lambda: os.kill(scheduler.process.pid, signal.SIGTERM),
    }
    _, link = server.run("portal")
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    with subprocess.Popen(
        [node(), str(PORTAL / "e2e" / "cluster.mjs")],
        env={
            **os.environ,
            "PORTAL_LINK": link.strip(),
            "CHROMIUM": browser,
            "OUT": os.environ.get(PICTURES, ""),
        },
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as walk:
        assert walk.stdin
        assert walk.stdout
        said = []
        for line in walk.stdout:
            said.append(line)
            if line.startswith("act "):
                deeds[line.removeprefix("act ").strip()]()
                walk.stdin.write("done\n")
                walk.stdin.flush()
    assert walk.returncode == 0, "".join(said) + scheduler.log
    assert "all of it holds\n" in said
