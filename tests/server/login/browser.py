"""What a browser does: cookies, redirects, and what it says about the page that asks."""

from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from fastapi.testclient import TestClient

from tests.provider.provider import RealProvider

HOST = "gpu.example.org"
OURS = {"Origin": f"https://{HOST}", "Sec-Fetch-Site": "same-origin"}
"""What it says of pages of ours."""
FOREIGN = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
"""What it says where it follows a link or redirect of another site."""


class _Form(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fields = dict[str, str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        if tag == "input":
            self.fields[of["name"] or ""] = of.get("value") or ""


def fields(page: str) -> dict[str, str]:
    """The fields of the form of a page."""
    found = _Form()
    found.feed(page)
    return found.fields


class Browser:
    """One browser.

    Args:
        ours: reaches the server.
        provider: where users sign in.
    """

    def __init__(self, ours: TestClient, provider: RealProvider) -> None:
        self.ours, self.provider = ours, provider
        self._theirs = httpx2.Client()
        ours.follow_redirects = False

    def begin(self, target: str = "") -> str:
        """Ask to sign in; returns where the browser is sent."""
        found = self.ours.get("/login", params={"next": target} if target else None)
        assert found.status_code == 302, found.text
        return str(found.headers["location"])

    def at_provider(self, address: str) -> str:
        """Sign in there; returns the path that the browser is sent back to."""
        while not address.startswith(f"https://{HOST}/"):
            found = self._theirs.get(httpx2.URL(self.provider.issuer).join(address))
            assert found.is_redirect, found.text
            address = found.headers["location"]
        return address.removeprefix(f"https://{HOST}")

    def back(self, path: str) -> Any:
        return self.ours.get(path, headers=FOREIGN)

    def sign_in(self, sub: str, target: str = "", **claims: Any) -> Any:
        """All of it; returns the answer of the server."""
        self._theirs = httpx2.Client()
        self.provider.account(sub, **claims)
        return self.back(self.at_provider(self.begin(target)))

    def get(self, path: str, **headers: str) -> Any:
        return self.ours.get(f"/api/v1{path}", headers={"Sec-Fetch-Site": "same-origin", **headers})

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """What a page of ours does."""
        said = {**OURS, "X-CSRF-Token": self.csrf(), **headers}
        return self.ours.post(f"/api/v1{path}", json=body, headers=said)

    def csrf(self) -> str:
        return str(self.get("/whoami").json()["csrf"])

    @property
    def cookie(self) -> str:
        return str(self.ours.cookies.get("__Host-ganglion"))


def asked(address: str) -> dict[str, str]:
    """The parameters that a provider is asked with."""
    return {name: given[0] for name, given in parse_qs(urlsplit(address).query).items()}
