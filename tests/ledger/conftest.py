"""Ledgers on every database there is here."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ledgers import made_by

from ganglion.ledger.ledger import Ledger
from ganglion.ledger.sql.migrate import migrate

Target = str | Path


@pytest.fixture(autouse=True)
def made_ledgers() -> Iterator[None]:
    """Let the migrations make every ledger of these tests."""
    with made_by(migrate):
        yield


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """Where a new, empty ledger may be made."""
    if request.param == "sqlite":
        return tmp_path / "ledger.db"
    return str(request.getfixturevalue("database"))


@pytest.fixture
def ledger(target: Target) -> Iterator[Ledger]:
    """A new, empty ledger."""
    opened = Ledger.open(target)
    yield opened
    opened.close()
