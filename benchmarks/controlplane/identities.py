"""Users of a test's API server: each is who its token says.

A token is the user's name and groups themselves, written down as base64. The API server asks
this webhook what a token means, so that any user can be had at any time. For loopback only.
"""

import base64
import json
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

_MARK = "ganglion-test."


def token(user: str, groups: Sequence[str] = ()) -> str:
    """The token by which the API server takes a client for `user`, in `groups`."""
    who = json.dumps({"username": user, "groups": list(groups)})
    return _MARK + base64.urlsafe_b64encode(who.encode()).decode().rstrip("=")


def identity(text: str) -> dict[str, Any] | None:
    """Who a token is for, as the `user` of a TokenReview; None for a token that is not ours."""
    if not text.startswith(_MARK):
        return None
    code = text.removeprefix(_MARK)
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)))
    return found


class Identities:
    """The webhook, on a port of its own on loopback, served by a thread."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def start(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 5  # an idle connection must not keep its thread

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        who = identity(body["spec"].get("token", ""))
        status = {"authenticated": who is not None} | ({"user": who} if who else {})
        review = {"apiVersion": body["apiVersion"], "kind": "TokenReview", "status": status}
        answer = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the API server logs what matters."""
