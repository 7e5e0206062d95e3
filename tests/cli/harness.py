"""A server that answers from a table and remembers what it was asked."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx2

Answer = httpx2.Response | Callable[[httpx2.Request], httpx2.Response]
URL = "http://127.0.0.1:7077"
NOW_S = 1_800_000_000


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Ganglion = Callable[..., Done]


def reply(body: Any, status: int = 200) -> httpx2.Response:
    return httpx2.Response(status, json=body)


def refusal(status: int, code: str, message: str, hint: str = "") -> httpx2.Response:
    return reply({"code": code, "message": message, "hint": hint}, status)


@dataclass
class FakeServer:
    """Answers by `METHOD /path`; several answers to one request are given in turn."""

    routes: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[httpx2.Request] = field(default_factory=list)

    def on(self, route: str, *answers: Any) -> None:
        self.routes[route] = [
            each if isinstance(each, httpx2.Response) or callable(each) else reply(each)
            for each in answers
        ]

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answers = self.routes.get(f"{request.method} {request.url.path}")
        if not answers:
            return refusal(404, "state.not_found", f"nothing at {request.url.path}", "look again")
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if callable(answer):
            return answer(request)
        return httpx2.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def bodies(self, route: str) -> list[Any]:
        """Bodies of the requests to a route, decoded."""
        return [
            json.loads(request.content)
            for request in self.requests
            if f"{request.method} {request.url.path}" == route
        ]
