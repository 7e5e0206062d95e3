"""A world to run jobs in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.worlds.local.jobs import Jobs


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    """A world with two nodes of four pretend GPUs each; nothing of it outlives the test."""
    made = Jobs(tmp_path / "home")
    yield made
    made.stop_all()
