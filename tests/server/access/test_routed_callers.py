"""What the server answers the router: the same decisions as for its own requests, recorded too."""

from dataclasses import dataclass
from typing import Any

import pytest

from ganglion.identity.tokens import assembled
from ganglion.model.workload import UnixAccount
from ganglion.router.decisions import (
    AskedRole,
    CredentialKind,
    RoleAnswer,
    RoleAnswerKind,
    question_of,
)
from ganglion.server.access.caller import Caller
from ganglion.server.access.checks import check_account
from ganglion.server.access.permissions import Permissions, SessionRules
from ganglion.server.access.routed_callers import WRONG, RoutedCallers
from ganglion.server.commands.sign_in import ProvidedAccount, sign_in, sign_out
from tests.server.access.office import API, Office

K, MINUTE_MS = RoleAnswerKind, 60_000


@dataclass
class Desk:
    """The decisions of one server, and its office."""

    staff: Office
    shares_account: bool = False

    def __post_init__(self) -> None:
        rules = SessionRules("https://id.example", MINUTE_MS, ("https://here",))
        self.permissions = Permissions(self.staff.rig.service, "ada", rules)
        self._callers = RoutedCallers(self.staff.rig.service, self.permissions, self._check)

    def _check(self, caller: Caller, account: UnixAccount | None) -> None:
        if self.shares_account:
            check_account(caller, None, account)

    def ask(self, workload: str, secret: str, *, session: bool = False) -> RoleAnswer:
        kind = CredentialKind.SESSION if session else CredentialKind.TOKEN
        [found] = self._callers.answers([AskedRole(question_of(workload, kind, secret))])
        return found

    def kinds(self, workload: str, *secrets: str) -> list[RoleAnswerKind]:
        return [self.ask(workload, each).kind for each in secrets]

    def denials(self) -> list[dict[str, Any]]:
        events = self.staff.events(self.staff.owner)
        return [each for each in events if each["type"] == "access_denied"]


@pytest.fixture
def desk(staff: Office) -> Desk:
    return Desk(staff)


def serve(staff: Office, name: str, queue: str, kind: str = "service") -> str:
    return staff.submit(staff.owner, name, queue, kind=kind, run="serve", port=8000)


def token(staff: Office, user: str, role: str, queue: str) -> str:
    staff.grant(f"user:{user}", role, queue)
    return staff.token(user)


def test_a_service_is_for_all_who_may_submit_to_its_queue(desk: Desk) -> None:
    staff = desk.staff
    chat = serve(staff, "chat", "vision")
    above = token(staff, "bob", "submitter", "research")
    viewer, operator = (token(staff, role, role, "") for role in ("viewer", "operator"))
    aside = token(staff, "eve", "owner", "speech")
    narrow = staff.token("bob", "viewer", "vision")
    assert desk.kinds(chat, above, staff.token("ada")) == [K.ALLOWED, K.ALLOWED]
    assert desk.kinds(chat, viewer, operator, narrow) == [K.REFUSED] * 3
    assert desk.kinds(chat, aside) == [K.HIDDEN]
    assert "connect workload needs one of the roles submitter" in desk.ask(chat, viewer).message
    assert "the token is limited to role viewer on queue vision" in desk.ask(chat, narrow).message


def test_a_workspace_is_for_its_owner_and_runs_programs(desk: Desk) -> None:
    staff = desk.staff
    bob = token(staff, "bob", "submitter", "vision")
    other = token(staff, "eve", "maintainer", "vision")
    body = {"name": "nb", "kind": "workspace", "queue": "vision", "run": "x", "port": 8888}
    made = staff.client(bob).post(f"{API}/workloads", json=body)
    assert made.status_code == 201, made.text
    lab = str(made.json()["id"])
    admin = token(staff, "root", "admin", "")
    assert desk.kinds(lab, bob, other, admin) == [K.ALLOWED, K.REFUSED, K.ALLOWED]
    shared = Desk(staff, shares_account=True)
    assert shared.kinds(lab, bob, admin) == [K.REFUSED, K.ALLOWED]
    assert "programs run as the account of this server" in shared.ask(lab, bob).message
    chat = serve(staff, "chat", "vision")
    assert shared.kinds(chat, bob) == [K.ALLOWED], "a request to a service runs no program of its"


def test_refusals_are_recorded_with_their_rule_once_a_minute(desk: Desk) -> None:
    staff = desk.staff
    chat = serve(staff, "chat", "vision")
    viewer, aside = token(staff, "vic", "viewer", ""), token(staff, "eve", "owner", "speech")
    for _ in range(3):
        assert desk.kinds(chat, viewer, aside, assembled([9] * 30)) == [
            K.REFUSED,
            K.HIDDEN,
            K.UNKNOWN,
        ]
    told = [(each["user"], each["operation"], each["queue"]) for each in desk.denials()]
    assert sorted(told) == [
        ("", "connect", ""),
        ("eve", "connect", "vision"),
        ("vic", "connect", "vision"),
    ]
    rules = {each["user"]: each["rule"] for each in desk.denials()}
    assert rules[""] == WRONG
    assert rules["eve"] == "no grant to view queue vision"
    assert rules["vic"].startswith("connect workload needs one of the roles")


def test_what_is_not_there_or_not_reached_is_hidden_and_nothing_of_a_secret_is_said(
    desk: Desk,
) -> None:
    staff = desk.staff
    job = staff.submit(staff.owner, "job", "vision")
    admin = token(staff, "root", "admin", "")
    assert desk.kinds("", admin) == [K.HIDDEN]
    assert desk.kinds("no-such-1", admin) == [K.HIDDEN]
    assert desk.kinds(job, admin) == [K.HIDDEN], "it is neither service nor workspace"
    assert desk.kinds("", assembled([9] * 30)) == [K.UNKNOWN]


def test_a_token_that_was_revoked_counts_for_nothing(desk: Desk) -> None:
    staff = desk.staff
    chat, bob = serve(staff, "chat", "vision"), token(staff, "bob", "submitter", "vision")
    assert desk.kinds(chat, bob) == [K.ALLOWED]
    [known] = [
        each for each in staff.owner.get(f"{API}/tokens").json()["items"] if each["user"] == "bob"
    ]
    assert staff.owner.delete(f"{API}/tokens/{known['id']}").is_success
    assert desk.kinds(chat, bob) == [K.UNKNOWN]


def test_a_grant_that_was_taken_back_counts_no_more(desk: Desk) -> None:
    staff = desk.staff
    chat, bob = serve(staff, "chat", "vision"), token(staff, "bob", "submitter", "vision")
    assert desk.kinds(chat, bob) == [K.ALLOWED]
    gone = {"subject": "user:bob", "role": "submitter", "queue": "vision"}
    assert staff.owner.post(f"{API}/roles:revoke", json=gone).is_success
    assert desk.kinds(chat, bob) == [K.HIDDEN]


def test_a_session_is_its_user_until_it_ends(desk: Desk) -> None:
    staff, cookie = desk.staff, "secret-of-a-session"
    chat, rig = serve(staff, "chat", "vision"), staff.rig
    account = ProvidedAccount("bob", ("ml",), "https://id.example", "s-1")
    known = rig.service.ask(lambda draft: sign_in(draft, account, cookie, 60 * MINUTE_MS, None))
    assert desk.ask(chat, cookie, session=True).kind is K.HIDDEN
    staff.grant("group:ml", "submitter", "vision")
    assert desk.ask(chat, cookie, session=True).kind is K.ALLOWED
    assert desk.ask(chat, cookie).kind is K.UNKNOWN, "a cookie is no token"
    rig.service.ask(lambda draft: sign_out(draft, known.session, "bob", own=True))
    assert desk.ask(chat, cookie, session=True).kind is K.UNKNOWN
