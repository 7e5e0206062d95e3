"""A real identity provider in a process of its own: certified, and driven by tests."""

import json
import shutil
import subprocess
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from joserfc.jwk import ECKey, RSAKey

from tests import effort
from tests.provider.build import HERE, build, cached, missing
from tests.server.process import until

SECRET = "only for tests: a secret with : and %"
CLIENT = "ganglion"


def key(kind: str = "RSA") -> Any:
    """A key pair of a provider, with a name of its own."""
    if kind == "EC":
        return ECKey.generate_key("P-256", {"use": "sig", "alg": "ES256"}, auto_kid=True)
    return RSAKey.generate_key(2048, {"use": "sig", "alg": "RS256"}, auto_kid=True)


class RealProvider:
    """Starts and ends the provider; it keeps its port.

    Args:
        folder: for its settings.
        port: where it listens.
        callback: where it sends browsers back to.
    """

    def __init__(self, folder: Path, port: int, callback: str) -> None:
        self._folder, self.port, self._callback = folder, port, callback
        self.issuer = f"http://127.0.0.1:{port}"
        self.key = key()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it answers afterwards."""
        client = {
            "client_id": CLIENT,
            "client_secret": SECRET,
            "redirect_uris": [self._callback],
            "id_token_signed_response_alg": self.key.get("alg"),
        }
        jwks = {"keys": [self.key.as_dict(private=True)]}
        path = self._folder / "provider.json"
        path.write_text(json.dumps({"port": self.port, "clients": [client], "jwks": jwks}))
        ready = self._folder / "provider.json.ready"
        ready.unlink(missing_ok=True)
        with (self._folder / "provider.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["node", "--no-warnings", HERE / "provider.mjs", path, cached()],
                stdout=log,
                stderr=log,
            )
        until(lambda: ready.exists() or self._failed(), 60)
        assert not self._failed(), (self._folder / "provider.log").read_text()

    def stop(self) -> None:
        """End it."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def account(self, sub: str, *, refuses: bool = False, **claims: Any) -> None:
        """Say who signs in next."""
        usual = {"email": f"{sub}@example.org", "email_verified": True}
        body = {"sub": sub, "refuses": refuses, "claims": usual | claims}
        assert httpx2.put(f"{self.issuer}/test/account", json=body).status_code == 204

    def id_token(self, sub: str) -> str:
        """An ID token of an account, as it is given to the client."""
        self.account(sub)
        verifier = "v" * 43
        challenge = sha256(verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": CLIENT,
            "redirect_uri": self._callback,
            "scope": "openid profile email",
            "code_challenge": urlsafe_b64encode(challenge).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        with httpx2.Client(base_url=self.issuer) as browser:
            answer = browser.get("/auth", params=asked)
            while not answer.headers["location"].startswith(self._callback):
                answer = browser.get(answer.headers["location"])
            code = httpx2.URL(answer.headers["location"]).params["code"]
            form = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
            auth = httpx2.BasicAuth(CLIENT, quote(SECRET, safe=""))
            found = browser.post("/token", data=form | {"redirect_uri": self._callback}, auth=auth)
        assert found.status_code == 200, found.text
        return str(found.json()["id_token"])

    def _failed(self) -> bool:
        return self._process is not None and self._process.poll() is not None


def require() -> None:
    """Skip, and say why, where the provider cannot run; `make soak` installs it."""
    if effort.TIMES > 1 and shutil.which("npm"):
        build()
    if missing():
        pytest.skip(f"no identity provider to sign in at: {missing()}")
