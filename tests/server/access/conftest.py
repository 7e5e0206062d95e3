"""Servers with several users."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.access.office import QUEUES, Office, office
from tests.server.conftest import Rig


class Staffed(Rig):
    """A rig with a tree of queues."""

    def start(self) -> None:
        self.queues = QUEUES
        super().start()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Staffed(tmp_path / "home")
    yield made
    made.ledger.close()


@pytest.fixture
def staff(rig: Rig) -> Iterator[Office]:
    """Programs of users run under accounts of their own here."""
    rig.service.start()
    with office(rig) as made:
        yield made
    rig.service.stop()
