"""Submissions before their turn: checked, and with the model that they refer to."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeVar

import anyio
from msgspec.structs import replace

from ganglion.model.errors import FieldError, GanglionError
from ganglion.model.workload import ResolvedImage, ResolvedModel
from ganglion.server.access.checks import check_submit, own_key
from ganglion.server.commands.submission import submit
from ganglion.server.models.images import found_image, has_digest
from ganglion.server.requests.context import Body, ServerContext

T = TypeVar("T")

LONG = 1 << 14
"""Bytes of a workload file that is not checked beside other requests."""
MOST_AT_ONCE = 8
"""References that one request has resolved at a time."""


async def checked_request(
    here: ServerContext, body: Body, *, key: str, force: bool, dry: bool = False
) -> submit.Request:
    """Check a workload by itself, and ask the registries of its model and image before any turn.

    Args:
        here: the server.
        body: the workload file.
        key: idempotency key; empty = none.
        force: take it although it can never start now.
        dry: whether nothing is recorded, so that what its image is does not matter.

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
    model, image = request.file.model, "" if dry else _tagged(request)
    if not (model or image) or not await anyio.to_thread.run_sync(_is_asked_for, here, request):
        return request
    if model:
        request = replace(request, model=await here.find_model(model))
    found = await found_image(image, here.find_model) if image else None
    return replace(request, image=found)


def _tagged(request: submit.Request) -> str:
    """The image of a workload whose digest is to be found out; empty = there is none."""
    image = request.file.image
    return "" if has_digest(image) else image


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

    async def one(reference: str) -> ResolvedModel | GanglionError:
        try:
            return await here.find_model(reference)
        except GanglionError as error:
            return error

    return await _each(here, requests, lambda request: request.file.model, one)


async def found_images(
    here: ServerContext, requests: Iterable[submit.Request]
) -> dict[str, ResolvedImage]:
    """What the images of many submissions are, in the same way."""
    return await _each(here, requests, _tagged, lambda image: found_image(image, here.find_model))


async def _each(
    here: ServerContext,
    requests: Iterable[submit.Request],
    named: Callable[[submit.Request], str],
    find: Callable[[str], Awaitable[T]],
) -> dict[str, T]:
    """Find out about what requests name, a few at a time."""
    asking = await anyio.to_thread.run_sync(lambda: [e for e in requests if _may_ask(here, e)])
    wanted = [each for each in dict.fromkeys(map(named, asking)) if each]
    turn = asyncio.Semaphore(MOST_AT_ONCE)

    async def one(name: str) -> T:
        async with turn:
            return await find(name)

    return dict(zip(wanted, await asyncio.gather(*map(one, wanted)), strict=True))
