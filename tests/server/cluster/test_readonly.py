"""The server's views over a state of another owner."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from ganglion.model.errors import InputError
from ganglion.server.cluster.readonly import make_readonly_app
from ganglion.server.state.transaction import Mind
from ganglion.worlds.kubernetes.rehearsal.rehearse import RehearsedObjects
from tests.server.conftest import Rig


class Kept:
    """What a rig keeps, as a source."""

    def __init__(self, rig: Rig) -> None:
        self.rig, self.registry = rig, CollectorRegistry()
        self.broken = self.early = self.missing = ""

    def read(self) -> AbstractContextManager[Mind]:
        return self.rig.service.read()

    def rehearse(
        self, objects: Sequence[Mapping[str, Any]], namespace: str
    ) -> tuple[RehearsedObjects, int]:
        raise InputError(f"{len(objects)} objects of {namespace} are of no cluster")

    def now(self) -> int:
        return self.rig.service.now()

    def endpoints(self) -> Mapping[str, str]:
        return {"train-1/0": "10.0.0.1:80"}

    def trouble(self) -> str:
        return self.broken

    def unready(self) -> str:
        return self.early

    def lacking(self) -> str:
        return self.missing


@pytest.fixture
def kept(rig: Rig) -> Kept:
    return Kept(rig)


@pytest.fixture
def views(kept: Kept) -> Iterator[TestClient]:
    with TestClient(make_readonly_app(kept), raise_server_exceptions=False) as made:
        yield made


def test_workloads_are_listed_newest_first_page_by_page(rig: Rig, views: TestClient) -> None:
    for name in ("a", "b", "c"):
        rig.submit(name)
    page = views.get("/v1/workloads", params={"limit": 2}).json()
    assert [each["name"] for each in page["items"]] == ["c", "b"]
    rest = views.get("/v1/workloads", params={"limit": 2, "after": page["next"]}).json()
    assert ([each["name"] for each in rest["items"]], rest["next"]) == (["a"], None)
    assert views.get("/v1/workloads", params={"user": "nobody"}).json()["items"] == []
    assert len(views.get("/v1/workloads", params={"user": "ada"}).json()["items"]) == 3


def test_one_is_told_by_id_name_gang_or_beginning(rig: Rig, views: TestClient) -> None:
    made = rig.submit("train")
    for ref in (made, "train", "tra", f"{made}/0", "train/0"):
        assert views.get(f"/v1/workloads/{ref}").json()["id"] == made
    found = views.get(f"/v1/workloads/{made}").json()["gangs"][0]
    assert found["endpoint"] == "10.0.0.1:80"


def test_names_are_found_with_and_without_namespace(rig: Rig, views: TestClient) -> None:
    made = rig.submit("train")
    with rig.service.read() as mind:
        entry = mind.book.entries[made]
        entry.workload = type(entry.workload)(name="team-a/train", user="team-a")
    assert views.get("/v1/workloads/team-a/train").json()["name"] == "team-a/train"
    assert views.get("/v1/workloads/train").json()["name"] == "team-a/train"
    assert len(views.get("/v1/workloads", params={"user": "team-a"}).json()["items"]) == 1


def test_why_tells_the_reason_of_a_wait(rig: Rig, views: TestClient) -> None:
    rig.submit("wide", resources={"gpus": 8}, nodes=2)
    made = rig.submit("late", resources={"gpus": 8})
    rig.turn()
    why = views.get(f"/v1/workloads/{made}/why").json()
    assert why["explanations"][0]["reason"]["token"] == "capacity"
    alone = views.get(f"/v1/workloads/{made}/0/why").json()
    assert [each["gang"] for each in alone["explanations"]] == [f"{made}/0"]


def test_what_is_not_there_and_what_is_not_clear(rig: Rig, views: TestClient) -> None:
    rig.submit("train-a")
    rig.submit("train-b")
    gone = views.get("/v1/workloads/other")
    assert (gone.status_code, gone.json()["code"]) == (404, "state.not_found")
    several = views.get("/v1/workloads/train")
    assert (several.status_code, several.json()["code"]) == (409, "state.conflict")
    assert views.get("/v1/workloads/train-a/7").status_code == 404


def test_the_cluster_is_shown_as_the_server_shows_it(rig: Rig, views: TestClient) -> None:
    rig.submit("train")
    assert [each["name"] for each in views.get("/v1/nodes").json()["items"]] == ["n0", "n1"]
    assert views.get("/v1/queues").json()["items"][0]["gpu_used_milli"] == 1000
    assert views.get("/v1/gpus").json()["items"][0]["gpu_total_milli"] == 16_000
    assert views.get("/v1/order").json() == {"items": [], "total": 0, "next": None}


def test_nothing_can_be_changed(rig: Rig, views: TestClient) -> None:
    made = rig.submit("train")
    for method, path in (
        ("POST", "/v1/workloads"),
        ("PATCH", f"/v1/workloads/{made}"),
        ("POST", f"/v1/workloads/{made}/cancel"),
        ("PUT", "/v1/queues/x"),
        ("DELETE", "/v1/queues/default"),
    ):
        assert views.request(method, path, json={}).status_code in (404, 405)


def test_probes_tell_trouble_from_not_yet(kept: Kept, views: TestClient) -> None:
    assert views.get("/healthz").json() == {
        "status": "ok",
        "trouble": "",
        "checks": [
            {"name": "clusters", "status": "ok", "message": ""},
            {"name": "views", "status": "ok", "message": ""},
        ],
    }
    assert views.get("/readyz").status_code == 200
    kept.missing = "cluster west is set aside"
    said = views.get("/readyz").json()
    assert (said["status"], said["trouble"]) == ("ok", "cluster west is set aside")
    kept.early = "nodes are being listed"
    assert views.get("/healthz").status_code == 200
    assert views.get("/readyz").json()["trouble"] == "nodes are being listed"
    assert views.get("/readyz").status_code == 503
    kept.broken = "the lease is lost"
    assert views.get("/healthz").status_code == 503


def test_metrics_of_the_state_join_those_of_the_source(rig: Rig, views: TestClient) -> None:
    rig.submit("train")
    text = views.get("/metrics").text
    assert 'ganglion_gpus_used{flavor="H100"} 1.0' in text
    assert 'ganglion_queue_depth{reason="capacity"} 0.0' in text


def test_while_another_keeps_the_state_views_name_it_and_probes_are_well(kept: Kept) -> None:
    leads = ["east leads"]
    app = make_readonly_app(kept, lambda: leads[0])
    with TestClient(app, raise_server_exceptions=False) as views:
        for path in ("workloads", "workloads/a", "workloads/a/why", "queues", "nodes", "order"):
            answer = views.get(f"/v1/{path}")
            assert answer.status_code == 503
            assert answer.json()["code"] == "environment.standby"
            assert answer.json()["detail"] == "east leads"
        assert views.get("/readyz").status_code == views.get("/metrics").status_code == 200
        leads[0] = ""
        assert views.get("/v1/queues").status_code == 200


def test_objects_are_tried_sixty_times_a_minute_for_a_namespace(views: TestClient) -> None:
    def asked(namespace: str) -> tuple[int, str]:
        answer = views.post("/v1/rehearsals", params={"user": namespace}, json={"objects": [{}]})
        return answer.status_code, answer.json()["detail"]

    found = [asked("team-a") for _ in range(61)]
    assert found[:60] == [(422, "1 objects of team-a are of no cluster")] * 60
    assert found[60] == (429, "namespace team-a asks for dry runs")
    assert asked("team-b")[0] == 422
    assert views.post("/v1/rehearsals", json={"objects": [{}]}).status_code == 422
