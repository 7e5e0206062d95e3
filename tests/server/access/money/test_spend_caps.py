"""Tokens with a spending cap: what they may do, and what is submitted with them costs at most."""

import re
from typing import Any

import pytest

from ganglion.engine.state.snapshot import saved, state_of
from ganglion.model.policy import Policy
from ganglion.server.recovery.recover import replayed
from tests.server.access.money.test_prices import put
from tests.server.access.office import API, Office

EUR = 1_000_000
JOB = {"run": "true", "resources": {"gpus": 1}, "queue": "vision"}


def capped(staff: Office, micro: int = 10 * EUR, role: str = "submitter") -> Any:
    """A client of bob's token, which is bound to queue research and has a spending cap."""
    put(staff.owner, "H100", EUR, currency="EUR")
    staff.grant("user:bob", role, "org")
    return staff.client(staff.token("bob", role, "research", spend_cap_micro=micro))


def submitted(client: Any, name: str, limit: str = "4h", status: int = 201, **more: Any) -> Any:
    body = {"name": name, "time_limit": limit, **JOB, **more}
    answer = client.post(f"{API}/workloads", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def reason(staff: Office, job: str) -> Any:
    return staff.owner.get(f"{API}/workloads/{job}").json()["gangs"][0]["reason"]


def test_a_cap_without_prices_is_refused_where_it_is_made(staff: Office) -> None:
    wish = {"user": "bob", "role": "submitter", "spend_cap_micro": EUR}
    refused = staff.owner.post(f"{API}/tokens", json=wish)
    assert (refused.status_code, refused.json()["code"]) == (422, "input.field")
    assert "there are no prices" in refused.json()["detail"]
    assert "ganglion price set" in refused.json()["hint"]
    for micro in (0, -1):
        assert staff.owner.post(f"{API}/tokens", json=wish | {"spend_cap_micro": micro}).is_error


def test_what_does_not_fit_beside_what_runs_waits_and_says_who_can_raise_it(
    staff: Office,
) -> None:
    client = capped(staff)
    for name in ("a", "b"):
        assert reason(staff, submitted(client, name)["id"]) is None
    waits = reason(staff, submitted(client, "c")["id"])
    assert waits["token"] == "budget"
    said = {name: round(micro / EUR, 2) for name, micro in waits["evidence"].items()}
    assert said == {
        "cap_micro": 10,
        "spent_micro": 0,
        "reserved_micro": 8,
        "asked_micro": 4,
        "missing_micro": 2,
    }
    assert re.search(r"is 10\.00 EUR: 0\.0\d are spent, what runs may cost", waits["message"])
    assert "An administrator can make a token with a higher cap" in waits["message"]
    free = staff.submit(staff.owner, "free", "vision", time_limit="24h")
    assert reason(staff, free) is None, "what is submitted without the token is not bound"
    cap = client.get(f"{API}/whoami").json()["spend_cap"]
    assert (cap["micro"], cap["currency"]) == (10 * EUR, "EUR")
    (line,) = staff.owner.get(f"{API}/tokens").json()["items"]
    assert line["spend_cap"]["micro"] == 10 * EUR
    for each in (cap, line["spend_cap"]):
        used = each["spent_micro"] + each["reserved_micro"]
        assert each["left_micro"] == 10 * EUR - used
        assert abs(used - 8 * EUR) < EUR // 100
    assert staff.owner.get(f"{API}/budgets").json()["items"] == []


def test_what_alone_costs_more_than_is_left_is_refused_with_the_numbers(staff: Office) -> None:
    client = capped(staff)
    refused = submitted(client, "a", "11h", 422)
    assert refused["code"] == "input.never"
    assert "it may cost 11.00; 1.00 are missing" in refused["detail"]
    tried = client.post(
        f"{API}/workloads?dry_run=true", json={"name": "a", "time_limit": "11h", **JOB}
    )
    assert tried.json()["reason"]["evidence"]["missing_micro"] == EUR
    refused = client.post(f"{API}/workloads", json={"name": "a", **JOB})
    assert refused.json()["errors"][0]["key"] == "time_limit"
    many = client.post(f"{API}/workloads:submit", json={"workloads": [{"name": "a", **JOB}]}).json()
    assert "spending cap" in str(many), many


@pytest.mark.parametrize("role", ["submitter", "admin"])
def test_a_token_with_a_cap_views_submits_and_stops_and_nothing_else(
    staff: Office, role: str
) -> None:
    client = capped(staff, role=role)
    own = submitted(client, "a")["id"]
    for refused in (
        client.patch(f"{API}/workloads/{own}", json={"time_limit": "90h"}),
        client.put(f"{API}/secrets/KEY", json={"value": "x"}),
        client.post(f"{API}/tokens", json={"user": "bob", "role": "viewer"}),
        client.put(f"{API}/prices/H100", json={"micro": 0}),
        client.post(f"{API}/roles:grant", json={"subject": "user:bob", "role": "admin"}),
        client.put(f"{API}/queues/vision", json={}),
    ):
        assert refused.status_code in (403, 404, 405), refused.text
    staff.owner.post(
        f"{API}/roles:grant",
        json={"subject": "user:bob", "role": "viewer", "queue": "vision", "break_glass": True},
    )
    broken = client.post(f"{API}/roles:break-glass", json={"reason": "to see what happens"})
    assert broken.status_code == 403, broken.text
    denied = client.patch(f"{API}/workloads/{own}", json={"time_limit": "90h"})
    bound = f"the token is limited to role {role} on queue research, with a spending cap"
    assert bound in denied.json()["detail"]
    other = staff.submit(staff.owner, "other", "secretlab")
    assert client.get(f"{API}/workloads/{other}").status_code == 404
    assert client.get(f"{API}/workloads/{own}/why").status_code == 200
    assert client.post(f"{API}/workloads/{own}/cancel").status_code == 200


def test_a_cap_and_what_counts_against_it_are_the_same_after_a_restart(staff: Office) -> None:
    client = capped(staff)
    submitted(client, "a")
    submitted(client, "b")
    staff.rig.machine.time += 3_600_000
    before = client.get(f"{API}/whoami").json()["spend_cap"]
    assert before["spent_micro"] >= 2 * EUR
    assert before["left_micro"] == 10 * EUR - before["spent_micro"] - before["reserved_micro"]
    ledger, token = staff.rig.ledger, client.get(f"{API}/whoami").json()["token"]
    with staff.rig.service.read() as mind:
        now = staff.rig.service.now()
        states = [
            mind.state,
            replayed(ledger, Policy()).state,
            state_of(saved(mind.state), mind.state.config.plugins),
        ]
    views = [each.queues.budgets.cap_view(token, now) for each in states]
    assert views[0] is not None
    assert views[0].spent >= 2 * EUR
    assert views[1:] == [views[0]] * 2
