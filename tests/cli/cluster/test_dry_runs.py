"""`ganglion submit --dry-run` on a cluster: its scheduler says where the workload would start."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fastapi.testclient import TestClient
from tests.cli.harness import Ganglion
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.scheduling import scheduling

from ganglion.server.cluster.readonly import make_readonly_app
from ganglion.server.cluster.source import ClusterSource
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import error_of

ROOT = "/api/v1/namespaces/ganglion-system/services/http:ganglion:8080/proxy"


def files(folder: Path) -> None:
    for name, more in {
        "fits": "nodes: 2\nresources: {gpus: 4}\n",
        "elsewhere": "resources: {gpus: 1}\nconstraints: {labels: {disk: nvme}}\n",
        "never": "nodes: 2\nresources: {gpus: 8}\n",
        "nowhere": "resources: {gpus: 1}\nqueue: nowhere\n",
    }.items():
        text = f"name: {name}\nimage: img:1\nrun: [python, train.py]\n{more}"
        (folder / f"{name}.yaml").write_text(text)


@pytest.fixture
def proxied(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A scheduler at work, whose views answer where the service proxy of the API server would."""
    straight = Api.create
    with scheduling(cluster) as scheduler:
        source = ClusterSource()
        source.attach(scheduler)
        with TestClient(make_readonly_app(source)) as views:

            async def create(
                api: Api, path: str, body: object, kind: type[Any] | None = None, **rest: Any
            ) -> Any:
                if not path.startswith(ROOT):
                    return await straight(api, path, body, kind, **rest)  # type: ignore[arg-type]
                answer = views.post(
                    path.removeprefix(ROOT),
                    content=msgspec.json.encode(body),
                    params=rest["params"],
                    headers={"Content-Type": "application/json"},
                )
                if answer.is_error:
                    raise error_of(f"POST {path}", answer.status_code, answer.content)
                return msgspec.json.decode(answer.content, type=kind or object)

            monkeypatch.setattr(Api, "create", create)
            assert scheduler.ready.wait(30)
            yield


def test_the_scheduler_says_where_it_would_start_or_why_not(
    cluster: Cluster, ganglion: Ganglion, proxied: None, tmp_path: Path
) -> None:
    files(tmp_path)
    cluster.add_nodes(2, gpus=4)
    nvme = {"metadata": {"labels": {"disk": "nvme"}}}
    cluster.patch("/api/v1/nodes/node-1", nvme)
    done = cluster.wait(
        lambda: (one := ganglion("submit", "fits.yaml", "--dry-run")).code == 0 and one,
        "the scheduler knows the nodes",
    )
    assert "Job team-a/fits" in done.out
    assert "fits would start now" in done.out
    assert "node-0" in done.out
    assert "node-1" in done.out
    done = cluster.wait(
        lambda: (one := ganglion("submit", "elsewhere.yaml", "--dry-run")).code == 0 and one,
        "the scheduler knows the label",
    )
    assert "node-1" in done.out
    assert "node-0" not in done.out
    plans = [_plan(ganglion("submit", "fits.yaml", "--dry-run").err) for _ in range(2)]
    assert plans[0] == plans[1]
    assert _plan(done.err) != plans[0]
    done = ganglion("submit", "elsewhere.yaml", "--if-plan", plans[0], "-d")
    assert done.code == 1
    assert f"not {plans[0]}: the workload or the fleet is" in " ".join(done.err.split())
    assert cluster.list("/apis/batch/v1/namespaces/team-a/jobs") == []
    done = ganglion("submit", "fits.yaml", "--if-plan", plans[0], "-d")
    assert done.code == 0, done.err
    (job,) = cluster.list("/apis/batch/v1/namespaces/team-a/jobs")
    assert job["metadata"]["name"] == "fits"
    done = ganglion("submit", "fits.yaml", "--if-plan", plans[0], "-d")
    assert "exists already" in done.err
    cluster.delete("/apis/batch/v1/namespaces/team-a/jobs/fits")
    done = ganglion("submit", "never.yaml", "--dry-run")
    assert done.code == 1
    assert "never can never start: " in done.out
    done = ganglion("submit", "nowhere.yaml", "--dry-run")
    assert done.code == 1
    assert "the scheduler would not place it: there is no queue nowhere" in done.err
    assert cluster.list("/apis/batch/v1/namespaces/team-a/jobs") == []


def test_without_a_scheduler_the_cluster_alone_is_asked(
    cluster: Cluster, ganglion: Ganglion, tmp_path: Path
) -> None:
    files(tmp_path)
    done = ganglion("submit", "fits.yaml", "--dry-run")
    assert done.code == 0, done.err
    assert "Job team-a/fits" in done.out
    assert "would start" not in done.out
    assert "no scheduler says where fits would start" in " ".join(done.err.split())
    done = ganglion("submit", "fits.yaml", "--if-plan", "0" * 20, "-o", "json")
    assert done.code == 1
    assert "no scheduler says where fits would start" in " ".join(done.err.split())
    assert cluster.list("/apis/batch/v1/namespaces/team-a/jobs") == []


def _plan(said: str) -> str:
    found = re.search(r"plan ([0-9a-f]{20}) of turn [1-9][0-9]{12}", said)
    assert found, said
    return found[1]
