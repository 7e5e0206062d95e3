"""Every operation of the OpenAPI page, asked for by every role."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketDenialResponse

from ganglion.identity.roles import Role
from ganglion.server.access.operations import OPERATIONS
from tests.server.access.office import API, Office

V, S, M, O, P, U, A, R = Role  # noqa: E741 - the owner's initial
EVERY = frozenset(Role) - {R}
ANYONE = frozenset(Role)
SUBMIT, UPDATE, STOP = frozenset({S, M, O, A}), frozenset({M, O, A}), frozenset({M, O, P, A})
FLEET, AUDIT = frozenset({P, A}), frozenset({M, O, U, A})
OWNERS, ADMIN = frozenset({O, A}), frozenset({A})

ANYWHERE: dict[str, frozenset[Role]] = {
    **dict.fromkeys(("submit_workload", "submit_many", "retry_workload"), SUBMIT),
    **dict.fromkeys(("list_workloads", "history", "show_workload", "explain_workload"), EVERY),
    **dict.fromkeys(("list_usage", "show_report", "list_attempts", "list_curves"), EVERY),
    **dict.fromkeys(("list_models", "list_reclaims"), EVERY),
    **dict.fromkeys(("ask_what_if", "list_what_ifs", "show_what_if"), EVERY),
    **dict.fromkeys(("list_prices", "price_history", "list_budgets"), EVERY),
    **dict.fromkeys(("read_log", "list_queues", "show_queue", "stream_events"), EVERY),
    **dict.fromkeys(("list_schedules", "list_clusters", "list_order", "list_starts"), EVERY),
    **dict.fromkeys(("list_tokens", "revoke_token", "who_am_i", "mend_glass"), ANYONE),
    **dict.fromkeys(("show_notices", "set_notices"), ANYONE),
    **dict.fromkeys(("list_sessions", "end_session"), ANYONE),
    **dict.fromkeys(("show_health", "show_readiness", "show_version"), ANYONE),
    **dict.fromkeys(("update_workload", "scale_service", "update_service_model"), UPDATE),
    **dict.fromkeys(("suspend_workspace", "resume_workspace"), UPDATE),
    # Each workload of these is decided about by itself; a submitter has its own.
    **dict.fromkeys(("update_many", "suspend_many", "resume_many"), SUBMIT),
    "cancel_many": SUBMIT | {P},
    "cancel_workload": STOP,
    **dict.fromkeys(("open_service", "run_command", "attach", "forward"), ADMIN),
    **dict.fromkeys(("list_secrets", "set_secret", "remove_secret", "remove_schedule"), SUBMIT),
    **dict.fromkeys(("list_roles", "show_who_can"), AUDIT),
    **dict.fromkeys(("grant_role", "revoke_role"), OWNERS),
    # Each of these asks for a grant above the queue.
    **dict.fromkeys(("set_queue", "check_queue", "delete_queue"), OWNERS),
    **dict.fromkeys(("set_budget", "remove_budget"), ADMIN),
    **dict.fromkeys(("approve_budget_request", "deny_budget_request"), ADMIN),
    "request_budget": SUBMIT,
    "list_budget_requests": EVERY,
}
"""Operation -> roles that may do it to the work of others, granted on its queue or the fleet."""

WHOLE_FLEET: dict[str, frozenset[Role]] = {
    **dict.fromkeys(("list_nodes", "show_node", "list_gpus", "use"), EVERY),
    "show_timeline": EVERY,
    **dict.fromkeys(("list_bookings", "list_drains", "show_metrics", "show_policy"), EVERY),
    **dict.fromkeys(("list_policy_versions", "show_policy_version", "check_policy"), EVERY),
    **dict.fromkeys(("cordon_node", "uncordon_node", "drain_nodes", "undrain_nodes"), FLEET),
    **dict.fromkeys(("set_booking", "remove_booking", "set_policy", "roll_back_policy"), FLEET),
    **dict.fromkeys(("bootstrap", "make_portal_link"), frozenset()),  # the owner alone
    **dict.fromkeys(("disable_user", "enable_user", "set_user_groups"), ADMIN),
    **dict.fromkeys(("list_users",), AUDIT),
    **dict.fromkeys(("add_user", "set_password", "remove_user"), ADMIN),
    **dict.fromkeys(("create_token", "place_hold", "release_hold", "erase_user"), ADMIN),
    **dict.fromkeys(("set_price",), ADMIN),
    "break_glass": frozenset(),  # no role: it needs a dormant grant
    **dict.fromkeys(("list_holds", "export_audit"), AUDIT),
    **dict.fromkeys(("list_audit_anchors", "list_audit_records", "verify_audit"), AUDIT),
    "shut_down": ADMIN,
    **dict.fromkeys(("deliver_records", "poll_questions", "answer_question"), frozenset({R, A})),
}
"""Operation -> roles that may do it when granted on the whole fleet; elsewhere none may."""

WRONG = {"no_such_key": 1}
"""A body that is refused behind the gate, so that nothing changes."""
BODIES: dict[str, Any] = {
    "submit_workload": {"name": "x", "run": "true", "queue": "vision", "resources": {"gpus": 1}},
    "submit_many": {"workloads": []},
    "grant_role": {"subject": "user:zoe", "role": "viewer", "queue": "vision"},
    "revoke_role": {"subject": "user:yan", "role": "viewer", "queue": "vision"},
    "break_glass": {"reason": "a fire in hall 2"},
    "mend_glass": {},
    "set_notices": {"items": []},
    "bootstrap": {},
    "set_password": {"password": "nine blue trains to Ulm"},  # of another user
    "cancel_many": {"filter": {}, "dry_run": True},
    "suspend_many": {"filter": {}, "dry_run": True},
    "resume_many": {"filter": {}, "dry_run": True},
    "update_many": {"filter": {}, "dry_run": True, "changes": {"priority": 5}},
}
QUERIES = {
    "submit_workload": "dry_run=true",
    "stream_events": "follow=false",
    "show_who_can": "verb=view&resource=workload&queue=vision",
    "suspend_workspace": "dry_run=true",
}
VALUES = {
    "{name}": "vision",
    "{number}": "0",
    "{what}": "n0",
    "{token}": "none",
    "{session}": "none",
    "{hold}": "none",
    "{user}": "none",
    "{flavor}": "H100",
    "{question}": "none",
}


def operations(client: TestClient) -> dict[str, tuple[str, str]]:
    """Operation -> method and path, of HTTP by the OpenAPI page, and of WebSockets."""
    page = client.get(f"{API}/openapi.json").json()
    found = {
        each["operationId"]: (method.upper(), path)
        for path, methods in page["paths"].items()
        for method, each in methods.items()
    }
    for name, path in (("run_command", "exec"), ("attach", "attach"), ("forward", "port-forward")):
        found[name] = ("WEBSOCKET", f"{API}/workloads/{{ref}}/{path}?port=1")
    return found


def ask(client: TestClient, operation: str, method: str, path: str, job: str) -> int:
    """Ask for an operation; returns the status."""
    for name, value in {**VALUES, "{ref}": job}.items():
        path = path.replace(name, value)
    if operation in QUERIES:
        path += f"?{QUERIES[operation]}"
    if method == "WEBSOCKET":
        try:
            with client.websocket_connect(path, headers={"Host": "localhost"}):
                return 101
        except WebSocketDenialResponse as refused:
            return refused.status_code
    body = BODIES.get(operation, WRONG) if method != "GET" else None
    if operation in ("retry_workload", "resume_workspace", "uncordon_node", "open_service"):
        body = None
    headers = {"If-Match": '"another"'}
    return client.request(method, path, json=body, headers=headers).status_code


def test_every_operation_has_a_rule_and_an_expectation(staff: Office) -> None:
    known = set(operations(staff.owner))
    assert known == set(OPERATIONS)
    assert known == ANYWHERE.keys() | WHOLE_FLEET.keys()


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("queue", ["", "research"])
def test_a_role_may_do_what_the_table_says_and_nothing_else(
    staff: Office, role: Role, queue: str
) -> None:
    job = staff.submit(staff.owner, "train", "vision")
    client = staff.user("bob", role, queue)
    wrong = dict[str, int]()
    for operation, (method, path) in operations(staff.owner).items():
        roles = ANYWHERE.get(operation) or (WHOLE_FLEET[operation] if not queue else frozenset())
        status = ask(client, operation, method, path, job)
        assert status != 500, operation
        # Of what a caller may not see it hears that there is no such thing.
        hidden = status == 404 and role is R and R not in roles
        if (status != 403 and not hidden) is not (role in roles):
            wrong[operation] = status
    assert not wrong


def test_a_user_without_a_grant_sees_itself_and_whether_the_server_works(staff: Office) -> None:
    job = staff.submit(staff.owner, "train", "vision")
    client = staff.client(staff.token("eve"))
    found = {
        operation: ask(client, operation, method, path, job)
        for operation, (method, path) in operations(staff.owner).items()
    }
    allowed = {operation for operation, status in found.items() if status < 400}
    free = {"show_health", "show_readiness", "show_version", "who_am_i"}
    free |= {"list_tokens", "list_sessions", "show_notices", "set_notices"}
    assert allowed == free
    assert set(found.values()) == {200, 403, 404}
