"""The audit trail a page at a time, its verification, and the timeline of nodes."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from ganglion.audit.folder import CHECKPOINTS
from ganglion.ledger.sql.tables import events
from ganglion.model.events import ServerStarted, StartPlanned
from ganglion.model.placement import Placement, PodPlacement
from ganglion.server.views.past import trail
from tests.faults.clock import HandClock
from tests.server.access.office import API, Office
from tests.server.access.test_audit_export import signing_office
from tests.server.conftest import Rig
from tests.server.process import until


def records(client: TestClient, query: str = "") -> dict[str, Any]:
    answer = client.get(f"{API}/audit/records?{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def every(client: TestClient, query: str = "", until: int = 1 << 40) -> list[dict[str, Any]]:
    """The records of all pages, up to an event."""
    page = records(client, query)
    found = list(page["items"])
    while page["next"]:
        page = records(client, f"{query}&cursor={page['next']}")
        found += page["items"]
    return [each for each in found if each["seq"] <= until]


def settle(staff: Office, job: str) -> None:
    """Wait for turns, which take in what the world reports, until a workload runs."""
    for _ in range(1_000):
        staff.rig.service.ask(lambda _draft: None)
        if staff.owner.get(f"{API}/workloads/{job}").json()["state"] != "STARTING":
            return
    raise AssertionError(f"{job} does not start")


def test_records_are_those_of_audit_show_whatever_the_pages(
    staff: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    ina, sue = staff.user("ina", "auditor"), staff.user("sue", "submitter", "vision")
    job = staff.submit(sue, "train", "vision")
    settle(staff, job)
    whole = every(ina)
    head = whole[0]["seq"]
    assert [each["seq"] for each in whole] == list(range(head, 0, -1))
    monkeypatch.setattr(trail, "CHUNK", 2)
    assert every(ina, "limit=3", head) == whole
    monkeypatch.setattr(trail, "MOST_READ", 2)
    assert every(ina, "limit=3", head) == whole
    mine = every(ina, "actor=sue", head)
    assert {each["actor"] for each in mine} == {"sue"}
    submitted = next(each for each in mine if each["kind"] == "gang_submitted")
    assert (submitted["queue"], submitted["workload"]) == ("vision", job)
    assert "submitter" in submitted["rule"]
    assert submitted["event"]["gang"]["id"] == f"{job}/0"
    decisions = every(ina, f"workload={job}&actor=scheduler", head)
    assert "gang_placed" in {each["kind"] for each in decisions}
    assert {each["queue"] for each in decisions} == {"vision"}
    assert every(ina, "queue=org&kind=gang_submitted") == [submitted]
    assert every(ina, "queue=speech&kind=gang_submitted") == []


def test_records_of_a_node_are_those_that_led_to_its_quarantine(
    staff: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig, owner = staff.rig, staff.owner
    rig.service.ask(lambda draft: draft.record(ServerStarted(draft.now, "1", metered=True)))
    jobs = [staff.submit(owner, name, "vision", resources={"gpus": 8}) for name in ("a", "b")]
    for job in jobs:
        settle(staff, job)
    node = {
        each["gang"].partition("/")[0]: each["node"]
        for each in owner.get(f"{API}/timeline").json()["items"]
    }
    assert node[jobs[0]] != node[jobs[1]]
    rig.machine.time += 60_000
    owner.post(f"{API}/workloads/{jobs[0]}/cancel", json={"force": True})
    until(lambda: rig.state(jobs[0]) == "CANCELLED")
    owner.post(f"{API}/nodes/{node[jobs[0]]}/cordon", json={"reason": "fans"})

    def of(job: str) -> list[tuple[str, str]]:
        found = every(owner, f"node={node[job]}")
        return [(each["kind"], each["workload"]) for each in reversed(found)]

    ended, runs = of(jobs[0]), of(jobs[1])
    for kind in ("gang_placed", "gang_started", "gang_stopping", "gang_ended"):
        assert (kind, jobs[0]) in ended
        assert (kind, jobs[0]) not in runs
    assert ended[-1] == ("node_cordoned", "")
    assert {("gang_placed", jobs[1]), ("gang_started", jobs[1])} <= set(runs)
    assert ("node_cordoned", "") not in runs
    # Where a page begins after the placement, the node is found out from what was metered.
    monkeypatch.setattr(trail, "CHUNK", 2)
    assert (of(jobs[0]), of(jobs[1])) == (ended, runs)


def test_records_of_a_period_and_of_nothing(staff: Office) -> None:
    rig = staff.rig
    before = records(staff.owner)["head"]
    rig.machine.time += 60_000
    at = rig.machine.time
    staff.submit(staff.owner, "late", "vision")
    later = every(staff.owner, f"since={at}")
    assert later
    assert min(each["seq"] for each in later) > before
    earlier = every(staff.owner, f"until={at}")
    assert max(each["seq"] for each in earlier) <= before
    for query, key in (("since=never", "since"), ("cursor=x", "cursor")):
        refused = staff.owner.get(f"{API}/audit/records?{query}")
        assert (refused.status_code, refused.json()["errors"][0]["key"]) == (422, key)


def test_a_verification_names_what_is_wrong_and_what_anchors_prove(rig: Rig) -> None:
    anchor = rig.home.root.parent / "anchor"
    lines = f"anchors:\n- file: {anchor}\n- syslog: udp://localhost:1\n"
    (rig.home.root / "audit.yaml").write_text(lines)
    with signing_office(rig, HandClock()) as staff:
        ina = staff.user("ina", "auditor")
        anchor.write_text("")
        found = ina.get(f"{API}/audit/verification").json()
        assert (found["sound"], found["first"], found["flaws"]) == (True, 1, [])
        assert found["signed"] == found["last"] == rig.ledger.head
        file, syslog = found["anchors"]
        assert "holds no checkpoint" in file["problem"]
        assert "syslog" in syslog["problem"]
        notes = (rig.home.root / "audit" / CHECKPOINTS).read_text()
        anchor.write_text(
            notes.split('"note":"')[1].split('"')[0].encode().decode("unicode_escape")
        )
        staff.submit(staff.owner, "train", "vision")
        with rig.ledger.writing() as connection:
            connection.execute(update(events).where(events.c.seq == 2).values(at=1))
        found = ina.get(f"{API}/audit/verification").json()
        assert not found["sound"]
        assert found["flaws"][0]["seq"] == 2


def test_an_anchor_is_behind_and_late_once_its_time_is_over(rig: Rig) -> None:
    good, bad = rig.home.root.parent / "good", rig.home.root.parent / "bad"
    bad.write_text("minutes of the meeting")
    (rig.home.root / "audit.yaml").write_text(f"anchors:\n- file: {good}\n- file: {bad}\n")
    with signing_office(rig, HandClock()) as staff:
        ina, sue = staff.user("ina", "auditor"), staff.user("sue", "operator")
        assert sue.get(f"{API}/audit/anchors").status_code == 403

        def shown() -> dict[str, Any]:
            found: dict[str, Any] = ina.get(f"{API}/audit/anchors").json()
            return found

        ina.get(f"{API}/audit/verification")  # signs
        until(lambda: shown()["items"][0]["events"] > 0)
        until(lambda: shown()["items"][1]["problem"] != "")
        page = shown()
        first, second = page["items"]
        assert (first["where"], first["events"]) == (f"file {good}", page["signed"])
        assert (first["behind"], first["problem"]) == (page["head"] - page["signed"], "")
        assert (second["events"], second["behind"], second["at"]) == (0, page["head"], 0)
        assert "does not end with a checkpoint" in second["problem"]
        staff.submit(staff.owner, "train", "vision")
        page = shown()
        assert page["unsigned"] == page["items"][0]["behind"] > 0
        assert page["unsigned_since"] == page["items"][0]["since"] > 0
        assert not page["late"]
        assert not page["items"][0]["late"]
        rig.machine.time += page["late_after"] + 1_000
        page = shown()
        assert (page["late"], [each["late"] for each in page["items"]]) == (True, [True, True])
        proven = ina.get(f"{API}/audit/verification").json()["anchors"]
        assert proven[0]["events"] == page["items"][0]["events"]
        assert (proven[1]["events"], proven[1]["checkpoints"]) == (0, 0)


def test_the_timeline_has_what_was_held_is_held_and_is_planned(staff: Office) -> None:
    rig, owner = staff.rig, staff.owner
    rig.service.ask(lambda draft: draft.record(ServerStarted(draft.now, "1", metered=True)))
    job = staff.submit(owner, "train", "vision", time_limit="2h", resources={"gpus": 8})
    settle(staff, job)
    page = owner.get(f"{API}/timeline").json()
    (span,) = page["items"]
    assert (span["kind"], span["open"], span["milli"]) == ("run", True, 8_000)
    assert span["devices"] == list(range(8))
    assert span["end"] - span["begin"] - 7_200_000 in range(1_000)  # from its start on
    staff.submit(owner, "other", "vision", time_limit="1h", resources={"gpus": 4})
    wide = staff.submit(owner, "wide", "vision", time_limit="1h", resources={"gpus": 8}, nodes=2)
    pods = tuple(PodPlacement("main", n, f"n{n}", tuple(range(8)), 1_000) for n in range(2))
    place, begin = Placement(pods), int(span["end"])
    plan = StartPlanned(rig.machine.time, f"{wide}/0", place, begin, begin + 3_600_000)
    rig.service.ask(lambda draft: draft.apply(plan))
    planned = [
        each
        for each in owner.get(f"{API}/timeline").json()["items"]
        if each["kind"] == "reservation"
    ]
    assert {each["workload"] for each in planned} == {wide}
    assert {each["node"] for each in planned} == {"n0", "n1"}
    assert {(each["begin"], each["milli"]) for each in planned} == {(begin, 8_000)}
    rig.machine.time += 60_000
    owner.post(f"{API}/workloads/{job}/cancel", json={"force": True})
    until(lambda: rig.state(job) == "CANCELLED")
    over = [
        each
        for each in owner.get(f"{API}/timeline?since=1h").json()["items"]
        if each["workload"] == job
    ]
    assert [(each["open"], each["devices"], each["begin"]) for each in over[-1:]] == [
        (False, list(range(8)), span["begin"])
    ]
    tried = owner.get(f"{API}/workloads/{job}/attempts").json()["items"]
    assert [(each["attempt"], each["node"], each["milli"]) for each in tried] == [(1, "n0", 8_000)]
    (still,) = owner.get(f"{API}/workloads/other/attempts").json()["items"]
    assert (still["open"], still["node"]) == (True, "n1")
    assert owner.get(f"{API}/workloads/{wide}/attempts").json()["items"] == []
