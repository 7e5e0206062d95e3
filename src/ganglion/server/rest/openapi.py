"""The OpenAPI page: what FastAPI derives from the routes, and what it cannot know."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from ganglion.server.rest.answer_schemas import schemas_of
from ganglion.server.rest.listening.guard import METRICS, OPEN
from ganglion.specs.policy.bookings import BookingFile
from ganglion.specs.policy.queue_schema import QueueFile
from ganglion.specs.workload.schema import WorkloadFile

Page = dict[str, Any]

_LIVE = ("show_workload", "explain_workload", "update_workload", "cancel_workload")
_LINKED = {
    "submit_workload": ("201", _LIVE, "ref", "id"),
    "retry_workload": ("201", _LIVE, "ref", "id"),
    "set_queue": ("200", ("show_queue", "delete_queue"), "name", "name"),
    "set_booking": ("200", ("remove_booking",), "name", "name"),
    "drain_nodes": ("200", ("undrain_nodes",), "what", "what"),
}
"""Operation -> status of its answer, operations that follow, their parameter, key of the answer."""

_JOB = {"name": "train", "run": "python train.py", "resources": {"gpus": 1}, "time_limit": "2h"}
_POLICY = "preemption: {share_after: 20m}"
_TRAINING = {"name": ["train-*"], "state": ["QUEUED"]}

EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "submit_workload": _JOB,
    "submit_many": {"workloads": [_JOB, _JOB | {"name": "eval"}]},
    "update_workload": {"priority": 80, "time_limit": "12h"},
    "cancel_workload": {"force": False},
    "scale_service": {"replicas": "2..8"},
    "update_service_model": {"to": "models:/chat@candidate", "surge": 1},
    "cancel_many": {"filter": _TRAINING, "dry_run": True},
    "update_many": {"filter": _TRAINING, "changes": {"queue": "default"}, "dry_run": True},
    "suspend_many": {"filter": {"kind": ["workspace"]}, "dry_run": True},
    "resume_many": {"filter": {"kind": ["workspace"]}, "dry_run": True},
    "cordon_node": {"reason": "new power supply"},
    "drain_nodes": {"by": 1_900_000_000_000, "reason": "new power supply"},
    "set_queue": {"quota": {"gpus": 8}, "limit": {"gpus": 16}, "weight": 2},
    "check_queue": {"quota": {"gpus": 8}, "limit": {"gpus": 16}, "weight": 2},
    "set_policy": {"text": _POLICY},
    "check_policy": {"text": _POLICY, "file": "policy.yaml"},
    "roll_back_policy": {"version": 0},
    "set_booking": {"nodes": ["n0"], "begin": "2030-01-07T08:00Z", "length": "4h"},
    "set_notices": {"items": [{"on": ["failure"], "mail": ["eve@example.org"]}]},
    "set_secret": {"value": "what the program finds in its environment"},
    "shut_down": {"cancel": False},
    "grant_role": {"subject": "user:eve", "role": "submitter", "queue": "default"},
    "revoke_role": {"subject": "user:eve", "role": "submitter", "queue": "default"},
    "break_glass": {"reason": "node fire in hall 2", "lasting": 3_600_000},
    "mend_glass": {"user": "eve"},
    "place_hold": {"since": 1_900_000_000_000, "reason": "case 26-117"},
    "erase_user": {"user": "eve", "reason": "request of 2030-01-07"},
    "deliver_records": {"scheduler": "019a-example", "records": []},
    "poll_questions": {"scheduler": "019a-example", "kinds": ["why"], "wait_ms": 1},
    "answer_question": {"scheduler": "019a-example", "id": "4f0c", "trouble": None},
    "set_budget": {"micro": 50_000_000_000, "zone": "Europe/Berlin", "warn": [80, 95]},
    "request_budget": {"micro": 500_000_000, "reason": "the rerun for the paper"},
    "approve_budget_request": {"reason": "from the reserve"},
    "deny_budget_request": {"reason": "it can wait until next month"},
    "set_price": {"micro": 2_500_000, "currency": "EUR"},
    "ask_what_if": {"since": "7d", "policy": {"text": _POLICY}, "nodes": ["+4xH100:8"]},
    "create_token": {"user": "eve", "role": "viewer", "queue": "default", "days": 30},
    "bootstrap": {"if_needed": True},
    "add_user": {"user": "eve", "password": "nine blue trains to Ulm"},
    "set_password": {"password": "no trains on Sundays, sorry"},
    "set_user_groups": {"groups": ["ml", "vision"]},
}
"""Operation -> a body that it takes."""
OF_SCHEDULERS: Mapping[str, Mapping[str, Any]] = {
    "rehearse_objects": {
        "objects": [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "train", "namespace": "team-a"},
                "spec": {
                    "template": {"spec": {"schedulerName": "ganglion", "containers": []}},
                },
            }
        ]
    },
}
"""The same of the views of a scheduler of clusters."""


def described(app: FastAPI) -> Page:
    """The page of an application, made once.

    Args:
        app: with all its routes.
    """
    if app.openapi_schema:
        return app.openapi_schema
    page = FastAPI.openapi(app)
    known = page["components"]["schemas"]
    inputs = tuple((each, "validation") for each in (WorkloadFile, QueueFile, BookingFile))
    _, found = models_json_schema(inputs, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]  # a literal per pair
    known.update(found["$defs"])
    known.update(schemas_of(page))
    for unused in ("HTTPValidationError", "ValidationError"):
        known.pop(unused, None)
    page["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    page["security"] = [{"token": []}]
    operations = {
        each["operationId"]: each for path in page["paths"].values() for each in path.values()
    }
    for path in page["paths"].keys() & (OPEN | {METRICS}):
        page["paths"][path]["get"]["security"] = []
    for each in operations.values():
        # The docstring's first line says more than the function's name does.
        each["summary"] = each.get("description", each["summary"]).partition("\n")[0].rstrip(".")
        if "requestBody" in each:
            content = each["requestBody"]["content"]["application/json"]
            content["example"] = {**EXAMPLES, **OF_SCHEDULERS}[each["operationId"]]
    for name, (status, targets, parameter, key) in _LINKED.items():
        if name in operations:
            operations[name]["responses"][status]["links"] = {
                target: {
                    "operationId": target,
                    "parameters": {parameter: f"$response.body#/{key}"},
                }
                for target in targets
                if target in operations
            }
    return page
