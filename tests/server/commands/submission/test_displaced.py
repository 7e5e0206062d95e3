"""What a dry run answers about others: whom it displaces, at what price, and when it starts."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.model.fleet.price import MICRO
from tests.server.access.money.test_prices import put
from tests.server.access.office import API
from tests.server.conftest import Rig
from tests.server.test_workloads import post

HOUR_MS = 3_600_000
FULL = {"resources": {"gpus": 8}}


def tried(client: TestClient, name: str = "new", **more: Any) -> Any:
    answer = post(client, name, params_={"dry_run": True}, **(FULL | more))
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def full(client: TestClient, rig: Rig) -> TestClient:
    """Both nodes are full for an hour: with one that saves every 25 min, one that never does."""
    saves = {"checkpoint": {"interval": "25m"}}
    post(client, "saver", **FULL, **saves, time_limit="4h", priority=40)
    post(client, "blind", **FULL, time_limit="4h", priority=60)
    rig.turn(2)
    rig.machine.time += HOUR_MS
    return client


def test_whom_it_displaces_is_named_with_what_it_loses(full: TestClient, rig: Rig) -> None:
    rig.machine.time += 10 * 60_000
    found = tried(full, priority=50)
    (each,) = found["displaced"]["items"]
    assert found["stops"] == [each["gang"]] == ["saver-1/0"]
    assert (each["name"], each["workload"], each["queue"]) == ("saver", "saver-1", "default")
    assert (each["fate"], each["gpu_milli"], each["most_micro"]) == ("requeued", 8000, None)
    assert 8 * 15 * 60_000 <= each["lost_gpu_ms"] <= 8 * 25 * 60_000
    assert found["displaced"]["lost_gpu_ms"] == each["most_gpu_ms"] == each["lost_gpu_ms"]
    assert found["start"] is found["start_unknown"] is None


def test_what_is_lost_without_checkpoints_is_unknown_and_costs_at_most_all(
    full: TestClient, rig: Rig
) -> None:
    put(full, "H100", 3 * MICRO, since=1, currency="EUR")
    found = tried(full, nodes=2, priority=70)["displaced"]
    saver, blind = sorted(found["items"], key=lambda each: each["gang"], reverse=True)
    assert blind["lost_gpu_ms"] is None
    assert blind["most_gpu_ms"] == pytest.approx(8 * HOUR_MS, abs=100_000)
    assert blind["most_micro"] == pytest.approx(24 * MICRO, abs=100_000)
    assert (found["unknown"], found["lost_gpu_ms"]) == (1, saver["lost_gpu_ms"])
    assert found["most_gpu_ms"] == saver["most_gpu_ms"] + blind["most_gpu_ms"]
    assert found["most_micro"] == saver["most_micro"] + blind["most_micro"]
    assert found["currency"] == "EUR"


def test_one_that_its_retries_do_not_start_again_ends(client: TestClient, rig: Rig) -> None:
    post(client, "once", **FULL, nodes=2, priority=40, retry={"on": ["node_failure"]})
    rig.turn(2)
    (each,) = tried(client, priority=50)["displaced"]["items"]
    assert each["fate"] == "ended"


def test_the_plan_names_whom_it_displaces_and_not_what_they_lose(
    full: TestClient, rig: Rig
) -> None:
    first = tried(full, priority=50)
    rig.machine.time += 60_000
    later = tried(full, priority=50)
    assert later["displaced"] != first["displaced"]
    assert later["plan"] == first["plan"]
    assert (
        post(full, "new", params_={"if_plan": first["plan"]}, **FULL, priority=50).status_code
        == 201
    )


def test_when_it_starts_is_what_why_says_then(full: TestClient, rig: Rig) -> None:
    for number in range(3):
        post(full, f"ahead-{number}", **FULL, priority=40, time_limit="2h")
    rig.turn()
    found = tried(full, priority=40, time_limit="1h")
    assert found["placement"] is None
    assert found["start"]["p50"] > rig.machine.time + HOUR_MS // 2
    taken = post(full, "new", **FULL, priority=40, time_limit="1h").json()["id"]
    rig.turn()
    (why,) = full.get(f"{API}/workloads/{taken}/why").json()["explanations"]
    assert why["start"]["p50"] == pytest.approx(found["start"]["p50"], abs=1_000)
    assert why["start"]["p90"] == pytest.approx(found["start"]["p90"], abs=1_000)


def test_a_sweep_says_how_many_gangs_it_has_and_a_held_one_why_its_start_is_unknown(
    full: TestClient,
) -> None:
    assert tried(full, params={"lr": [1, 2, 3]}, kind="sweep")["gangs"] == 3
    held = tried(full, held=True)
    assert (held["gangs"], held["start_unknown"], held["start"]) == (1, "blocked", None)
    assert tried(full, resources={"gpus": 64})["start_unknown"] == "never"
