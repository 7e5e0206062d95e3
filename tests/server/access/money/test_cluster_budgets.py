"""Budgets of queues of clusters: set and asked for at the server, kept by their schedulers."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from msgspec import convert
from msgspec.structs import replace

from ganglion.lifecycle.budgets import OLD_MS
from ganglion.model.errors import EnvironmentFault
from ganglion.model.events.policy import ClusterMoney
from ganglion.model.policy import Policy
from ganglion.seams.clock import SYSTEM_CLOCK
from ganglion.seams.files import SYSTEM_FILES
from ganglion.server.cluster.outbox.money import ASK_S, HeardMoney
from ganglion.server.delivered.receive import receive
from ganglion.server.recovery.recover import replayed
from ganglion.server.recovery.verify import facts
from tests.server.access.money.test_cluster_usage import HOUR_MS, east
from tests.server.access.money.test_prices import put
from tests.server.access.office import API, Office
from tests.server.delivered.stories import ended, placed, submitted, turns

__all__ = ["east"]

EUR = 1_000_000
MONTH_MS = 31 * 24 * HOUR_MS


@pytest.fixture
def priced(east: Office) -> Office:
    """The cluster, where the GPU-hour costs 2.50 EUR: 5 are spent in `team`, and 2.50 in `org`."""
    put(east.owner, "H100", 2_500_000, since=1, currency="EUR")
    return east


def set_budget(client: TestClient, queue: str, micro: int, **more: Any) -> Any:
    return client.put(f"{API}/budgets/{queue}", json={"micro": micro, **more})


def lines(client: TestClient) -> dict[str, dict[str, Any]]:
    return {each["queue"]: each for each in client.get(f"{API}/budgets").json()["items"]}


def heard(office: Office, cluster: str = "east", client: TestClient | None = None) -> ClusterMoney:
    """What its scheduler hears."""
    body = {"scheduler": "s1", "records": []}
    answer = (client or office.owner).post(f"{API}/clusters/{cluster}/records", json=body)
    assert answer.status_code == 200, answer.text
    return convert(answer.json()["money"], ClusterMoney)


def alarms(office: Office) -> set[str]:
    with office.rig.service.read() as mind:
        return {alarm for subject, alarm in mind.book.alarms if subject == "queues/east:org"}


def test_a_budget_of_a_cluster_stands_as_its_usage_and_its_scheduler_hears_it(
    priced: Office,
) -> None:
    answer = set_budget(priced.owner, "east:org", 100 * EUR)
    assert answer.status_code == 200, answer.text
    found = lines(priced.owner)["east:org"]
    assert found["spent_micro"] == pytest.approx(7_500_000, abs=5_000)
    assert found["reserved_micro"] == 2_500_000  # an hour of what runs without a limit
    assert found["left_micro"] == pytest.approx(90 * EUR, abs=5_000)
    assert found["suspends_at"] is None
    money = heard(priced)
    standing = money.budgets["east:org"]
    assert standing.budget.micro == 100 * EUR
    assert standing.spent_micro == pytest.approx(7_500_000, abs=5_000)
    assert standing.begin == found["begin"]
    assert [(each.price.flavor, each.price.micro) for each in money.prices] == [("H100", 2_500_000)]
    assert money.prices[0].user == ""
    # Its own token shows it no queue, and it hears the same.
    reporter = priced.user("east", "reporter", "east:")
    assert heard(priced, client=reporter).budgets.keys() == money.budgets.keys()
    assert heard(priced, "west").budgets == {}
    (owned,) = priced.owner.get(f"{API}/clusters").json()["items"]
    assert owned["name"] == "east"
    assert priced.owner.delete(f"{API}/budgets/east:org").status_code == 200
    assert "east:org" not in lines(priced.owner)
    assert heard(priced).budgets == {}
    assert priced.owner.delete(f"{API}/budgets/east:org").status_code == 404


def test_records_are_answered_without_money(priced: Office) -> None:
    at = priced.rig.machine.time
    record = {"number": 5, "at": at}
    body = {"scheduler": "s1", "records": [record]}
    answer = priced.owner.post(f"{API}/clusters/east/records", json=body)
    assert answer.json() == {"position": 5, "money": None}


def test_what_no_scheduler_keeps_is_no_budget(priced: Office) -> None:
    for queue in ("east:nowhere", "west:org", "east:"):
        assert set_budget(priced.owner, queue, EUR).status_code == 404


def test_thresholds_are_alarms_that_notify_and_are_taken_back(priced: Office) -> None:
    set_budget(priced.owner, "east:org", 14 * EUR, warn=[50, 80])
    heard(priced)
    assert alarms(priced) == {"budget.50"}
    put(priced.owner, "H100", 5 * EUR, since=2)  # a price of the past
    heard(priced)
    assert alarms(priced) == {"budget.50", "budget.80", "budget.100"}
    priced.rig.machine.time += 120_000
    priced.rig.service.ask(lambda draft: draft.now)
    assert alarms(priced) == {"budget.50", "budget.80", "budget.100"}  # its own keeper looked
    # Since when they know it is what the scheduler goes by, whatever it asks later.
    at = heard(priced).budgets["east:org"].spent_at
    assert at == pytest.approx(priced.rig.machine.time - 120_000, abs=100)
    grace = lines(priced.owner)["east:org"]["grace_ms"]
    assert lines(priced.owner)["east:org"]["suspends_at"] == at + grace
    set_budget(priced.owner, "east:org", 200 * EUR)
    assert heard(priced).budgets["east:org"].spent_at == 0
    assert alarms(priced) == set()


def test_more_is_asked_for_and_approved_until_the_month_is_over(priced: Office) -> None:
    set_budget(priced.owner, "east:org", 10 * EUR)
    asked = {"micro": 3 * EUR, "reason": "the rerun"}
    bob = priced.user("bob", "submitter", "east:team")
    made = bob.post(f"{API}/budgets/east:org/requests", json=asked)
    assert made.status_code == 201, made.text
    number = made.json()["number"]
    assert bob.post(f"{API}/budget-requests/{number}/approve", json={}).status_code in (403, 404)
    done = priced.owner.post(f"{API}/budget-requests/{number}/approve", json={})
    assert done.json()["state"] == "approved"
    assert lines(priced.owner)["east:org"]["raised_micro"] == 3 * EUR
    assert heard(priced).budgets["east:org"].budget.micro == 13 * EUR
    rig = priced.rig
    with rig.service.read() as mind:
        here = facts(mind)["budgets of clusters"]
    assert facts(replayed(rig.ledger, Policy()))["budgets of clusters"] == here
    rig.service.stop()
    rig.crash()
    with rig.service.read() as mind:
        assert facts(mind)["budgets of clusters"] == here
        assert mind.book.cluster_budgets.raised_by("east:org", rig.machine.time) == 3 * EUR
        assert mind.book.cluster_budgets.raised_by("east:org", rig.machine.time + MONTH_MS) == 0


def test_what_is_left_of_a_month_is_carried_over_and_what_was_approved_is_not(
    priced: Office,
) -> None:
    rig = priced.rig
    set_budget(priced.owner, "east:org", 40 * EUR, carry_over=True)
    asked = {"micro": 3 * EUR, "reason": "the rerun"}
    number = priced.owner.post(f"{API}/budgets/east:org/requests", json=asked).json()["number"]
    priced.owner.post(f"{API}/budget-requests/{number}/approve", json={})
    said = heard(priced).budgets["east:org"]
    assert (said.budget.micro, said.carried_micro, said.raised_micro) == (43 * EUR, 0, 3 * EUR)
    # What runs ends after an hour more; then nothing is spent until the next month is over.
    rig.machine.time += HOUR_MS
    at = rig.machine.time
    batch = turns(([ended(at, "longer")], []), first=5)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    spent = heard(priced).budgets["east:org"].spent_micro
    rig.machine.time += MONTH_MS
    before = lines(priced.owner)["east:org"]
    said = heard(priced).budgets["east:org"]
    assert said.carried_micro == before["carried_micro"] == 40 * EUR - spent
    assert (said.raised_micro, said.budget.micro) == (0, 80 * EUR - spent)
    put(priced.owner, "H100", 9 * EUR, since=2)  # a price of a month that is over
    set_budget(priced.owner, "east:org", 50 * EUR, carry_over=True)
    assert heard(priced).budgets["east:org"].carried_micro == 40 * EUR - spent
    with rig.service.read() as mind:
        here = facts(mind)["budgets of clusters"]
    assert facts(replayed(rig.ledger, Policy()))["budgets of clusters"] == here
    rig.machine.time += 2 * MONTH_MS
    assert heard(priced).budgets["east:org"].carried_micro == 140 * EUR - spent
    set_budget(priced.owner, "east:org", 50 * EUR)
    assert lines(priced.owner)["east:org"]["carried_micro"] == 0


def test_who_may_set_and_see_a_budget_of_a_cluster(priced: Office) -> None:
    set_budget(priced.owner, "east:org", 10 * EUR)
    ada = priced.user("ada2", "admin", "east:")
    assert set_budget(ada, "east:org", 11 * EUR).status_code == 200
    own = priced.user("olga", "admin", "east:org")
    assert set_budget(own, "east:org", 12 * EUR).status_code == 403
    assert set_budget(own, "east:team", 2 * EUR).status_code == 200
    vera = priced.user("vera", "viewer", "east:team")
    assert set(lines(vera)) == {"east:team"}


def test_what_has_a_limit_is_reserved_until_it_is_over(priced: Office) -> None:
    rig = priced.rig
    at = rig.machine.time
    long = submitted(at, "long")
    timed = replace(long, gang=replace(long.gang, time_limit_ms=4 * HOUR_MS))
    batch = turns(([timed], [placed(at, "long", "n0", "n1")]), first=5)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    set_budget(priced.owner, "east:team", 100 * EUR)
    found = lines(priced.owner)["east:team"]
    assert found["reserved_micro"] == pytest.approx(2 * 4 * 2_500_000, abs=5_000)


class Teller:
    """A server that answers with figures, or cannot be reached."""

    def __init__(self, said: ClusterMoney | None) -> None:
        self.said, self.is_down, self.asked = said, False, 0

    def ask(self, _scheduler: str) -> ClusterMoney | None:
        if self.is_down:
            raise EnvironmentFault("the server is down")
        self.asked += 1
        return self.said


class Moved:
    """A clock that is set forward."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(SYSTEM_CLOCK, name)

    def monotonic(self) -> float:
        return SYSTEM_CLOCK.monotonic() + self.ahead_s

    def now_ms(self) -> int:
        return SYSTEM_CLOCK.now_ms() + int(self.ahead_s * 1_000)


def test_without_its_server_a_scheduler_goes_on_with_what_it_heard_and_says_so(
    priced: Office, tmp_path: Path
) -> None:
    set_budget(priced.owner, "east:org", 100 * EUR)
    teller, clock = Teller(heard(priced)), Moved()

    def started() -> HeardMoney:
        return HeardMoney(tmp_path, teller.ask, SYSTEM_FILES, clock)  # type: ignore[arg-type]  # as a clock

    money = started()
    assert (money.latest, money.trouble) == (None, "")
    money.look("s1")
    money.look("s1")
    assert (teller.asked, money.latest and money.latest.said, money.trouble) == (1, teller.said, "")
    clock.ahead_s += ASK_S
    money.look("s1")
    assert teller.asked == 2
    teller.is_down = True
    clock.ahead_s += OLD_MS / 1_000
    with pytest.raises(EnvironmentFault):
        money.look("s1")
    assert "what the server said at" in money.trouble
    again = started()
    assert again.latest and (again.latest.said, again.latest.at) == (teller.said, 0)
    teller.is_down, teller.said = False, None  # of a version that has no budgets of clusters
    again.look("s1")
    assert again.latest is not None
    (tmp_path / "money.json").write_text("{")
    assert started().latest is None
