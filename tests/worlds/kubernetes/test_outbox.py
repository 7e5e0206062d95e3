"""What a scheduler decides in a cluster is in the ledger of a server, whatever is killed between.

A real API server, a scheduler and a server as processes of their own.
"""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ganglion.audit.export import rows_of
from ganglion.audit.placements import placements
from ganglion.audit.records import DecisionContext, records
from tests.audit.trail import at_rest
from tests.controlplane.cluster import Cluster
from tests.forking import Forked
from tests.ports import unused
from tests.worlds.kubernetes.process import SchedulerProcess

LIMIT_S = 120.0
DIGEST = f"registry.example/train@sha256:{'0a' * 32}"


class ServerProcess:
    """`ganglion server`.

    Args:
        home: of the server.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = unused()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def running(self, end: int = signal.SIGKILL) -> Iterator[Forked]:
        """Run until the end of the context, which is a signal."""
        with self.home.with_suffix(".log").open("ab") as log:
            process = Forked(
                "ganglion.cli.main",
                ["server", "--port", str(self.port)],
                log.fileno(),
                environ={**os.environ, "GANGLION_HOME": str(self.home)},
            )
        try:
            yield process
        finally:
            os.kill(process.pid, end)
            process.wait()

    def run(self, *args: str) -> tuple[int, str]:
        """A command of the user whose server it is; its exit code and output."""
        out = self.home.with_suffix(".out")
        with out.open("wb") as file, self.home.with_suffix(".err").open("wb") as err:
            process = Forked(
                "ganglion.cli.main",
                args,
                file.fileno(),
                err=err.fileno(),
                environ={**os.environ, "GANGLION_HOME": str(self.home)},
            )
            code = process.wait()
        return code, out.read_text()


def ready(server: ServerProcess) -> bool:
    code, _ = server.run("role", "list")
    return code == 0


@pytest.fixture
def server(tmp_path: Path) -> ServerProcess:
    return ServerProcess(tmp_path / "home")


def reporting(server: ServerProcess, outbox: Path, token: Path) -> list[str]:
    return [
        *("--no-lease", "--outbox", str(outbox), "--deliver-to", server.url),
        *("--deliver-as", "east", "--deliver-token", str(token)),
    ]


def run_gang(cluster: Cluster, name: str) -> dict[str, str]:
    """Have a gang placed and run; returns its pods with their nodes."""
    names = cluster.add_gang(name, 2, gpus=4)
    bound = cluster.wait(lambda: _all(cluster, names), f"{name} is bound", LIMIT_S)
    for each in names:
        _say_running(cluster, each)
    return dict(bound)


def _say_running(cluster: Cluster, name: str) -> None:
    """What the kubelet says of a pod whose container runs: also which image that is."""
    path = f"/api/v1/namespaces/default/pods/{name}"
    (container,) = cluster.get(path)["spec"]["containers"]
    said = {"name": container["name"], "image": container["image"], "imageID": DIGEST}
    status = {"phase": "Running", "containerStatuses": [{**said, "ready": True, "restartCount": 0}]}
    cluster.patch(f"{path}/status", {"status": status})


def _all(cluster: Cluster, names: Sequence[str]) -> dict[str, str] | None:
    bound = cluster.bound()
    return {each: bound[each] for each in names} if set(names) <= set(bound) else None


def waits_said(server: ServerProcess) -> bool:
    """Whether the reason of a gang that waits has arrived."""
    code, text = server.run("audit", "show", "--kind", "reasons_changed", "--since", "all")
    return code == 0 and "capacity" in text


def end_gang(cluster: Cluster, pods: dict[str, str]) -> None:
    for each in pods:
        cluster.set_phase(each, "Succeeded")


def ended(server: ServerProcess) -> dict[str, dict[str, Any]]:
    _, text = server.run("history", "--since", "all", "-o", "json")
    return {each["name"]: each for each in json.loads(text or "[]")}


def test_history_and_audit_of_a_cluster_survive_kills_of_its_scheduler_and_of_the_server(
    cluster: Cluster, server: ServerProcess, tmp_path: Path
) -> None:
    cluster.add_nodes(4, gpus=4)
    outbox, token = tmp_path / "outbox", tmp_path / "token"
    where = dict[str, dict[str, str]]()
    kubeconfig = cluster.kubeconfig
    with server.running():
        cluster.wait(lambda: ready(server), "the server serves", LIMIT_S)
        assert server.run("role", "grant", "east", "reporter", "-q", "east:")[0] == 0
        code, made = server.run("token", "create", "east", "reporter", "-q", "east:")
        assert code == 0
        token.write_text(made.strip().split()[-1])
        args = reporting(server, outbox, token)
        with SchedulerProcess(kubeconfig, *args) as scheduler:
            where["a"] = run_gang(cluster, "a")
            where["b"] = run_gang(cluster, "b")
            late = cluster.add_gang("late", 2, gpus=4)
            cluster.wait(lambda: waits_said(server), "it is said why it waits", LIMIT_S)
            end_gang(cluster, where["a"])
            where["late"] = cluster.wait(lambda: _all(cluster, late), scheduler.log, LIMIT_S)
            for each in late:
                _say_running(cluster, each)
            end_gang(cluster, where["late"])
            cluster.wait(lambda: {"a", "late"} <= set(ended(server)), scheduler.log, LIMIT_S)
            _, text = server.run("usage", "--by", "flavor", "-o", "json")
            (flavor,) = (each["flavor"] for each in json.loads(text)["items"])
            assert server.run("price", "set", flavor, "1", "--currency", "EUR")[0] == 0
            assert server.run("budget", "set", "east:default", "10")[0] == 0
            scheduler.kill()
    # The server is down: a scheduler goes on without it, and is killed again.
    with SchedulerProcess(kubeconfig, *args) as scheduler:
        where["c"] = run_gang(cluster, "c")
        end_gang(cluster, where["b"])
        scheduler.kill()
    with SchedulerProcess(kubeconfig, *args), server.running(signal.SIGTERM):
        cluster.wait(lambda: ready(server), "the server serves", LIMIT_S)
        end_gang(cluster, where["c"])  # the budget has no room for both, once it is heard of
        where["d"] = run_gang(cluster, "d")
        end_gang(cluster, where["d"])
        cluster.wait(lambda: {"a", "b", "c", "d"} <= set(ended(server)), "all is over", LIMIT_S)
        found = ended(server)
        assert found["a"]["queue"] == "east:default"
        assert found["a"]["state"] == "SUCCEEDED"
        spent = found["late"]["spent"]
        assert spent["waited"]["capacity"] > 0
        assert sum(spent["waited"].values()) <= spent["wait_ms"]
        (said,) = json.loads(server.run("clusters", "-o", "json")[1])
        assert (said["name"], said["lost"], said["gangs"]) == ("east", 0, 0)
        code, text = server.run("get", "c", "-o", "json")
        assert code == 0
        (gang,) = json.loads(text)["gangs"]
        assert {pod["node"] for pod in gang["placement"]["pods"]} == set(where["c"].values())
        (image,) = json.loads(text)["document"]["images"]
        assert image.endswith(f": {DIGEST}")
        code, text = server.run("whatif", "--cluster", "east", "--since", "1d", "-o", "json")
        assert code == 0, text
        report = json.loads(text)["report"]
        assert report["jobs"] == len(where)
        (queue,) = [each for each in report["groups"] if each["by"] == "queue"]
        assert queue["name"] == "east:default"
        assert "wait_p50_ms" in queue["figures"]
        _budget_holds(cluster, server)
    _check(server, where)


def _budget_holds(cluster: Cluster, server: ServerProcess) -> None:
    """An hour of a gang costs 8 EUR: two do not fit the budget of 10, and the pods say so."""
    run_gang(cluster, "e")
    (late, *_) = cluster.add_gang("f", 2, gpus=4)
    path = f"/api/v1/namespaces/default/pods/{late}"

    def told() -> str:
        conditions = cluster.get(path)["status"].get("conditions", ())
        return next(
            (each["message"] for each in conditions if "budget" in each.get("message", "")), ""
        )

    cluster.wait(told, "a pod waits for the budget", LIMIT_S)
    assert "the budget of queue east:default is 10.00 EUR this month" in told()
    found = json.loads(server.run("budget", "show", "east:default", "-o", "json")[1])
    assert found["reserved_micro"] == 8_000_000
    rows = json.loads(server.run("ps", "-o", "json")[1])
    assert {each["name"]: each["reason"] for each in rows} == {"e": "", "f": "budget"}


def _check(server: ServerProcess, where: dict[str, dict[str, str]]) -> None:
    """The ledger has every placement, nothing is missing, and it verifies."""
    assert server.run("audit", "verify")[0] == 0
    code, _ = server.run("audit", "placement", "--queue", "east:", "-o", "json")
    assert code == 0
    with at_rest(server.home) as reader:
        rows = list(rows_of(reader, 0))
    stays = placements(rows, DecisionContext(policy=0), "east:", {}, 0, 0).stays
    for name, pods in where.items():
        mine = [each for each in stays if f"/{name}" in each.gang]
        assert sorted(each.node for each in mine) == sorted(pods.values()), name
        assert all(each.end for each in mine)
        assert all(each.image and each.ran.endswith(f": {DIGEST}") for each in mine), name
    lost = [each for each in records(rows, DecisionContext()) if each.kind == "records_lost"]
    assert not lost
