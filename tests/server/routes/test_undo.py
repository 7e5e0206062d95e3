"""What was changed can be taken back as long as it is as it was left, and not after."""

from typing import Any

from fastapi.testclient import TestClient

from tests.server.access.conftest import rig, staff
from tests.server.access.office import API, Office

__all__ = ["rig", "staff"]

HOUR = 3_600_000


BOOKED = {"nodes": ["n0"], "begin": "2030-01-07T08:00Z", "end": "2030-01-07T12:00Z"}


def ask(
    client: TestClient, line: str, body: object = None, status: int = 200, **headers: str
) -> str:
    """Make a request `METHOD /path`; returns the ETag of the answer."""
    method, path = line.split()
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    answer = client.request(method, f"{API}{path}", json=body, headers=sent)
    assert answer.status_code == status, answer.text
    if status == 412:
        assert answer.json()["code"] == "state.stale"
    return str(answer.headers.get("etag", ""))


EVE = {"subject": "user:eve", "role": "viewer", "queue": "vision"}
MONTH = {"micro": 5_000_000}
PRICE = {"micro": 2_000_000, "currency": "EUR"}


def test_what_was_made_goes_again_unless_another_changed_it(staff: Office) -> None:
    owner, ann = staff.owner, staff.user("ann", "admin")
    ask(owner, "PUT /prices/H100", PRICE)
    made: list[tuple[str, Any, Any, str, Any]] = [
        ("PUT /bookings/b", BOOKED, BOOKED | {"reason": "fans"}, "DELETE /bookings/b", None),
        ("PUT /budgets/vision", MONTH, {"micro": 6_000_000}, "DELETE /budgets/vision", None),
        (
            "POST /roles:grant",
            EVE,
            EVE | {"until": staff.rig.machine.time + 90 * HOUR},
            "POST /roles:revoke",
            EVE,
        ),
    ]
    for line, body, other, back, which in made:
        own = ask(owner, line, body)
        ask(ann, line, other)
        ask(owner, back, which, 412, If_Match=own)
        now = ask(ann, line, body)
        ask(owner, back, which, 412, If_Match='"of-another"')
        ask(owner, back, which, If_Match=now)
        # What was taken away is put back, unless another has made one meanwhile.
        ask(ann, line, body)
        ask(owner, line, other, 412, If_None_Match="*")
        ask(owner, back, which)
        ask(owner, line, other, If_None_Match="*")


def test_a_node_is_opened_and_closed_again_as_it_was(staff: Office) -> None:
    owner = staff.owner
    own = ask(owner, "POST /nodes/n0/cordon", {"reason": "fans"})
    ask(owner, "POST /nodes/n0/cordon", {"reason": "disk"})
    ask(owner, "POST /nodes/n0/uncordon", None, 412, If_Match=own)
    now = ask(owner, "POST /nodes/n0/cordon", {"reason": "fans"})
    assert now == own
    ask(owner, "POST /nodes/n0/uncordon", If_Match=now)
    ask(owner, "POST /nodes/n0/cordon", {"reason": "fans"}, If_None_Match="*")
    ask(owner, "POST /nodes/n0/cordon", {"reason": "disk"}, 412, If_None_Match="*")
    drain = {"by": staff.rig.machine.time + HOUR, "reason": "rack"}
    own = ask(owner, "PUT /drains/n1", drain)
    ask(owner, "PUT /drains/n1", drain | {"reason": "hall"})
    ask(owner, "DELETE /drains/n1", None, 412, If_Match=own)
    ask(owner, "PUT /drains/n1", drain, 412, If_None_Match="*")
    ask(owner, "DELETE /drains/n1")
    ask(owner, "PUT /drains/n1", drain, If_None_Match="*")


def test_a_price_is_put_back_from_the_moment_on_from_which_it_held(staff: Office) -> None:
    owner, ann = staff.owner, staff.user("ann", "admin")

    def price(micro: int | None, since: int = 0, status: int = 200, **more: str) -> str:
        body = {"micro": micro, "since": since, "currency": "EUR"}
        return ask(owner, "PUT /prices/H100", body, status, **more)

    def holds() -> list[Any]:
        return [each["micro"] for each in owner.get(f"{API}/prices").json()["items"]]

    since = staff.rig.machine.time
    own = price(2_000_000, since)
    price(None, since, If_Match=own)  # there was none before
    assert holds() == []
    price(2_000_000, since)
    own = price(3_000_000, since + 1)
    ask(ann, "PUT /prices/H100", {"micro": 4_000_000, "since": since + 2})
    price(2_000_000, since + 1, 412, If_Match=own)


def test_many_are_changed_back_only_where_they_are_as_they_were_left(staff: Office) -> None:
    owner = staff.owner
    jobs = [
        staff.submit(owner, name, "vision", priority=n, held=True) for n, name in enumerate("ab")
    ]

    def update(changes: dict[str, object], refs: list[str], **only_if: object) -> dict[str, Any]:
        body = {"workloads": refs, "changes": changes, "only_if": only_if}
        found: dict[str, Any] = owner.post(f"{API}/workloads:update", json=body).json()
        return found

    done = update({"priority": 70, "queue": "speech"}, jobs)
    assert [(each["priority"], each["queue"]) for each in done["before"]] == [
        (0, "vision"),
        (1, "vision"),
    ]
    update({"priority": 90}, jobs[1:])
    first = update({"priority": 0}, jobs[:1], priority=70)
    assert (first["done"], first["refused"]) == (1, 0)
    second = update({"priority": 1}, jobs[1:], priority=70)
    assert (second["done"], second["refused"]) == (0, 1)
    assert second["problems"][0]["code"] == "state.stale"
    assert "priority is 90, not 70" in second["problems"][0]["detail"]
    released = update({"held": False}, jobs, held=True)
    assert [each["held"] for each in released["before"]] == [True, True]
