"""An issuer of ID tokens for CI: it publishes metadata and keys, and no user signs in there."""

import base64
import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey

from ganglion.seams.clock import SystemClock
from tests.server.login.conftest import URL

RUN = {
    "sub": "repo:acme/vision@7/9:ref:refs/heads/main",
    "repository": "acme/vision",
    "repository_id": "74",
    "repository_owner_id": "9",
    "ref": "refs/heads/main",
    "run_id": "5001",
}
"""What GitHub says of a run."""


def new_key() -> Any:
    return RSAKey.generate_key(2048, {"use": "sig"}, auto_kid=True)


class SetClock(SystemClock):
    """A clock of which tests set the steady part forward."""

    ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


class CiIssuer:
    """Listens on 127.0.0.1.

    Attributes:
        keys: that it publishes.
        fetched: how often it was asked for them.
    """

    def __init__(self) -> None:
        self.keys, self.fetched, self._number = [new_key()], 0, 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        """End it: nothing listens there any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def claims(self, **more: Any) -> dict[str, Any]:
        """Claims of a token that has just been issued; None leaves one out."""
        self._number += 1
        now = SystemClock().now_ms() // 1000
        usual = {**RUN, "iss": self.url, "aud": URL, "iat": now, "exp": now + 300}
        usual |= {"jti": f"t-{self._number}"}
        return {name: each for name, each in (usual | more).items() if each is not None}

    def token(self, key: Any = None, **more: Any) -> str:
        key = key or self.keys[-1]
        head = {"alg": "RS256", "kid": key.kid}
        return jwt.encode(head, self.claims(**more), key, algorithms=["RS256"])

    def unsigned(self) -> str:
        """A token that says it needs no signature."""
        return f"{part({'alg': 'none', 'kid': self.keys[0].kid})}.{part(self.claims())}."

    def by_public_key(self) -> str:
        """A token for which the public key was taken as a shared secret."""
        said = f"{part({'alg': 'HS256', 'kid': self.keys[0].kid})}.{part(self.claims())}"
        mark = hmac.digest(self.keys[0].as_pem(private=False), said.encode(), "sha256")
        return f"{said}.{base64.urlsafe_b64encode(mark).rstrip(b'=').decode()}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        here = self

        class Documents(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(here._document(self.path)).encode())

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        return Documents

    def _document(self, path: str) -> dict[str, Any]:
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/jwks"}
        self.fetched += 1
        return {"keys": [each.as_dict(private=False) for each in self.keys]}


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
