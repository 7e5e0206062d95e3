"""Routes that answer with structs of `ganglion.api`, which are sent as they are."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import msgspec
from fastapi import APIRouter
from fastapi.datastructures import DefaultPlaceholder
from fastapi.responses import Response

from ganglion.server.rest.answer_schemas import is_struct, reference

Described = dict[str, Any]


def sent(body: msgspec.Struct, status: int = 200) -> Response:
    """The answer with a struct as its body."""
    return Response(msgspec.json.encode(body), status, media_type="application/json")


class Routes(APIRouter):
    """A router whose functions may return structs; FastAPI knows models of pydantic only.

    `response_model`, and `model` of a response, may be structs too.
    """

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401 - as FastAPI
        """Add a route; the arguments are those of FastAPI."""
        returned = inspect.signature(endpoint).return_annotation
        model = options.get("response_model")
        model = returned if isinstance(model, DefaultPlaceholder) else model
        status = options.get("status_code") or 200
        answers = {key: _described(each) for key, each in (options["responses"] or {}).items()}
        if is_struct(model):
            answers[status] = _described({**answers.get(status, {}), "model": model})
            options["response_model"] = None
        if is_struct(returned):
            endpoint = _sending(endpoint, status)
        super().add_api_route(path, endpoint, **(options | {"responses": answers}))


def _described(answer: Mapping[str, Any]) -> Described:
    """A response of the OpenAPI page; a struct becomes the reference to its schema."""
    if not is_struct(answer.get("model")):
        return dict(answer)
    content = {"application/json": {"schema": reference(answer["model"])}}
    return {**{key: each for key, each in answer.items() if key != "model"}, "content": content}


def _sending(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(endpoint):

        @wraps(endpoint)
        async def answered(*args: Any, **given: Any) -> Response:  # noqa: ANN401 - as endpoint
            return sent(await endpoint(*args, **given), status)

        return answered

    @wraps(endpoint)
    def answer(*args: Any, **given: Any) -> Response:  # noqa: ANN401 - as endpoint
        return sent(endpoint(*args, **given), status)

    return answer
