"""Submissions before their turn: checked, and with the model that they refer to."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial

import anyio
from msgspec.structs import replace

from ganglion.model.errors import FieldError, GanglionError
from ganglion.model.workload import ResolvedModel
from ganglion.server.access.checks import check_submit, own_key
from ganglion.server.commands.submission import submit
from ganglion.server.requests.context import Body, ServerContext

LONG = 1 << 14
"""Bytes of a workload file that is not checked beside other requests."""
MOST_AT_ONCE = 8
"""References that one request has resolved at a time."""


async def checked_request(
    here: ServerContext, body: Body, *, key: str, force: bool
) -> submit.Request:
    """Check a workload by itself, and ask the registry of its model before any turn.

    Raises:
        GanglionError: it is refused.
    """
    key = own_key(here.caller, key)
    own = {"user": here.user, "key": key, "force": force, "cap": here.caller.cap}
    check = partial(submit.checked, body.data, body.raw, **own)
    try:
        # To wake a thread takes longer than to check a file of usual length.
        request = check() if len(body.raw) < LONG else await anyio.to_thread.run_sync(check)
    except FieldError as error:
        raise await anyio.to_thread.run_sync(_refused, here, body, error) from None
    if not request.file.model:
        return request
    if await anyio.to_thread.run_sync(_is_asked_for, here, request):
        request = replace(request, model=await here.find_model(request.file.model))
    return request


def _refused(here: ServerContext, body: Body, error: FieldError) -> FieldError:
    if not here.caller.sees_all:
        return error  # what else is wrong says what there is
    with here.service.read() as mind:
        return submit.refused(mind, here.service.ledger, body.data, error, here.service.now())


def _is_asked_for(here: ServerContext, request: submit.Request) -> bool:
    """Whether the registry is to be asked: a repetition gets the first answer without it.

    Raises:
        GanglionError: the caller may not submit it, so that nothing is asked on its behalf.
    """
    ledger = here.service.ledger
    if request.key and ledger.history.by_requests((request.key,)):
        return False
    with here.service.read() as mind:
        check_submit(here.caller, mind, ledger, request.file)
    return True


def _may_ask(here: ServerContext, request: submit.Request) -> bool:
    try:
        return _is_asked_for(here, request)
    except GanglionError:
        return False


async def found_models(
    here: ServerContext, requests: Iterable[submit.Request]
) -> dict[str, ResolvedModel | GanglionError]:
    """What the references of many submissions mean, each asked for once.

    For what the caller may not submit nothing is asked; the turn refuses it.
    """
    asking = await anyio.to_thread.run_sync(lambda: [e for e in requests if _may_ask(here, e)])
    wanted = list(dict.fromkeys(each.file.model for each in asking))
    turn = asyncio.Semaphore(MOST_AT_ONCE)

    async def one(reference: str) -> ResolvedModel | GanglionError:
        async with turn:
            try:
                return await here.find_model(reference)
            except GanglionError as error:
                return error

    found: Sequence[ResolvedModel | GanglionError] = await asyncio.gather(*map(one, wanted))
    return dict(zip(wanted, found, strict=True))
