"""Each event of a request names the grant that allowed it, for those who may audit."""

from typing import Any

from ganglion.audit.export import rows_of
from ganglion.audit.records import DecisionContext, records
from ganglion.ledger.codec import decoded
from tests.audit.trail import at_rest
from tests.server.access.office import API, Office

OWNER = "owner of the server"


def grants(staff: Office, kind: str) -> list[str | None]:
    return [each.get("grant") for each in staff.events(staff.owner) if each["type"] == kind]


def test_the_grant_on_the_queue_is_named_and_not_another_of_the_user(staff: Office) -> None:
    staff.grant("user:eve", "submitter", "vision")
    eve = staff.user("eve", "maintainer", "speech")
    staff.submit(staff.owner, "a", "vision")
    for queue in ("speech", "vision"):
        staff.submit(eve, queue, queue)
    assert grants(staff, "gang_submitted") == [
        OWNER,
        "role maintainer of user:eve on queue speech",
        "role submitter of user:eve on queue vision",
    ]
    assert grants(staff, "role_granted") == [OWNER, OWNER]


def test_a_grant_to_a_group_is_named(staff: Office) -> None:
    staff.grant("group:ops", "operator")
    bob = staff.client(staff.token("bob", groups=["ops"]))
    assert bob.post(f"{API}/nodes/n0/cordon", json={"reason": "dust"}).status_code == 200
    assert grants(staff, "node_cordoned") == ["role operator of group:ops on the whole fleet"]


def test_the_record_names_user_token_and_the_program_that_acts_for_the_user(
    staff: Office,
) -> None:
    eve = staff.user("eve", "submitter", "vision")
    me = eve.get(f"{API}/whoami").json()
    for name, agent in (("a", "claude-code 2.1"), ("b", "<b>"), ("c", "")):
        eve.headers["X-Ganglion-Agent"] = agent
        staff.submit(eve, name, "vision")
    staff.submit(staff.owner, "d", "vision")
    found = staff.owner.get(f"{API}/audit/records?kind=gang_submitted").json()["items"]
    said = [(each["actor"], each["token"], each["agent"]) for each in reversed(found)]
    of_eve = ("eve", me["token"])
    assert said == [(*of_eve, "claude-code 2.1"), (*of_eve, ""), (*of_eve, ""), ("ada", "", "")]


def test_a_change_of_many_names_each_grant_that_it_needed(staff: Office) -> None:
    staff.grant("user:eve", "maintainer", "vision")
    eve = staff.user("eve", "maintainer", "speech")
    for queue in ("speech", "vision"):
        staff.submit(staff.owner, queue, queue)
    body = {"filter": {"kind": ["batch", "train"]}}
    done = eve.post(f"{API}/workloads:cancel", json=body)
    assert done.status_code == 200, done.text
    both = {
        "role maintainer of user:eve on queue speech",
        "role maintainer of user:eve on queue vision",
    }
    found = [each["grant"] for each in staff.events(staff.owner) if each.get("actor") == "eve"]
    assert found
    assert [set(str(each).split("; ")) for each in found] == [both] * len(found)


def test_who_gives_a_role_is_named_by_the_grant_that_lets_them(staff: Office) -> None:
    staff.grant("user:olga", "viewer")
    olga = staff.user("olga", "owner", "research")
    wish = {"subject": "user:bob", "role": "viewer", "queue": "vision"}
    assert olga.post(f"{API}/roles:grant", json=wish).status_code == 200
    assert grants(staff, "role_granted")[-1] == "role owner of user:olga on queue research"


def test_a_denial_names_what_is_missing_and_no_grant(staff: Office) -> None:
    eve = staff.user("eve", "submitter", "vision")
    body = {"name": "a", "run": "true", "queue": "research", "resources": {"gpus": 1}}
    assert eve.post(f"{API}/workloads", json=body).status_code in (403, 422)
    assert eve.post(f"{API}/nodes/n0/cordon", json={"reason": "dust"}).status_code == 403
    assert set(grants(staff, "access_denied")) == {None}


def test_readers_who_may_not_audit_do_not_get_it(staff: Office) -> None:
    eve = staff.user("eve", "submitter", "vision")
    staff.submit(eve, "mine", "vision")
    for other in (eve, staff.user("vi", "viewer"), staff.user("op", "operator")):
        seen = staff.events(other)
        assert [each for each in seen if each["type"] == "gang_submitted"]
        assert not [each for each in seen if {"grant", "by_token", "agent"} & set(each)]
    assert [each for each in staff.events(staff.user("au", "auditor")) if "grant" in each]


def test_the_trail_shows_it_and_the_ledger_holds_no_name_in_it(staff: Office) -> None:
    eve = staff.user("eve", "submitter", "vision")
    staff.submit(eve, "mine", "vision")
    with at_rest(staff.rig.home.root) as reader:
        found = {each.kind: each.rule for each in records(rows_of(reader, 0), DecisionContext())}
        stored = [each.linked for each in reader.events() if each.kind == "gang_submitted"]
    assert found["gang_submitted"] == "role submitter of user:eve on queue vision"
    assert found["gang_placed"] != found["gang_submitted"]
    assert stored
    assert not [body for body in stored if b"eve" in body]


def test_events_of_versions_before_have_none() -> None:
    body: Any = (
        b'{"type":"node_cordoned","at":1,"request":"r","actor":"ada","name":"n0","reason":"x"}'
    )
    assert decoded(body).grant == ""
