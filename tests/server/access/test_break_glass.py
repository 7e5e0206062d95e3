"""Break-glass access: dormant until it is broken, ended by the server's clock, and recorded."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.audit.export import rows_of
from ganglion.audit.records import DecisionContext, WantedRecords, records
from ganglion.ledger.codec import decoded
from ganglion.model.events import GlassBroken, RoleGranted
from ganglion.server.commands.access import GLASS_MS, MOST_GLASS_MS
from ganglion.server.recovery.documents import document, value_of
from ganglion.server.state.rights import AccessRights
from tests.audit.trail import at_rest
from tests.server.access.office import API, Office, office
from tests.server.conftest import Rig

WHY = "node fire in hall 2"
HOUR = 3_600_000
NODE = f"{API}/nodes/n0/cordon"


def keep(staff: Office, subject: str, role: str, queue: str = "", **more: Any) -> None:
    body = {"subject": subject, "role": role, "queue": queue, "break_glass": True, **more}
    done = staff.owner.post(f"{API}/roles:grant", json=body)
    assert done.status_code == 200, done.text


def smash(client: TestClient, status: int = 200, **more: Any) -> Any:
    done = client.post(f"{API}/roles:break-glass", json={"reason": WHY, **more})
    assert done.status_code == status, done.text
    return done.json()


def mend(client: TestClient, **more: Any) -> int:
    return client.post(f"{API}/roles:mend-glass", json=more).status_code


def cordons(client: TestClient) -> bool:
    done = client.post(NODE, json={"reason": "smoke"})
    assert done.status_code in (200, 403), done.text
    return done.status_code == 200


@pytest.fixture
def eve(staff: Office) -> TestClient:
    """A viewer of everything who may become an operator."""
    staff.grant("user:eve", "viewer")
    keep(staff, "user:eve", "operator")
    return staff.client(staff.token("eve"))


def test_a_dormant_grant_counts_from_its_breaking_until_its_end(
    staff: Office, eve: TestClient
) -> None:
    assert not cordons(eve)
    (made,) = smash(eve, lasting=2 * HOUR)["items"]
    (glass,) = made["broken"]
    assert (made["role"], made["break_glass"], glass["user"]) == ("operator", True, "eve")
    assert glass["until"] - glass["since"] == 2 * HOUR
    assert cordons(eve)
    staff.rig.machine.time = glass["until"] - 20
    assert cordons(eve)
    staff.rig.machine.time = glass["until"]
    assert not cordons(eve)
    (listed,) = [e for e in staff.owner.get(f"{API}/roles").json()["items"] if e["break_glass"]]
    assert listed["broken"] == []


def test_the_end_is_a_matter_of_the_steady_clock_when_the_wall_clock_is_set(
    staff: Office, eve: TestClient
) -> None:
    (made,) = smash(eve)["items"]
    until = made["broken"][0]["until"]
    assert until - made["broken"][0]["since"] == GLASS_MS
    staff.rig.machine.ahead_ms = 30 * HOUR
    assert cordons(eve)
    staff.rig.machine.ahead_ms = -30 * HOUR
    assert cordons(eve)
    staff.rig.machine.time = until
    assert not cordons(eve)


def test_a_further_break_goes_no_further_than_the_maximum_from_the_first(
    staff: Office, eve: TestClient
) -> None:
    first = smash(eve, lasting=3 * HOUR)["items"][0]["broken"][0]
    sooner = smash(eve, lasting=HOUR)["items"][0]["broken"][0]
    assert (sooner["since"], sooner["until"]) == (first["since"], first["until"])
    staff.rig.machine.time = first["since"] + 2 * HOUR
    again = smash(eve, lasting=MOST_GLASS_MS)["items"][0]["broken"][0]
    assert again["since"] == first["since"]
    assert again["until"] == first["since"] + MOST_GLASS_MS
    staff.rig.machine.time = again["until"]
    assert not cordons(eve)
    fresh = smash(eve)["items"][0]["broken"][0]
    assert fresh["since"] >= again["until"]


def test_it_survives_a_restart_and_ends_after_it(rig: Rig) -> None:
    rig.service.start()
    with office(rig) as staff:
        keep(staff, "user:eve", "operator")
        token = staff.token("eve")
        until = smash(staff.client(token))["items"][0]["broken"][0]["until"]
    rig.service.stop()
    rig.crash()
    rig.service.start()
    with office(rig) as staff:
        assert cordons(staff.client(token))
        rig.machine.time = until
        assert not cordons(staff.client(token))
    rig.service.stop()


def test_holder_and_admins_end_it_early_and_a_revoked_or_changed_grant_ends_at_once(
    staff: Office, eve: TestClient
) -> None:
    assert mend(eve) == 404
    bob = staff.user("bob", "owner")
    smash(eve)
    assert mend(bob, user="eve") == 403
    assert mend(eve, queue="vision") == 404
    assert mend(eve, queue="") == 200
    assert not cordons(eve)
    smash(eve)
    assert mend(staff.user("zoe", "admin"), user="eve") == 200
    assert not cordons(eve)
    smash(eve)
    keep(staff, "user:eve", "operator")
    assert not cordons(eve), "a grant that was changed is dormant anew"
    smash(eve)
    gone = {"subject": "user:eve", "role": "operator"}
    assert staff.owner.post(f"{API}/roles:revoke", json=gone).status_code == 200
    assert not cordons(eve)
    smash(eve, status=403)
    mended = [each for each in staff.events(staff.owner) if each["type"] == "glass_mended"]
    assert [(each["user"], each["by"]) for each in mended] == [("eve", "eve"), ("eve", "zoe")]


def test_a_break_ends_with_the_grant_itself(staff: Office) -> None:
    soon = staff.rig.service.now() + HOUR
    keep(staff, "user:eve", "operator", until=soon)
    eve = staff.client(staff.token("eve"))
    assert smash(eve, lasting=MOST_GLASS_MS)["items"][0]["broken"][0]["until"] == soon
    staff.rig.machine.time = soon
    assert not cordons(eve)
    smash(eve, status=403)


def test_a_group_may_hold_it_and_only_who_broke_it_has_it(staff: Office) -> None:
    keep(staff, "group:oncall", "operator")
    eve, bob = (staff.client(staff.token(name, groups=["oncall"])) for name in ("eve", "bob"))
    smash(eve)
    assert (cordons(eve), cordons(bob)) == (True, False)
    assert not cordons(staff.client(staff.token("eve"))), "it is the group's, not the user's"
    smash(bob)
    assert mend(eve) == 200
    assert (cordons(eve), cordons(bob)) == (False, True)


@pytest.mark.parametrize(("role", "queue"), [("viewer", ""), ("operator", "vision")])
def test_a_limited_token_breaks_no_glass_beyond_itself(
    staff: Office, eve: TestClient, role: str, queue: str
) -> None:
    limited = staff.client(staff.token("eve", role, queue))
    assert "the token is limited to" in smash(limited, status=403)["detail"]
    smash(eve)
    assert not cordons(limited)


def test_only_admins_of_the_fleet_name_who_may_break_it(staff: Office) -> None:
    olga = staff.user("olga", "owner", "research")
    body = {"subject": "user:eve", "role": "viewer", "queue": "vision", "break_glass": True}
    assert olga.post(f"{API}/roles:grant", json=body).status_code == 403
    assert staff.user("zoe", "admin").post(f"{API}/roles:grant", json=body).status_code == 200


def test_what_outlasts_it_is_not_given_by_broken_glass(staff: Office) -> None:
    keep(staff, "user:eve", "admin")
    eve = staff.client(staff.token("eve"))
    smash(eve)
    for role, dormant in (("admin", False), ("viewer", False), ("admin", True)):
        body = {"subject": "user:eve", "role": role, "break_glass": dormant}
        assert eve.post(f"{API}/roles:grant", json=body).status_code == 403
    assert eve.post(f"{API}/tokens", json={"user": "ada", "role": "admin"}).status_code == 403
    body = {"name": "a", "run": "true", "queue": "vision", "schedule": {"cron": "0 3 * * *"}}
    refused = eve.post(f"{API}/workloads", json={**body, "resources": {"gpus": 1}})
    assert (refused.status_code, "schedule" in refused.json()["detail"]) == (403, True)


def test_without_a_dormant_grant_an_attempt_is_refused_and_recorded(staff: Office) -> None:
    bob = staff.user("bob", "viewer")
    refused = smash(bob, status=403)
    assert "breaking glass needs a dormant grant; bob has none" in refused["detail"]
    denied = [each for each in staff.events(staff.owner) if each["type"] == "access_denied"]
    assert [(each["user"], each["operation"]) for each in denied] == [("bob", "break_glass")]


@pytest.mark.parametrize(
    "why", ["too short", " " * 12, "a fire\nin hall 2", "x" * 501, "\x1b[2J" * 9]
)
def test_a_reason_has_to_say_something(staff: Office, eve: TestClient, why: str) -> None:
    refused = eve.post(f"{API}/roles:break-glass", json={"reason": why})
    assert (refused.status_code, refused.json()["code"]) == (422, "input.field")
    assert refused.json()["detail"].startswith("reason: ")
    assert not cordons(eve)


def test_it_lasts_four_hours_at_most(staff: Office, eve: TestClient) -> None:
    smash(eve, status=422, lasting=MOST_GLASS_MS + 1)
    smash(eve, lasting=MOST_GLASS_MS)


def test_of_several_queues_one_is_named_and_its_holder_knows_them(staff: Office) -> None:
    for queue in ("vision", "secretlab"):
        keep(staff, "user:eve", "maintainer", queue)
    eve = staff.client(staff.token("eve"))
    said = smash(eve, status=422)
    assert "on queue secretlab, queue vision: which one?" in said["detail"]
    job, other = (staff.submit(staff.owner, name, name) for name in ("vision", "secretlab"))
    assert smash(eve, queue="vision")["items"][0]["queue"] == "vision"
    assert eve.post(f"{API}/workloads/{job}/cancel").status_code == 200
    assert eve.post(f"{API}/workloads/{other}/cancel").status_code == 404


def test_lists_say_which_grants_are_dormant_and_which_are_broken(
    staff: Office, eve: TestClient
) -> None:
    smash(eve)
    ask = f"{API}/whocan?verb=change&resource=fleet"
    holders = staff.owner.get(ask).json()["items"]
    assert [(each["subject"], each["dormant"], each["broken_by"]) for each in holders] == [
        ("user:ada", False, ""),
        ("user:eve", True, ""),
        ("user:eve", False, "eve"),
    ]
    me = eve.get(f"{API}/whoami").json()["grants"]
    assert [(each["role"], len(each["broken"])) for each in me] == [("viewer", 0), ("operator", 1)]
    assert me[1]["broken"][0]["reason"] == WHY


def test_what_broken_glass_allowed_is_recorded_as_such_and_nothing_else_is(
    staff: Office, eve: TestClient
) -> None:
    staff.grant("user:eve", "submitter", "vision")
    smash(eve)
    staff.submit(eve, "mine", "vision")
    assert cordons(eve)
    rule = "role operator of user:eve on the whole fleet, by broken glass"
    seen = staff.events(staff.owner)
    assert [each["type"] for each in seen if each.get("glass")] == ["node_cordoned"]
    assert next(each for each in seen if each.get("glass"))["glass"] == rule
    assert mend(eve) == 200
    with at_rest(staff.rig.home.root) as reader:
        found = records(rows_of(reader, 0), DecisionContext(), WantedRecords(glass=True))
        said = [(each.kind, each.actor, each.rule) for each in found]
    assert said == [
        ("glass_broken", "eve", ""),
        ("node_cordoned", "eve", rule),
        ("glass_mended", "eve", ""),
    ]


def test_what_standing_roles_allow_is_not_marked_although_all_is_open(staff: Office) -> None:
    keep(staff, "user:eve", "admin")
    staff.grant("user:eve", "submitter", "vision")
    eve = staff.client(staff.token("eve"))
    smash(eve)
    mine, other = (staff.submit(eve, name, name) for name in ("vision", "speech"))
    assert eve.get(f"{API}/nodes").status_code == 200
    assert eve.post(f"{API}/workloads/{mine}/cancel").status_code == 200
    seen = staff.events(staff.owner)
    marked = [each["gang"]["workload"] for each in seen if each.get("glass")]
    assert marked == [other]


def test_programs_of_a_shared_account_run_by_broken_glass_and_are_marked(rig: Rig) -> None:
    rig.service.start()
    with office(rig, shares_account=True) as staff:
        keep(staff, "user:eve", "admin")
        staff.grant("user:eve", "submitter", "vision")
        eve = staff.client(staff.token("eve"))
        body = {"name": "a", "run": "true", "queue": "vision", "resources": {"gpus": 1}}
        assert eve.post(f"{API}/workloads", json=body).status_code == 403
        smash(eve)
        staff.submit(eve, "a", "vision")
        (made,) = [e for e in staff.events(staff.owner) if e["type"] == "gang_submitted"]
        assert made["glass"] == "role admin of user:eve on the whole fleet, by broken glass"
    rig.service.stop()


def test_the_holder_and_auditors_read_of_it_and_viewers_do_not(
    staff: Office, eve: TestClient
) -> None:
    smash(eve)
    seen = {
        name: [each["reason"] for each in staff.events(client) if each["type"] == "glass_broken"]
        for name, client in (
            ("eve", eve),
            ("una", staff.user("una", "auditor")),
            ("vic", staff.user("vic", "viewer")),
        )
    }
    assert seen == {"eve": [WHY], "una": [WHY], "vic": []}


def test_a_checkpoint_keeps_what_is_broken() -> None:
    rights = AccessRights()
    rights.note(RoleGranted(1, "user:eve", "admin", "", None, "ada", break_glass=True))
    rights.note(GlassBroken(2, "eve", "user:eve", "admin", "", WHY, 2, 99))
    assert len(rights.glasses) == 1
    assert value_of(document(rights)) == rights


def test_grants_of_older_ledgers_are_standing_ones() -> None:
    old = (
        b'{"type":"role_granted","at":1,"subject":"user:eve","role":"viewer","queue":"lab",'
        b'"until_ms":null,"by":"ada"}'
    )
    assert decoded(old) == RoleGranted(1, "user:eve", "viewer", "lab", None, "ada")
