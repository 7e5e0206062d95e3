"""A server that takes ID tokens of CI, and where no user signs in."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.identity.roles import Role
from ganglion.seams.effects import Effects
from ganglion.server.app import guarded, make_app
from ganglion.server.login.exchange.grant import EXCHANGE, ID_TOKEN
from ganglion.server.login.exchange.rules import ExchangeRule
from ganglion.server.login.settings import LoginSettings
from ganglion.server.requests.context import ServerContext
from ganglion.transport.hosts import Hosts
from tests.server.access.conftest import Staffed
from tests.server.access.office import Office
from tests.server.login.conftest import URL
from tests.server.login.exchange.issuer import CiIssuer, SetClock

IDS = {"repository_id": "74", "ref": "refs/heads/main"}


class CiOffice(Office):
    """A server with rules of exchange.

    Args:
        rig: the server; its thread runs.
        issuer: whose tokens are signed with keys of the test.
        settings: of the server.
    """

    def __init__(self, rig: Staffed, issuer: CiIssuer, settings: LoginSettings) -> None:
        self.issuer, self.clock = issuer, SetClock()
        context = ServerContext(
            rig.service,
            rig.home,
            rig.feed,
            rig.metrics,
            "ada",
            shares_account=False,
            effects=Effects(self.clock),
        )
        hosts = Hosts(settings.authorities)
        super().__init__(
            rig, guarded(make_app(context), "secret", hosts, loopback=True, login=settings)
        )

    @cached_property
    def program(self) -> TestClient:
        """A program of CI."""
        return self.caller(URL)

    def exchange(self, token: str, **changed: str) -> Any:
        """What a program of CI does."""
        form = {"grant_type": EXCHANGE, "subject_token": token, "subject_token_type": ID_TOKEN}
        return self.program.post("/login/token", data=form | changed)

    def refused(self, token: str, **changed: str) -> str:
        """Why a token is refused."""
        found = self.exchange(token, **changed)
        assert (found.status_code, found.json()["error"]) == (400, "invalid_request"), found.text
        assert found.headers["cache-control"] == "no-store"
        return str(found.json()["error_description"])

    def denied(self) -> list[str]:
        """The rules of the events that say what was refused."""
        found = [each for each in self.events(self.owner) if each["type"] == "access_denied"]
        assert {(each["operation"], each["user"]) for each in found} <= {("exchange", "")}
        return [each["rule"] for each in found]


def rules(issuer: str) -> tuple[ExchangeRule, ...]:
    return (
        ExchangeRule(
            issuer, {**IDS, "repository_id": "75"}, "ci-speech", role=Role.VIEWER, queue="speech"
        ),
        ExchangeRule(issuer, IDS, "ci-research", lasting="30m"),
    )


@pytest.fixture(scope="module")
def issuer() -> Iterator[CiIssuer]:
    made = CiIssuer()
    yield made
    made.close()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Staffed]:
    made = Staffed(tmp_path / "home")
    made.service.start()
    yield made
    made.service.stop()
    made.ledger.close()


@pytest.fixture
def ci(rig: Staffed, issuer: CiIssuer) -> Iterator[CiOffice]:
    office = CiOffice(rig, issuer, LoginSettings(public_url=URL, exchange=rules(issuer.url)))
    with office.owner:
        yield office
