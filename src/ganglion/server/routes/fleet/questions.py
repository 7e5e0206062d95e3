"""Routes by which schedulers of clusters fetch questions and answer them."""

from typing import TypeVar

import anyio
import msgspec
from fastapi import Request

from ganglion import __version__
from ganglion.api.asked.answers import AnswerTaken, QuestionAnswer
from ganglion.api.asked.questions import QuestionPage, QuestionPoll
from ganglion.model.errors import FieldError
from ganglion.server.requests.context import Here, ServerContext
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.routes.fleet.clusters import LONGEST_ID, Name

T = TypeVar("T")

router = Routes(tags=["cluster"], responses=ERRORS)

MOST_NAMED = 64
"""Most kinds, and most open questions, that one poll names."""
_POLL, _ANSWER = msgspec.json.Decoder(QuestionPoll), msgspec.json.Decoder(QuestionAnswer)


def _body(required: list[str], properties: dict[str, object]) -> dict[str, object]:
    """The OpenAPI description of a body; other keys, of later versions, are left aside."""
    schema = {"type": "object", "required": required, "properties": properties}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


_FLAG = {"type": "boolean"}
_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}


@router.post(
    "/clusters/{name}/questions",
    openapi_extra=_body(
        ["scheduler"],
        {
            "scheduler": {"type": "string", "minLength": 1, "maxLength": LONGEST_ID},
            "kinds": _TEXTS,
            "room": {"type": "integer"},
            "open": _TEXTS,
            "wait_ms": {"type": "integer"},
        },
    ),
)
async def poll_questions(here: Here, name: Name, request: Request) -> QuestionPage:
    """Wait for questions to the scheduler of a cluster, for `wait_ms`, at most 25 seconds.

    One poll of a cluster waits at a time: a later one ends those before it.
    """
    poll = _read(await request.body(), _POLL)
    if not poll.scheduler or len(poll.scheduler) > LONGEST_ID:
        raise FieldError(f"must have 1 to {LONGEST_ID} characters", key="scheduler")
    if max(len(poll.kinds), len(poll.open)) > MOST_NAMED:
        raise FieldError(f"at most {MOST_NAMED} are named", key="open")
    newest = await anyio.to_thread.run_sync(_newest, here, name)
    return QuestionPage(await here.desk.poll(name, poll, newest))


@router.post(
    "/clusters/{name}/answers",
    openapi_extra=_body(
        ["scheduler", "id"],
        {
            "scheduler": _TEXT,
            "id": _TEXT,
            "at": {"type": "integer"},
            "why": {"type": "object", "nullable": True},
            "pods": _TEXTS,
            "log": {
                "type": "object",
                "nullable": True,
                "required": ["text", "pod", "uid", "container"],
                "properties": {
                    "text": {"type": "string", "format": "byte"},
                    **dict.fromkeys(("pod", "uid", "container"), _TEXT),
                    "more": _FLAG,
                    "over": _FLAG,
                },
            },
            "trouble": {
                "type": "object",
                "nullable": True,
                "required": ["code", "said"],
                "properties": {"code": _TEXT, "said": _TEXT, "hint": _TEXT},
            },
        },
    ),
)
async def answer_question(here: Here, name: Name, request: Request) -> AnswerTaken:
    """Answer a question that the same scheduler was asked and that is open still."""
    here.desk.answered(name, _read(await request.body(), _ANSWER))
    return AnswerTaken()


def _newest(here: ServerContext, cluster: str) -> str:
    """Id of the newest scheduler of a cluster whose records have come; empty = none has."""
    with here.service.read() as mind:
        book = mind.book.clusters.of.get(cluster)
        return book.scheduler if book else ""


def _read(body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Raises FieldError where a body is not what it should be."""
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        hint = f"this server has version {__version__}"
        raise FieldError(str(error), key="body", hint=hint) from error
