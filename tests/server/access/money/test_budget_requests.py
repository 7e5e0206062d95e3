"""Users ask for larger budgets; those who may raise them answer, once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi.testclient import TestClient

from ganglion.lifecycle.budget_requests import KEPT, OPEN, BudgetRequests
from ganglion.model import events as ev
from ganglion.model.errors import Conflict
from tests.server.access.money.test_budgets import EUR, budget, listed
from tests.server.access.money.test_prices import put
from tests.server.access.office import API, Office


def ask(client: TestClient, queue: str, micro: int, status: int = 201, why: str = "rerun") -> Any:
    body = {"micro": micro, "reason": why}
    answer = client.post(f"{API}/budgets/{queue}/requests", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def decide(client: TestClient, number: int, how: str = "approve", status: int = 200) -> Any:
    answer = client.post(f"{API}/budget-requests/{number}/{how}", json={"reason": "yes"})
    assert answer.status_code == status, answer.text
    return answer.json()


def requests(client: TestClient, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"{API}/budget-requests{query}").json()["items"]
    return found


def test_a_request_is_approved_once_by_who_may_raise_the_budget(staff: Office) -> None:
    put(staff.owner, "H100", EUR, currency="EUR")
    budget(staff.owner, "research", 5 * EUR)
    bob = staff.user("bob", "submitter", "vision")
    asked = {"resources": {"gpus": 2}, "time_limit": "2h"}
    staff.submit(bob, "first", "vision", **asked)
    job = staff.submit(bob, "train", "vision", **asked)
    told, whole = (
        each.get(f"{API}/workloads/{job}/why").json()["explanations"][0]
        for each in (bob, staff.owner)
    )
    wanted = "ganglion budget request research 3.0"  # 8.00 and a moment of starting, less 5.00
    assert wanted in told["reason"]["message"]
    assert wanted in whole["suggestions"][0]["change"]

    # The same request is the same one; the queue itself has no budget.
    more = 3 * EUR + EUR // 100
    first = ask(bob, "research", more)
    assert (first["number"], first["state"]) == (1, "waiting")
    assert ask(bob, "research", more) == first
    assert "queue research" in ask(bob, "vision", EUR, 404)["hint"]
    ask(bob, "secretlab", EUR, 403)
    ask(bob, "research", 0, 422)
    ask(bob, "research", EUR, 422, why=" ")
    assert [each["number"] for each in requests(bob)] == [1]

    # Neither who asked nor an admin of the queue itself may raise what keeps it.
    decide(bob, 1, status=403)
    decide(staff.user("eve", "admin", "research"), 1, status=403)
    boss = staff.user("zoe", "admin", "org")
    decide(boss, 2, status=404)
    with ThreadPoolExecutor(2) as pool:
        both = [
            pool.submit(each.post, f"{API}/budget-requests/1/{how}", json={})
            for each, how in ((boss, "approve"), (staff.owner, "approve"))
        ]
    assert sorted(each.result().status_code for each in both) == [200, 409]
    (line,) = listed(staff.owner)
    assert (line["micro"], line["raised_micro"]) == (5 * EUR, more)
    assert line["left_micro"] == line["micro"] + more - line["spent_micro"] - line["reserved_micro"]
    assert "already" in decide(boss, 1, "deny", 409)["detail"]
    assert not requests(bob)
    (shown,) = requests(bob, "?all=true")
    assert shown["state"] == "approved"
    assert shown["decided_by"] in ("zoe", "ada")
    phase = staff.owner.get(f"{API}/workloads/{job}").json()["gangs"][0]["phase"]
    assert phase != "pending"


def test_requests_are_events_that_only_those_get_who_see_the_queue(staff: Office) -> None:
    budget(staff.owner, "research", 5 * EUR)
    budget(staff.owner, "secretlab", 5 * EUR)
    ask(staff.owner, "research", EUR)
    ask(staff.owner, "secretlab", EUR)
    decide(staff.owner, 1)
    decide(staff.owner, 2, "deny")
    owner = staff.user("yan", "owner", "research")
    kinds = ("budget_requested", "budget_raised", "budget_denied")
    seen = [(e["type"], e["queue"]) for e in staff.events(owner) if e["type"] in kinds]
    assert seen == [("budget_requested", "research"), ("budget_raised", "research")]
    assert [each["number"] for each in requests(owner, "?all=true")] == [1]
    assert [each["state"] for each in requests(staff.owner, "?all=true")] == ["denied", "approved"]


def asked(number: int, at: int = 0, until: int = 100, micro: int = 1) -> ev.BudgetRequested:
    return ev.BudgetRequested(at, number, "team", micro, until, "rerun", "bob")


def test_a_request_of_a_month_that_is_over_is_not_decided() -> None:
    book = BudgetRequests()
    book.note(asked(1, until=100))
    assert book.to_decide(1, 99).micro == 1
    try:
        book.to_decide(1, 100)
    except Conflict as error:
        assert "is over" in error.message
    else:
        raise AssertionError("it was decided")
    assert book.repeated(asked(2, at=100, until=200)) is None


def test_as_many_requests_wait_and_are_kept_as_may() -> None:
    book = BudgetRequests()
    for number in range(1, OPEN + 1):
        book.note(asked(number, micro=number))
    try:
        book.repeated(asked(OPEN + 1, micro=OPEN + 1))
    except Conflict as error:
        assert "queue team" in error.message
    else:
        raise AssertionError("one more was taken")
    for number in range(OPEN + 1, 2 * KEPT):
        book.note(asked(number, micro=number))
        book.note(ev.BudgetDenied(1, number, "team", "zoe"))
    assert len(book.known) <= KEPT + OPEN + 1
    assert set(range(1, OPEN + 1)) <= book.known.keys()
