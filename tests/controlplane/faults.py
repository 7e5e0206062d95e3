"""What can go wrong between a client and its API server, and for which requests."""

import json
import re
from collections.abc import Callable

from msgspec import Struct
from tests.controlplane.http1 import Request

Match = Callable[[Request], bool]
ALWAYS = 1 << 30

_REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Fault(Struct):
    """What is done to requests.

    Attributes:
        match: which ones.
        skip: how many of them pass first.
        times: how many are hit after those.
        delay_s: wait as long before forwarding.
        answer: send this instead of forwarding; empty = forward.
        before: called before forwarding.
        after: called when the server has answered and the client does not know yet.
        cut: close the connection instead of answering.
    """

    match: Match
    skip: int = 0
    times: int = 1
    delay_s: float = 0.0
    answer: bytes = b""
    before: Callable[[], None] | None = None
    after: Callable[[], None] | None = None
    cut: bool = False

    def hits(self, request: Request) -> bool:
        """Whether this request is one of them; counts it."""
        if not self.times or not self.match(request):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


def everything(request: Request) -> bool:
    """All requests."""
    return True


def watches(request: Request) -> bool:
    """Requests that follow changes."""
    return request.query.get("watch", "") in {"1", "true", "True"}


def writes(request: Request) -> bool:
    """Requests that change something."""
    return request.method not in {"GET", "HEAD"}


def on(method: str, pattern: str = "") -> Match:
    """Requests of a method whose path has the pattern somewhere, as `on("POST", "/binding$")`."""
    found = re.compile(pattern)
    return lambda request: request.method == method and bool(found.search(request.path))


def status(
    code: int, *, reason: str = "", message: str = "no luck", retry_after_s: int | None = None
) -> bytes:
    """An answer as the API server refuses: a `Status` with this HTTP status."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason or _REASONS.get(code, ""),
        "code": code,
    }
    if retry_after_s is not None:
        body["details"] = {"retryAfterSeconds": retry_after_s}
    lines = () if retry_after_s is None else (f"Retry-After: {retry_after_s}",)
    return response(code, json.dumps(body).encode(), *lines)


def response(code: int, body: bytes, *headers: str) -> bytes:
    """Any answer in JSON."""
    lines = [f"HTTP/1.1 {code} Test", "Content-Type: application/json", *headers]
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body
