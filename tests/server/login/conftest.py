"""A server whose users sign in at a real provider."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ganglion.server.app import guarded, make_app
from ganglion.server.login.settings import LoginSettings
from ganglion.server.requests.context import ServerContext
from ganglion.transport.hosts import Hosts
from tests.ports import unused
from tests.provider.provider import CLIENT, SECRET, RealProvider, require
from tests.server.access.conftest import Staffed
from tests.server.access.office import Office
from tests.server.login.browser import HOST, Browser

URL = f"https://{HOST}"


class SignedOffice(Office):
    """An office where browsers can sign in, too.

    Args:
        rig: the server; its thread runs.
        provider: where users sign in.
        settings: of the server.
    """

    def __init__(self, rig: Staffed, provider: RealProvider, settings: LoginSettings) -> None:
        self.provider, self.settings = provider, settings
        context = ServerContext(
            rig.service, rig.home, rig.feed, rig.metrics, "ada", shares_account=False
        )
        hosts = Hosts(settings.authorities)
        super().__init__(
            rig, guarded(make_app(context), "secret", hosts, loopback=True, login=settings)
        )

    def browser(self) -> Browser:
        return Browser(self.caller(URL), self.provider)

    def signed_in(self, sub: str, **claims: Any) -> Browser:
        """A browser in which a user has signed in."""
        made = self.browser()
        found = made.sign_in(sub, **claims)
        assert found.status_code == 200, found.text
        return made


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealProvider]:
    require()
    port = unused()
    made = RealProvider(tmp_path_factory.mktemp("provider"), port, f"{URL}/login/callback")
    made.start()
    yield made
    made.stop()


@pytest.fixture
def signed(tmp_path: Path, provider: RealProvider) -> Iterator[SignedOffice]:
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    settings = LoginSettings(provider.issuer, CLIENT, URL, str(secret))
    rig = Staffed(tmp_path / "home")
    rig.service.start()
    office = SignedOffice(rig, provider, settings)
    with office.owner:
        yield office
    rig.service.stop()
    rig.ledger.close()
