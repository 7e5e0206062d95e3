"""A server with a small portal."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from ganglion.server.app import guarded, make_app
from ganglion.server.portal.files import PortalFiles, read_portal
from ganglion.server.requests.context import ServerContext
from tests.server.access.conftest import Staffed
from tests.server.access.office import API, Office
from tests.server.portal.built import write_portal

URL = "http://localhost:7077"


class PortalOffice(Office):
    """An office whose owner opens the portal by links.

    Args:
        rig: the server; its thread runs.
        files: of the portal.
    """

    def __init__(self, rig: Staffed, files: PortalFiles) -> None:
        self.context = ServerContext(
            rig.service, rig.home, rig.feed, rig.metrics, "ada", effects=rig.effects
        )
        super().__init__(rig, guarded(make_app(self.context), "secret", loopback=True, shown=files))

    def browser(self, address: str = "127.0.0.1") -> TestClient:
        """A browser, with cookies of its own."""
        headers = {"Accept": "text/html,*/*;q=0.8", "Sec-Fetch-Site": "same-origin"}
        return self.caller(URL, headers, address)

    def code(self) -> str:
        """The code of a new link."""
        made = self.owner.post(f"{API}/portal:link")
        assert made.status_code == 200, made.text
        begin, _, code = made.json()["url"].partition("#code=")
        assert begin == "/"
        return str(code)

    def opened(self) -> TestClient:
        """A browser whose user has opened a link."""
        browser = self.browser()
        done = browser.post("/login/portal", data={"code": self.code()})
        assert done.status_code == 204, done.text
        return browser


@pytest.fixture
def portal(tmp_path: Path) -> Iterator[PortalOffice]:
    rig = Staffed(tmp_path / "home")
    rig.service.start()
    office = PortalOffice(rig, read_portal(write_portal(tmp_path / "static")))
    with office.owner:
        yield office
    rig.service.stop()
    rig.ledger.close()
