"""Ended work: what it used, and which of it a request lists."""

from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import update

from ganglion.ledger.sql.tables import workloads
from ganglion.model.events import GangEnded, GangPlaced, GangResized, GangStarted, Outcome
from ganglion.model.placement import Placement, PodPlacement
from ganglion.server.state.spending import Spending
from ganglion.server.views.workloads import history_item
from tests.server.conftest import Rig
from tests.server.test_workloads import API, post, problem, wait_for

MINUTE = 60_000


def place(*gpus: int) -> Placement:
    pods = (PodPlacement("main", i, "n0", tuple(range(n)), 1000) for i, n in enumerate(gpus))
    return Placement(tuple(pods))


def ended(at: int, gang: str = "a-1/0", attempt: int = 1, *, requeue: bool = False) -> GangEnded:
    return GangEnded(at, gang, attempt, Outcome.SUCCEEDED, requeue=requeue)


def test_gpu_time_counts_every_attempt_from_its_placement_and_every_size() -> None:
    spending = Spending()
    for event in (
        GangPlaced(0, "a-1/0", 1, place(2)),
        GangStarted(1 * MINUTE, "a-1/0", 1),
        GangResized(3 * MINUTE, "a-1/0", 1, place(2, 2)),
        ended(5 * MINUTE, requeue=True),
        GangPlaced(10 * MINUTE, "a-1/0", 2, place(1)),
        ended(12 * MINUTE, attempt=2),
    ):
        spending.note(event)
    spent = spending.of["a-1"]
    assert spent.gpu_ms == (2 * 3 + 4 * 2 + 1 * 2) * MINUTE
    assert (spent.run_ms, spent.attempts) == (4 * MINUTE, 2)


def test_gangs_that_run_side_by_side_run_once() -> None:
    spending = Spending()
    for event in (
        GangPlaced(0, "a-1/0", 1, place(1)),
        GangPlaced(0, "a-1/1", 1, place(1)),
        GangStarted(0, "a-1/0", 1),
        GangStarted(2 * MINUTE, "a-1/1", 1),
        ended(3 * MINUTE),
        ended(5 * MINUTE, "a-1/1"),
    ):
        spending.note(event)
    assert spending.of["a-1"].run_ms == 5 * MINUTE
    assert spending.of["a-1"].gpu_ms == 8 * MINUTE


def finish(client: TestClient, rig: Rig, name: str, **how: Any) -> str:
    workload = post(client, name).json()["id"]
    wait_for(client, workload, "RUNNING")
    rig.machine.end(f"{workload}/0", **how)
    wait_for(client, workload, "FAILED" if how else "SUCCEEDED")
    return str(workload)


def names(client: TestClient, **params: Any) -> list[str]:
    answer = client.get(f"{API}/history", params=params)
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["items"]]


def test_history_says_what_was_used(client: TestClient, rig: Rig) -> None:
    finish(client, rig, "a")
    (item,) = client.get(f"{API}/history").json()["items"]
    spent = item["spent"]
    assert spent["attempts"] == 1
    assert spent["run_ms"] > 0
    assert spent["gpu_ms"] >= spent["run_ms"]
    assert spent["wait_ms"] + spent["run_ms"] == item["ended"] - item["submitted"]
    assert client.get(f"{API}/workloads/a").json()["spent"] == spent


def test_what_was_used_before_a_restart_counts(rig: Rig) -> None:
    workload = rig.submit("a", resources={"gpus": 4})
    rig.turn(3)
    rig.machine.time += 10_000
    rig.crash()
    rig.machine.time += 10_000
    rig.machine.end(f"{workload}/0")
    rig.turn(3)
    filed = rig.ledger.history.by_id(workload)
    assert filed
    spent = history_item(filed).spent
    assert spent
    assert spent.run_ms > 20_000
    assert spent.gpu_ms >= 4 * spent.run_ms
    assert spent.attempts == 1


def test_history_is_filtered_and_paged_by_the_end(client: TestClient, rig: Rig) -> None:
    for name in ("a1", "b1"):
        finish(client, rig, name)
    finish(client, rig, "a2", outcome=Outcome.FAILED, code=3)
    post(client, "a3")
    assert names(client) == ["a2", "b1", "a1"]
    assert names(client, state="FAILED") == ["a2"]
    assert names(client, state=["FAILED", "SUCCEEDED"], name="a?") == ["a2", "a1"]
    assert names(client, name="A*") == names(client, name="a[12]") == []
    assert names(client, state="RUNNING") == []
    assert names(client, queue="other") == names(client, user="bob") == []
    assert names(client, user="ada", kind="train", queue="org/default") == ["a2", "b1", "a1"]
    first = client.get(f"{API}/history", params={"limit": 2}).json()
    assert [each["name"] for each in first["items"]] == ["a2", "b1"]
    assert names(client, limit=2, after=first["next"]) == ["a1"]
    at = first["items"][1]["ended"]
    assert names(client, since=at) == ["a2", "b1"]
    assert names(client, until=at) == ["a1"]


def test_ends_of_the_same_moment_are_all_on_some_page(client: TestClient, rig: Rig) -> None:
    made = [finish(client, rig, f"a{i}") for i in range(3)]
    engine = rig.ledger._engine
    with engine.begin() as connection:
        connection.execute(update(workloads).where(workloads.c.id.in_(made)).values(ended=5))
    found, after = list[str](), ""
    while after is not None:
        page = client.get(f"{API}/history", params={"limit": 1, "after": after}).json()
        found += [each["id"] for each in page["items"]]
        after = page["next"]
    assert found == made[::-1]


def test_what_is_no_cursor_is_refused(client: TestClient) -> None:
    for after in ("x", "1", "1-", "-1", f"{1 << 63}-1", "1-2-3"):
        answer = client.get(f"{API}/history", params={"after": after})
        problem(answer, 422, "input.field", "is no cursor", "`next`")
