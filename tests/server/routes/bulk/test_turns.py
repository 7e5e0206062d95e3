"""Many workloads at once: one turn, one commit, and what was refused; lists by filter and page."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.client import Client
from ganglion.model.errors import StateError
from ganglion.server.commands import live
from ganglion.server.rest.filters import WorkloadQuery, wanted
from ganglion.server.routes.bulk import turns as bulk_turns
from ganglion.server.state.transaction import Transaction
from ganglion.server.views.lists import MOST, ended
from tests.server.conftest import Rig
from tests.server.test_workloads import API, detail, post, problem, wait_for


def sdk(client: TestClient) -> Client:
    """The SDK on the same server."""
    return Client("http://127.0.0.1", "secret", transport=client._transport)


def names(client: TestClient, **params: Any) -> list[str]:
    found = client.get(f"{API}/workloads", params=params)
    assert found.status_code == 200, found.text
    return [item["name"] for item in found.json()["items"]]


def commits(rig: Rig) -> int:
    return rig.ledger.cycle


@pytest.fixture
def crowd(client: TestClient) -> TestClient:
    """Three of each of two families on hold, in two queues, and one that runs."""
    for queue in ("default", "team"):
        client.put(f"{API}/queues/{queue}", json={})
    for number in range(3):
        post(client, f"train-{number}", hold=True)
        post(client, f"eval-{number}", hold=True, queue="team", kind="batch")
    post(client, "runs")
    wait_for(client, "runs", "RUNNING")
    return client


def test_workloads_are_found_by_every_filter(crowd: TestClient) -> None:
    assert names(crowd, name="train-*") == ["train-2", "train-1", "train-0"]
    assert names(crowd, name=["*-0", "runs"]) == ["runs", "eval-0", "train-0"]
    assert names(crowd, name="eval-[12]-*") == ["eval-2", "eval-1"]  # ids too: eval-1-4
    assert names(crowd, state="RUNNING") == ["runs"]
    assert names(crowd, state="SUSPENDED") == []
    assert names(crowd, queue=["team"], kind=["batch", "sweep"]) == ["eval-2", "eval-1", "eval-0"]
    assert names(crowd, text="AL-1") == ["eval-1"]
    assert names(crowd, user="eve") == []
    assert names(crowd, since="1h") == names(crowd)
    assert names(crowd, since="2100-01-01") == []
    assert names(crowd, until="1") == []
    wrong = crowd.get(f"{API}/workloads", params={"since": "soon"})
    problem(wrong, 422, "input.field", "since", "10m")
    problem(crowd.get(f"{API}/workloads", params={"state": "no"}), 422, "input.field", "state")


def test_a_state_that_is_an_end_lists_what_has_ended(crowd: TestClient) -> None:
    crowd.post(f"{API}/workloads/train-1/cancel")
    wait_for(crowd, "train-1", "CANCELLED")
    assert names(crowd, state="CANCELLED") == ["train-1"]
    assert names(crowd, state=["CANCELLED", "RUNNING"]) == ["runs", "train-1"]
    assert names(crowd, all=True, name="train-?") == ["train-2", "train-1", "train-0"]
    assert names(crowd, all=True, text="AIN-1", state="FAILED") == []


def test_many_ended_workloads_that_do_not_match_are_passed_over(rig: Rig) -> None:
    for number in range(7):
        rig.submit(f"{'even' if number % 2 == 0 else 'odd'}{number}", hold=True)
        rig.do(lambda draft, n=number: cancel_number(draft, n + 1))
    want = wanted(WorkloadQuery(name=["even*"]), 0)
    found = ended(rig.ledger.history, want, MOST, 3)
    assert [each.name for each in found] == ["even6", "even4", "even2"]


def cancel_number(draft: Transaction, number: int) -> None:
    (entry,) = (each for each in draft.book.entries.values() if each.number == number)
    live.cancel(draft, entry.id, "ada")


def pages(client: TestClient, path: str, key: str, **params: Any) -> list[list[str]]:
    """All pages of a list."""
    found, cursor = [], None
    while True:
        given = params | ({"cursor": cursor} if cursor else {})
        page = client.get(f"{API}{path}", params=given).json()
        found.append([item[key] for item in page["items"]])
        cursor = page["next"]
        if cursor is None:
            return found


def test_every_list_comes_in_pages(crowd: TestClient) -> None:
    assert pages(crowd, "/workloads", "name", limit=3, name="[te]*") == [
        ["eval-2", "train-2", "eval-1"],
        ["train-1", "eval-0", "train-0"],
    ]
    order = [item["gang"] for item in crowd.get(f"{API}/order").json()["items"]]
    assert len(order) == 6
    assert pages(crowd, "/order", "gang", limit=4) == [order[:4], order[4:]]
    assert pages(crowd, "/queues", "name", limit=1) == [["default"], ["team"]]
    assert pages(crowd, "/nodes", "name", limit=1) == [["n0"], ["n1"]]
    assert pages(crowd, "/gpus", "flavor", limit=1) == [["H100"]]
    for path in ("/schedules", "/bookings", "/drains", "/policy/versions"):
        page = crowd.get(f"{API}{path}", params={"limit": 1, "text": "x"}).json()
        assert page["next"] is None, path


def test_lists_are_narrowed_by_what_their_items_have(crowd: TestClient) -> None:
    def found(path: str, key: str, **params: Any) -> list[str]:
        return [i[key] for i in crowd.get(f"{API}{path}", params=params).json()["items"]]

    assert found("/order", "workload", queue="team", name="eval-1") == ["eval-1-4"]
    assert found("/order", "workload", text="train-2") == ["train-2-5"]
    assert found("/queues", "name", text="TEA") == ["team"]
    assert found("/nodes", "name", state="cordoned") == []
    crowd.post(f"{API}/nodes/n1/cordon", json={"reason": "fan"})
    assert found("/nodes", "name", state="cordoned") == ["n1"]
    assert found("/nodes", "name", text="n0") == ["n0"]


def test_a_page_of_the_order_goes_on_behind_the_gang_that_ended_the_one_before(
    crowd: TestClient,
) -> None:
    first = crowd.get(f"{API}/order", params={"limit": 3}).json()
    gangs = [item["gang"] for item in crowd.get(f"{API}/order").json()["items"]]
    crowd.post(f"{API}/workloads/{gangs[0]}/cancel")  # what follows moves up by one
    second = crowd.get(f"{API}/order", params={"limit": 9, "cursor": first["next"]}).json()
    assert [item["gang"] for item in second["items"]] == gangs[3:]


def test_cursors_of_other_lists_and_none_are_refused(crowd: TestClient) -> None:
    cursor = crowd.get(f"{API}/queues", params={"limit": 1}).json()["next"]
    for wrong in (cursor, "!", "W10", "é", "WyJub2RlcyIsMV0", "9" * 40):
        found = crowd.get(f"{API}/nodes", params={"cursor": wrong})
        problem(found, 422, "input.field", "no cursor of nodes", "next")
    problem(crowd.get(f"{API}/workloads", params={"cursor": cursor}), 422, "input.field", "cursor")
    huge = crowd.get(f"{API}/workloads", params={"after": "9" * 40})
    problem(huge, 422, "input.field", "after")


def test_a_number_in_after_is_understood_as_servers_before_cursors_gave_it(
    crowd: TestClient,
) -> None:
    assert names(crowd, after="4") == ["train-1", "eval-0", "train-0"]


def test_cancel_by_filter_is_one_commit_with_counts(crowd: TestClient, rig: Rig) -> None:
    before = commits(rig)
    which = {"filter": {"name": ["train-*"]}}
    tried = crowd.post(f"{API}/workloads:cancel", json={**which, "dry_run": True}).json()
    assert tried["workloads"] == ["train-0-1", "train-1-3", "train-2-5"]
    assert (tried["matched"], tried["done"], commits(rig)) == (3, 0, before)
    done = crowd.post(f"{API}/workloads:cancel", json=which).json()
    assert (done["matched"], done["done"], done["refused"]) == (3, 3, 0)
    assert commits(rig) == before + 1
    assert names(crowd) == ["runs", "eval-2", "eval-1", "eval-0"]
    assert detail(crowd, "train-1")["state"] == "CANCELLED"


def test_what_is_refused_leaves_the_others_alone_and_is_named(crowd: TestClient) -> None:
    asked = {"workloads": ["train-0", "nobody", "eval-1", "train-0-1"], "filter": None}
    found = crowd.post(f"{API}/workloads:cancel", json=asked).json()
    assert found["workloads"] == ["train-0-1", "eval-1-4"]
    assert (found["matched"], found["done"], found["refused"]) == (3, 2, 1)
    assert [(p["workload"], p["code"]) for p in found["problems"]] == [
        ("nobody", "state.not_found")
    ]
    again = crowd.post(f"{API}/workloads:cancel", json={"workloads": ["train-0-1"]}).json()
    assert (again["done"], again["problems"][0]["code"]) == (0, "state.conflict")


def test_the_beginning_of_an_id_is_told_from_a_name(crowd: TestClient) -> None:
    asked = {"workloads": ["train-0", "eval-2-", "run/0", "runs/0"], "dry_run": True}
    found = crowd.post(f"{API}/workloads:cancel", json=asked).json()
    assert found["prefixes"] == {"eval-2-": "eval-2-6", "run/0": "runs-7/0"}


def test_update_by_filter_says_what_it_could_not_change(crowd: TestClient) -> None:
    asked = {"filter": {"kind": ["train"]}, "changes": {"queue": "team", "priority": 90}}
    found = crowd.post(f"{API}/workloads:update", json=asked).json()
    assert found["done"] == 3
    assert found["problems"][0]["workload"] == "runs-7"
    assert "only what waits can change its queue" in found["problems"][0]["detail"]
    assert detail(crowd, "train-2")["queue"] == "team"
    assert detail(crowd, "runs")["queue"] == "default"


def test_workspaces_are_suspended_and_resumed_together(crowd: TestClient) -> None:
    for name in ("nb-1", "nb-2"):
        post(crowd, name, kind="workspace")
        wait_for(crowd, name, "RUNNING")
    many = sdk(crowd).bulk
    assert many.suspend(name="nb-*").done == 2
    assert detail(crowd, "nb-1")["state"] in ("STOPPING", "SUSPENDED")
    mixed = many.suspend(["nb-1", "runs"])
    assert (mixed.done, mixed.refused) == (0, 2)
    for name in ("nb-1", "nb-2"):
        wait_for(crowd, name, "SUSPENDED")
    assert many.resume(kind="workspace").done == 2


def test_a_bulk_verb_without_a_selection_is_refused(crowd: TestClient) -> None:
    for verb in ("cancel", "suspend", "resume"):
        problem(crowd.post(f"{API}/workloads:{verb}", json={}), 422, "input.field", "workloads")
    assert sdk(crowd).bulk.cancel(everything=True).done == 7


def test_a_batch_is_one_commit_and_says_what_became_of_each(client: TestClient, rig: Rig) -> None:
    before = commits(rig)
    documents: list[dict[str, Any]] = [
        {"name": f"j{n}", "run": "true", "hold": True} for n in range(5)
    ]
    documents[1]["nodes"] = -1
    documents[3]["name"] = "j0"
    found = sdk(client).bulk.submit(documents, key="k")
    assert (found.accepted, found.refused) == (3, 2)
    assert [item.id for item in found.items] == ["j0-1", "", "j2-2", "", "j4-3"]
    problems = [item.problem for item in found.items if item.problem]
    assert [each.code for each in problems] == ["input.field", "state.conflict"]
    assert commits(rig) == before + 1
    assert [item.id for item in sdk(client).bulk.submit(documents, key="k").items] == [
        item.id for item in found.items
    ]
    assert names(client) == ["j4", "j2", "j0"]


def test_a_large_batch_is_sent_in_parts_that_the_server_takes(client: TestClient) -> None:
    documents = [{"name": f"j{n}", "run": "x" * 2_000, "hold": True} for n in range(1_200)]
    found = sdk(client).bulk.submit(documents)
    assert (found.accepted, len(names(client, limit=1000))) == (1_200, 1_000)
    several = {"workloads": [{"run": "true"}] * 1_001}
    refused = client.post(f"{API}/workloads:submit", json=several)
    problem(refused, 422, "input.field", "1,001", "at most 1,000")
    problem(client.post(f"{API}/workloads:submit", json={"workloads": 3}), 422, "input.field", "")


def test_a_failure_in_the_middle_of_a_bulk_verb_undoes_all_of_it(rig: Rig) -> None:
    for name in "abc":
        rig.submit(name, hold=True)

    def half(draft: Transaction, ref: str) -> None:
        live.cancel(draft, ref, "ada")
        if ref == "b-2":
            raise StateError("too late")

    with pytest.raises(StateError, match="too late"):
        rig.do(lambda draft: bulk_turns.apply(draft, bulk_turns.Chosen(("a", "b", "c")), half))
    assert [rig.state(f"{name}-{n}") for n, name in enumerate("abc", 1)] == ["QUEUED"] * 3
