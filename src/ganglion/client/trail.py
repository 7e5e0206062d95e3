"""One line per request in the log `ganglion.requests`, for those who ask what the client does."""

import logging
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus

import httpx2

from ganglion.model.credentials import REDACTED, is_credential, redacted_text

LOG = "ganglion.requests"
"""Name of the log; its lines have the level INFO."""
REQUEST = "X-Request-Id"
"""Header with the id of a request, which the log and the ledger of the server name."""
AGENT = "X-Ganglion-Agent"
"""Header with the name of a program that acts for the user, which the audit trail names."""
_BEGAN = "ganglion.began"
_log = logging.getLogger(LOG)


class TrailClient(httpx2.Client):
    """A client that logs each request that it sends: repeats, refusals and failures too.

    Args:
        via: how the server is reached: its socket or URL.
        others: as of `httpx2.Client`, without hooks.
    """

    def __init__(self, via: str, **others: Any) -> None:  # noqa: ANN401 - as httpx2.Client
        hooks: dict[str, list[Callable[..., Any]]] = {
            "request": [_begun],
            "response": [_kept, self._answered],
        }
        super().__init__(event_hooks=hooks, **others)
        self._via = redacted_text(via)

    def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:  # noqa: ANN401 - as above
        """Send a request; a failure is logged and raised."""
        _begun(request)
        try:
            return super().send(request, **how)
        except Exception as error:
            self._say(request, f"failed ({reason(error)})", request)
            raise

    def _answered(self, response: httpx2.Response) -> None:
        self._say(response.request, str(response.status_code), response)

    def _say(
        self, request: httpx2.Request, outcome: str, named: httpx2.Request | httpx2.Response
    ) -> None:
        found = str(named.headers.get(REQUEST) or request.headers.get(REQUEST, "unknown"))
        began = request.extensions[_BEGAN]
        say(request.method, request.url.raw_path.decode(), outcome, began, found, self._via)


def say(method: str, target: str, outcome: str, began: float, request: str, via: str) -> None:
    """Log a request that was answered, or failed.

    Args:
        method: HTTP method.
        target: path and query.
        outcome: the status of the answer, or why there is none.
        began: when it was sent, by `time.perf_counter`.
        request: its id.
        via: how the server is reached, without credentials.
    """
    if _log.isEnabledFor(logging.INFO):
        ms = (time.perf_counter() - began) * 1000
        _log.info(
            "%s %s %s %.0f ms request %s via %s", method, shown(target), outcome, ms, request, via
        )


def again(why: str, wait_s: float = 0.0) -> None:
    """Log that a request is sent once more, why, and after how many seconds."""
    _log.info("again %s: %s", f"in {wait_s:g} s" if wait_s else "at once", redacted_text(why))


def reason(error: Exception) -> str:
    """What went wrong, in one line without credentials."""
    return redacted_text(" ".join(f"{type(error).__name__}: {error}".split()))


def shown(target: str) -> str:
    """Path and query of a URL, without credentials."""
    path, mark, query = target.partition("?")
    return redacted_text(path) + mark + "&".join(map(_pair, query.split("&")))


def _pair(text: str) -> str:
    name, equals, value = text.partition("=")
    secret = is_credential(unquote_plus(name), unquote_plus(value))
    return name + equals + (REDACTED if secret else value)


def _begun(request: httpx2.Request) -> None:
    request.extensions[_BEGAN] = time.perf_counter()


def _kept(response: httpx2.Response) -> None:
    """Read why a WebSocket is refused, before the connection is closed for it."""
    if "upgrade" in response.request.headers and response.is_error:
        response.read()
