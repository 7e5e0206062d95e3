"""The paths of an application: which methods each takes, and the parameters of its query."""

import re
from collections.abc import Callable, Iterator

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, APIWebSocketRoute
from msgspec import Struct
from pydantic import BaseModel
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import HTTPConnection
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ganglion.model.errors import FieldError


class RefConvertor(Convertor[str]):
    """A reference of a workload or gang in a path: `llama-7`, `sweep-12/4`.

    What follows the second slash is a number, so that `llama-7/cancel` is no reference.
    """

    regex = "[^/]+(?:/[0-9]+)?"

    def convert(self, value: str) -> str:
        """The reference as it stands in the path."""
        return value

    def to_string(self, value: str) -> str:
        """The reference as it stands in the path."""
        return value


register_url_convertor("ref", RefConvertor())

WEBSOCKET = "WEBSOCKET"
"""In place of a method: the path is one of WebSockets."""


class Path(Struct):
    """One path.

    Attributes:
        template: as `/api/v1/workloads/{ref}`.
        pattern: what fits it.
        methods: that it takes, without HEAD.
    """

    template: str
    pattern: re.Pattern[str]
    methods: set[str]


class Paths:
    """All paths of applications, in the order in which they are tried.

    FastAPI reads the signatures of a route when it is first asked for. Applications with the same
    paths share what it has read.

    Args:
        dependencies: of every route.
    """

    def __init__(self, *dependencies: Callable[..., object]) -> None:
        self._router = APIRouter(
            dependencies=[Depends(each) for each in (known_query, *dependencies)],
            generate_unique_id_function=lambda route: route.name,
        )
        self._all: dict[str, Path] = {}
        self._sockets: list[Path] = []
        self._operations: dict[tuple[str, str], str] = {}
        self._shown: dict[tuple[str, str], APIRoute] = {}

    def install(self, app: FastAPI) -> None:
        """Let an application answer here, and HEAD wherever GET is."""
        app.state.paths = self
        app.router.routes.extend(self._router.routes)
        app.add_middleware(Heads, paths=self)

    def include(self, router: APIRouter, prefix: str = "", *, shown: bool = True) -> None:
        """Serve the routes of a router.

        Args:
            router: the routes.
            prefix: put before their paths.
            shown: whether the OpenAPI page has them.
        """
        self._router.include_router(router, prefix=prefix, include_in_schema=shown)
        for route in router.routes:
            if isinstance(route, APIRoute):
                self._note(route, prefix, shown=shown and route.include_in_schema)
            if isinstance(route, APIWebSocketRoute):
                pattern, template, _ = compile_path(prefix + route.path)
                self._sockets.append(Path(template, pattern, set()))
                self._operations[template, WEBSOCKET] = route.name

    def _note(self, route: APIRoute, prefix: str, *, shown: bool) -> None:
        pattern, template, _ = compile_path(prefix + route.path)
        known = self._all.setdefault(template, Path(template, pattern, set()))
        own = (route.methods or set()) - {"HEAD"}
        known.methods |= own
        for method in own:
            self._operations[template, method] = route.name
            if shown:
                self._shown[template, method] = route

    def __iter__(self) -> Iterator[Path]:
        return iter(self._all.values())

    def template(self, path: str, method: str) -> str:
        """The template that a request fits, or a WebSocket; empty = none."""
        if method == WEBSOCKET:
            sockets = (each.template for each in self._sockets if each.pattern.match(path))
            return next(sockets, "")
        wanted = "GET" if method == "HEAD" else method
        known = self._all.get(path)
        if known and wanted in known.methods:
            return path
        fitting = [each for each in self._all.values() if each.pattern.match(path)]
        chosen = [each for each in fitting if wanted in each.methods] or fitting
        return chosen[0].template if chosen else ""

    def operation(self, path: str, method: str) -> tuple[str, re.Match[str] | None]:
        """The name of the operation that a request asks for, and how its path fits; empty = none.

        Args:
            path: of the request.
            method: of HTTP, or `WEBSOCKET`.
        """
        template = self.template(path, method)
        name = self._operations.get((template, "GET" if method == "HEAD" else method), "")
        known = self._sockets if method == WEBSOCKET else self._all.values()
        fits = (each.pattern.match(path) for each in known if each.template == template)
        return (name, next(fits, None)) if name else ("", None)

    @property
    def operations(self) -> frozenset[str]:
        """The names of all operations."""
        return frozenset(self._operations.values())

    def methods(self, path: str) -> list[str]:
        """The methods that a path takes, by all templates that it fits."""
        fitting = (each.methods for each in self._all.values() if each.pattern.match(path))
        found = set[str]().union(*fitting)
        return sorted(found | {"HEAD"} if "GET" in found else found)

    def check_query(self, request: Request) -> None:
        """Raises FieldError when a query has a parameter that its route does not know."""
        template = self.template(request.url.path, request.method)
        known = self.query_of(template, request.method)
        if known is None:
            return
        unknown = [key for key in request.query_params if key not in known]
        if unknown:
            listed = ", ".join(sorted(known))
            hint = f"parameters of {template} are {listed}" if known else "it takes no query"
            first, *others = [
                FieldError("unknown parameter of the query", key=key, hint=hint) for key in unknown
            ]
            raise first.among(others)

    def query_of(self, template: str, method: str) -> frozenset[str] | None:
        """The parameters that the query of an operation may have.

        Read from its route: the OpenAPI page, which has them too, takes 0.3 s to build.

        Returns:
            None where the OpenAPI page does not show the operation, as for /healthz.
        """
        route = self._shown.get((template, method))
        return None if route is None else frozenset(_query_of(route.dependant))


def _query_of(dependant: Dependant) -> Iterator[str]:
    for each in dependant.query_params:
        kind = each.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from (field.alias or name for name, field in kind.model_fields.items())
        else:
            yield each.alias
    for other in dependant.dependencies:
        yield from _query_of(other)


async def known_query(request: HTTPConnection) -> None:
    """Refuse parameters of a query that the route does not know, for every route of HTTP.

    A coroutine, as FastAPI runs plain functions in a thread, which costs more than they do.
    """
    if isinstance(request, Request) and request.url.query:
        found: Paths = request.app.state.paths
        found.check_query(request)


class Heads:
    """Answers HEAD as GET without the body.

    Args:
        app: the application.
        paths: of it.
    """

    def __init__(self, app: ASGIApp, paths: Paths) -> None:
        self._app, self._paths = app, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        started = False

        async def heads(message: Message) -> None:
            nonlocal started
            if started:
                # Ends answers without an end of their own, as those of events.
                raise _Enough
            started = message["type"] == "http.response.start"
            await send(message)
            if started:
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        try:
            await self._app({**scope, "method": "GET"}, receive, heads)
        except* _Enough:
            pass


class _Enough(Exception):
    """The head of an answer has been sent; its body is not wanted."""
