"""Routes that suspend workspaces and take them up again."""

from typing import Annotated

from fastapi import APIRouter, Query

from ganglion.model.causes import Cause, CauseKind
from ganglion.server import schemas, workspaces
from ganglion.server.context import Here
from ganglion.server.problems import ERRORS
from ganglion.server.routes_workloads import shown

router = APIRouter(tags=["workloads"], responses=ERRORS)


@router.post("/workloads/{ref:ref}/suspend")
def suspend_workspace(
    here: Here,
    ref: str,
    dry_run: Annotated[bool, Query(description="only say what would be lost")] = False,
) -> schemas.Suspension:
    """Stop a workspace until it is resumed; the answer says what is lost by that."""
    asked = here.service.ask(lambda draft: workspaces.find(draft, ref))
    loss = workspaces.loss_of(here.look_at(asked.record.gang.id))
    if not dry_run:
        here.service.ask(lambda draft: workspaces.suspend(draft, ref, here.user))
    return schemas.Suspension(id=asked.workload, loss=loss)


@router.post("/workloads/{ref:ref}/resume")
def resume_workspace(here: Here, ref: str) -> schemas.WorkloadDetail:
    """Let a suspended workspace start again."""
    cause = Cause(CauseKind.RESUMED, user=here.user)
    workload = here.service.ask(lambda draft: workspaces.resume(draft, ref, cause))
    return shown(here, workload)
