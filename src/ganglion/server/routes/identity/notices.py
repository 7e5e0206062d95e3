"""Routes for what users are notified of; each user has its own choice."""

from typing import Annotated

from pydantic import Field

from ganglion.api.access import NoticeChoice, NoticesView
from ganglion.model.behaviour import WAITING, Notify
from ganglion.model.errors import FieldError
from ganglion.server.requests.context import Here, ServerContext
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.specs.grammar.times.durations import print_duration
from ganglion.specs.workload.behaviour import notify_of
from ganglion.specs.workload.workload import from_document

router = Routes(tags=["access"], responses=ERRORS)

MOST, MOST_RECIPIENTS = 10, 10
Recipient = Annotated[str, Field(min_length=1, max_length=2_000)]
Event = Annotated[str, Field(min_length=1, max_length=20)]


class ChoiceInput(Input):
    """Which events reach which recipients."""

    on: list[Event] = Field(
        min_length=1, max_length=10, description="start, end, failure, preemption, budget, waiting"
    )
    mail: list[Recipient] = Field([], max_length=MOST_RECIPIENTS, description="addresses")
    webhook: list[Recipient] = Field(
        [], max_length=MOST_RECIPIENTS, description="URLs that are sent JSON, or secret:NAME of one"
    )
    signing_key: str = Field("", max_length=300, description="secret:NAME of the key that signs")
    waiting: str = Field(
        "", max_length=100, description="with `waiting`: for how long, as `30m`; empty = 1h"
    )


class ChoicesInput(Input):
    """All that a user is to be notified of; empty = what `notify.yaml` of the server says."""

    items: list[ChoiceInput] = Field(max_length=MOST)


@router.get("/notices")
def show_notices(here: Here) -> NoticesView:
    """Return what the caller chose to be notified of."""
    return _view(here)


@router.put("/notices")
def set_notices(here: Here, wish: ChoicesInput) -> NoticesView:
    """Choose what the caller is notified of, for its workloads that do not say `notify`."""
    chosen = [_understood(each, at) for at, each in enumerate(wish.items)]
    here.notices.set(here.user, chosen)
    return _view(here)


def _view(here: ServerContext) -> NoticesView:
    items = tuple(
        NoticeChoice(
            *(each.on, each.mail, each.webhook, each.signing_key),
            print_duration(each.waiting_ms) if WAITING in each.on else "",
        )
        for each in here.notices.of(here.user)
    )
    return NoticesView(items)


def _understood(wish: ChoiceInput, at: int) -> Notify:
    """The choice in the grammar of `notify` of a workload file. Raises FieldError."""
    given = {key: value for key, value in wish.model_dump().items() if value}
    try:
        found = notify_of(from_document({"run": "true", "notify": given}).notify)
    except FieldError as error:
        first, *others = (_of_choice(each, at) for each in error.errors)
        raise first.among(others) from error
    if found is None or not (found.mail or found.webhook):
        raise FieldError(
            "nothing says whom to notify", key=f"items[{at}].mail", hint="give `mail` or `webhook`"
        )
    return found


def _of_choice(error: FieldError, at: int) -> FieldError:
    """An error of `notify` in a workload, as an error of the choice that it was read from."""
    key = error.key.removeprefix("notify").lstrip(".")
    return FieldError(error.problem, key=f"items[{at}].{key}".rstrip("."), hint=error.hint)
