"""The OpenAPI page: what FastAPI derives from the routes, and what it cannot know."""

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from ganglion.files.bookings import BookingFile
from ganglion.files.queue_schema import QueueFile
from ganglion.files.schema import WorkloadFile
from ganglion.server.guard import METRICS, OPEN
from ganglion.server.schemas_problem import Problem

Page = dict[str, Any]

_LIVE = ("show_workload", "explain_workload", "update_workload", "cancel_workload")
_LINKED = {
    "submit_workload": ("201", _LIVE, "ref", "id"),
    "retry_workload": ("201", _LIVE, "ref", "id"),
    "set_queue": ("200", ("show_queue", "delete_queue"), "name", "name"),
    "set_booking": ("200", ("remove_booking",), "name", "name"),
    "drain_nodes": ("200", ("undrain_nodes",), "what", "name"),
}
"""Operation -> status of its answer, operations that follow, their parameter, key of the answer."""


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
    answers = ((Problem, "serialization"),)
    _, found = models_json_schema((*inputs, *answers), ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]  # a literal per pair
    known.update(found["$defs"])
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
