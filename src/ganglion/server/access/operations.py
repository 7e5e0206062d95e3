"""What each operation asks of its caller: verb, resource, and where the resource lies."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from ganglion.identity.roles import AccessVerb, ResourceKind
from ganglion.model.workload import Kind


class GrantPlace(StrEnum):
    """Where a grant has to hold."""

    FLEET = "on the whole fleet"
    WORKLOAD = "on the queue of the workload that the path names"
    QUEUE = "on the queue that the path names"
    NARROWED = "on some queue; the operation itself leaves out or refuses what lies elsewhere"
    CLUSTER = "on the cluster that the path names, as `CLUSTER:`"
    ANYONE = "nowhere: each caller may"


class Rule(Struct, frozen=True):
    """What an operation asks of its caller.

    Attributes:
        verb: what is done.
        kind: what it is done to.
        where: where a grant has to hold.
        runs_programs: whether programs run by it as the account that the workload has.
    """

    verb: AccessVerb
    kind: ResourceKind
    where: GrantPlace = GrantPlace.FLEET
    runs_programs: bool = False


_V, _K, _W = AccessVerb, ResourceKind, GrantPlace
_VIEW_FLEET = Rule(_V.VIEW, _K.FLEET)
_CHANGE_FLEET = Rule(_V.CHANGE, _K.FLEET)
_VIEW_JOB = Rule(_V.VIEW, _K.WORKLOAD, _W.WORKLOAD)
_UPDATE_JOB = Rule(_V.UPDATE, _K.WORKLOAD, _W.WORKLOAD)
_ENTER_JOB = Rule(_V.ENTER, _K.WORKLOAD, _W.WORKLOAD, runs_programs=True)
_UPDATE_MANY = Rule(_V.UPDATE, _K.WORKLOAD, _W.NARROWED)
_SUBMIT = Rule(_V.SUBMIT, _K.WORKLOAD, _W.NARROWED)
_VIEW_JOBS = Rule(_V.VIEW, _K.WORKLOAD, _W.NARROWED)
_SECRETS = Rule(_V.CHANGE, _K.SECRET, _W.NARROWED)
_VIEW_POLICY = Rule(_V.VIEW, _K.POLICY)
_CHANGE_POLICY = Rule(_V.CHANGE, _K.POLICY)
_CHANGE_QUEUE = Rule(_V.CHANGE, _K.QUEUE, _W.NARROWED)
_CHANGE_BUDGET = Rule(_V.CHANGE, _K.BUDGET, _W.NARROWED)
_GRANT = Rule(_V.GRANT, _K.ACCESS, _W.NARROWED)
_AUDIT = Rule(_V.AUDIT, _K.ACCESS, _W.NARROWED)
_ANYONE = Rule(_V.VIEW, _K.SERVER, _W.ANYONE)

ROUTER: Mapping[Kind, Rule] = MappingProxyType(
    {Kind.SERVICE: Rule(_V.CONNECT, _K.WORKLOAD, _W.WORKLOAD), Kind.WORKSPACE: _ENTER_JOB}
)
"""Kind of workload -> what a request through the router asks of its caller."""

OPERATIONS: Mapping[str, Rule] = MappingProxyType(
    {
        "submit_workload": _SUBMIT,
        "submit_many": _SUBMIT,
        "list_workloads": _VIEW_JOBS,
        "history": _VIEW_JOBS,
        "list_usage": _VIEW_JOBS,
        "show_report": _VIEW_JOBS,
        "list_reclaims": _VIEW_JOBS,
        "show_workload": _VIEW_JOB,
        "explain_workload": _VIEW_JOB,
        "list_attempts": _VIEW_JOB,
        "list_curves": _VIEW_JOB,
        "read_log": _VIEW_JOB,
        "cancel_workload": Rule(_V.STOP, _K.WORKLOAD, _W.WORKLOAD),
        "retry_workload": Rule(_V.SUBMIT, _K.WORKLOAD, _W.WORKLOAD, runs_programs=True),
        "update_workload": _UPDATE_JOB,
        "scale_service": _UPDATE_JOB,
        "list_models": _VIEW_JOBS,
        "update_service_model": _UPDATE_JOB,
        "suspend_workspace": _UPDATE_JOB,
        "resume_workspace": _UPDATE_JOB,
        "open_service": _ENTER_JOB,
        "run_command": _ENTER_JOB,
        "attach": _ENTER_JOB,
        "forward": _ENTER_JOB,
        "cancel_many": Rule(_V.STOP, _K.WORKLOAD, _W.NARROWED),
        "update_many": _UPDATE_MANY,
        "suspend_many": _UPDATE_MANY,
        "resume_many": _UPDATE_MANY,
        "list_queues": Rule(_V.VIEW, _K.QUEUE, _W.NARROWED),
        "show_queue": Rule(_V.VIEW, _K.QUEUE, _W.QUEUE),
        "set_queue": _CHANGE_QUEUE,
        "check_queue": _CHANGE_QUEUE,
        "delete_queue": _CHANGE_QUEUE,
        "list_nodes": _VIEW_FLEET,
        "show_node": _VIEW_FLEET,
        "list_gpus": _VIEW_FLEET,
        "list_order": _VIEW_JOBS,
        "list_starts": _VIEW_JOBS,
        "use": _VIEW_FLEET,
        "show_timeline": _VIEW_FLEET,
        "list_bookings": _VIEW_FLEET,
        "list_drains": _VIEW_FLEET,
        "show_metrics": _VIEW_FLEET,
        "cordon_node": _CHANGE_FLEET,
        "uncordon_node": _CHANGE_FLEET,
        "drain_nodes": _CHANGE_FLEET,
        "undrain_nodes": _CHANGE_FLEET,
        "set_booking": _CHANGE_FLEET,
        "remove_booking": _CHANGE_FLEET,
        "show_policy": _VIEW_POLICY,
        "list_policy_versions": _VIEW_POLICY,
        "show_policy_version": _VIEW_POLICY,
        "check_policy": _VIEW_POLICY,
        "set_policy": _CHANGE_POLICY,
        "roll_back_policy": _CHANGE_POLICY,
        **dict.fromkeys(("ask_what_if", "list_what_ifs", "show_what_if"), _VIEW_JOBS),
        "list_schedules": _VIEW_JOBS,
        "remove_schedule": Rule(_V.SUBMIT, _K.WORKLOAD, _W.NARROWED),
        "list_secrets": _SECRETS,
        "set_secret": _SECRETS,
        "remove_secret": _SECRETS,
        "stream_events": _VIEW_JOBS,
        "list_roles": _AUDIT,
        "show_who_can": _AUDIT,
        "grant_role": _GRANT,
        "revoke_role": _GRANT,
        "break_glass": _ANYONE,
        "mend_glass": _ANYONE,
        "export_audit": Rule(_V.AUDIT, _K.ACCESS),
        "list_audit_records": Rule(_V.AUDIT, _K.ACCESS),
        "list_audit_anchors": Rule(_V.AUDIT, _K.ACCESS),
        "verify_audit": Rule(_V.AUDIT, _K.ACCESS),
        "list_holds": Rule(_V.AUDIT, _K.ACCESS),
        "place_hold": Rule(_V.CHANGE, _K.ACCESS),
        "release_hold": Rule(_V.CHANGE, _K.ACCESS),
        "erase_user": Rule(_V.CHANGE, _K.ACCESS),
        "create_token": Rule(_V.GRANT, _K.TOKEN),
        "bootstrap": Rule(_V.GRANT, _K.TOKEN),
        "make_portal_link": Rule(_V.GRANT, _K.TOKEN),
        "list_users": Rule(_V.AUDIT, _K.ACCESS),
        "add_user": Rule(_V.GRANT, _K.TOKEN),
        "set_password": _ANYONE,
        "disable_user": Rule(_V.GRANT, _K.TOKEN),
        "set_user_groups": Rule(_V.GRANT, _K.TOKEN),
        "enable_user": Rule(_V.GRANT, _K.TOKEN),
        "remove_user": Rule(_V.GRANT, _K.TOKEN),
        **dict.fromkeys(("show_notices", "set_notices"), _ANYONE),
        "list_tokens": _ANYONE,
        "revoke_token": _ANYONE,
        "list_sessions": _ANYONE,
        "end_session": _ANYONE,
        "who_am_i": _ANYONE,
        "show_health": _ANYONE,
        "show_readiness": _ANYONE,
        "show_version": _ANYONE,
        "list_clusters": _VIEW_JOBS,
        **dict.fromkeys(
            ("deliver_records", "poll_questions", "answer_question"),
            Rule(_V.DELIVER, _K.CLUSTER, _W.CLUSTER),
        ),
        "list_prices": Rule(_V.VIEW, _K.PRICE, _W.NARROWED),
        "price_history": Rule(_V.VIEW, _K.PRICE, _W.NARROWED),
        "list_budgets": Rule(_V.VIEW, _K.BUDGET, _W.NARROWED),
        **dict.fromkeys(("set_budget", "remove_budget"), _CHANGE_BUDGET),
        "request_budget": _SUBMIT,
        "list_budget_requests": Rule(_V.VIEW, _K.BUDGET, _W.NARROWED),
        **dict.fromkeys(("approve_budget_request", "deny_budget_request"), _CHANGE_BUDGET),
        "set_price": Rule(_V.CHANGE, _K.PRICE),
        "shut_down": Rule(_V.HALT, _K.SERVER),
    }
)
"""Operation, as the OpenAPI page names it -> what it asks of its caller."""
