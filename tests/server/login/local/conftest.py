"""A server whose users sign in with names and passwords."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.seams.clock import SystemClock
from ganglion.seams.effects import Effects
from ganglion.server.access.tries import passwords
from ganglion.server.access.tries.passwords import Passwords
from ganglion.server.app import guarded, make_app
from ganglion.server.login.settings import LoginSettings
from ganglion.server.requests.context import ServerContext
from ganglion.transport.hosts import Hosts
from tests.server.access.conftest import Staffed
from tests.server.access.office import API, Office
from tests.server.login.browser import HOST, OURS, fields

URL = f"https://{HOST}"
GOOD, OTHER = "nine blue trains to Ulm", "no trains on Sundays, sorry"
COOKIE = "__Host-ganglion"
SETTINGS = LoginSettings(public_url=URL, local_users=True)


class SteppedClock(SystemClock):
    """Monotonic time that stands until it is moved."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s


class LocalOffice(Office):
    """An office whose users have passwords.

    Args:
        rig: the server; its thread runs.
        settings: of the server.
    """

    def __init__(self, rig: Staffed, settings: LoginSettings = SETTINGS) -> None:
        self.clock = SteppedClock()
        effects = Effects(clock=self.clock)
        self.context = ServerContext(
            rig.service,
            rig.home,
            rig.feed,
            rig.metrics,
            "ada",
            passwords=Passwords(effects),
            shares_account=False,
            effects=effects,
        )
        hosts = Hosts(settings.authorities)
        app = guarded(make_app(self.context), "secret", hosts, loopback=True, login=settings)
        super().__init__(rig, app)

    def add(self, user: str, password: str = GOOD) -> None:
        made = self.owner.post(f"{API}/users", json={"user": user, "password": password})
        assert made.status_code == 201, made.text

    def page_of(self, address: str = "192.0.2.1") -> "Pages":
        client = self.caller(URL, address=address)
        client.follow_redirects = False
        return Pages(client)

    def signed_in(self, user: str, address: str = "192.0.2.1") -> "Pages":
        made = self.page_of(address)
        found = made.sign_in(user)
        assert found.status_code == 200, found.text
        return made


class Pages:
    """A browser at the pages of one server."""

    def __init__(self, ours: TestClient) -> None:
        self.ours = ours

    def form(self, target: str = "") -> dict[str, str]:
        found = self.ours.get("/login", params={"next": target} if target else None)
        assert found.status_code == 200, found.text
        return fields(found.text)

    def sign_in(self, user: str, password: str = GOOD, target: str = "") -> Any:
        given = {**self.form(target), "user": user, "password": password}
        return self.send("/login", given)

    def send(self, path: str, form: dict[str, str], **headers: str) -> Any:
        return self.ours.post(path, data=form, headers={**OURS, **headers})

    def get(self, path: str) -> Any:
        return self.ours.get(f"{API}{path}", headers={"Sec-Fetch-Site": "same-origin"})

    @property
    def cookie(self) -> str:
        return str(self.ours.cookies.get(COOKIE))


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalOffice]:
    # What passwords cost to check is seen in tests/server/access/tries.
    monkeypatch.setattr(passwords, "MEMORY_KIB", 128)
    monkeypatch.setattr(passwords, "FORM", "$argon2id$v=19$m=128,t=2,p=1$")
    rig = Staffed(tmp_path / "home")
    rig.service.start()
    made = LocalOffice(rig)
    with made.owner:
        yield made
    rig.service.stop()
    rig.ledger.close()
