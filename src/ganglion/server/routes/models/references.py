"""Routes about models: what references mean by now, and other models for services."""

import anyio
from pydantic import Field

from ganglion.api.use import ModelList, ModelRow
from ganglion.api.workloads import WorkloadDetail
from ganglion.model.errors import FieldError
from ganglion.server.access.checks import narrowed
from ganglion.server.commands.scale import counted_models
from ganglion.server.models.keeper import has_moved, moving
from ganglion.server.models.updates import MOST_SURGE, service_with_model, update_model
from ganglion.server.requests.context import Here, ServerContext
from ganglion.server.rest.filters import RowFilter
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.routes.workloads import shown
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Mind
from ganglion.server.views.lists import live
from ganglion.server.views.workloads import model_view
from ganglion.specs.grammar.rules.models import LONGEST, parse_model

router = Routes(tags=["models"], responses=ERRORS)


class OtherModel(Input):
    """Which model a service is to have."""

    to: str = Field(
        "", max_length=LONGEST, description="a reference; empty = what its own means by now"
    )
    back: bool = Field(False, description="the model before the last update")
    surge: int = Field(
        1,
        ge=0,
        le=MOST_SURGE,
        description="replicas beyond those wanted meanwhile; 0 = one goes before another comes",
    )


@router.get("/models")
def list_models(here: Here) -> ModelList:
    """List live workloads with a model, what references mean by now, and models that are kept."""
    want = narrowed(here.caller, RowFilter())
    with here.service.read() as mind:
        rows = [_row(here, mind, each) for each in live(mind, want) if each.workload.model]
    # Names of models that others have fetched are for those who may see their work, too.
    return ModelList(tuple(rows), here.model_store() if here.caller.sees_all else None)


def _row(here: ServerContext, mind: Mind, entry: LiveWorkload) -> ModelRow:
    own, its = entry.workload.model, entry.workload
    reference = moving(own)
    reading = here.model_now(reference) if reference else None
    now = reading.model if reading else None
    update = mind.book.replicas.updated.get(entry.id)
    fresh, old = counted_models(mind, entry)
    return ModelRow(
        *(entry.id, its.name, its.kind, its.queue, its.user),
        model=model_view(own),
        now=model_view(now),
        moved=has_moved(own, now) if own and now else None if reference else False,
        asked=reading.at if reading else None,
        trouble=reading.trouble if reading else "",
        before=model_view(update.before) if update else None,
        fresh=fresh,
        outdated=old,
        kept=here.model_kept(own, its.account) if own else None,
    )


@router.post("/workloads/{ref:ref}/model")
async def update_service_model(here: Here, ref: str, wish: OtherModel) -> WorkloadDetail:
    """Replace the replicas of a service by ones with another model, one after the other."""
    if wish.back and wish.to:
        raise FieldError("cannot stand beside `back`", key="to", hint="leave one of them out")

    def reference() -> str:
        with here.service.read() as mind:
            return service_with_model(mind, here.service.ledger, ref)[1].reference

    own = await anyio.to_thread.run_sync(reference)
    model = None
    if not wish.back:
        model = await here.find_model(_reference(wish.to) if wish.to else own)
    workload = await here.service.answer(
        lambda draft: update_model(draft, ref, model, wish.surge, here.user)
    )
    return await anyio.to_thread.run_sync(shown, here, workload)


def _reference(text: str) -> str:
    try:
        return parse_model(text)
    except FieldError as error:
        raise FieldError(error.problem, key="to", hint=error.hint) from error
