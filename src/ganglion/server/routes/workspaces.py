"""Routes that suspend workspaces and take them up again."""

from typing import Annotated

from fastapi import Query

from ganglion.api.workloads import Suspension, WorkloadDetail
from ganglion.model.causes import Cause, CauseKind
from ganglion.server.commands import workspaces
from ganglion.server.requests.context import Here
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.routes.workloads import shown

router = Routes(tags=["workloads"], responses=ERRORS)


@router.post("/workloads/{ref:ref}/suspend")
def suspend_workspace(
    here: Here,
    ref: str,
    dry_run: Annotated[bool, Query(description="only say what would be lost")] = False,
) -> Suspension:
    """Stop a workspace until it is resumed; the answer says what is lost by that."""
    asked = here.service.ask(lambda draft: workspaces.find(draft, ref))
    loss = workspaces.loss_of(here.look_at(asked.record.gang.id))
    if not dry_run:
        here.service.ask(lambda draft: workspaces.suspend(draft, ref, here.user))
    return Suspension(id=asked.workload, loss=loss)


@router.post("/workloads/{ref:ref}/resume")
def resume_workspace(here: Here, ref: str) -> WorkloadDetail:
    """Let a suspended workspace start again."""
    cause = Cause(CauseKind.RESUMED, user=here.user)
    workload = here.service.ask(lambda draft: workspaces.resume(draft, ref, cause))
    return shown(here, workload)
