"""Programs of others that tests run where they are there; `make soak` builds them."""

import pytest
from tools.go_programs import built, found

from tests import effort


def _program(name: str) -> str:
    path = built(name) if effort.TIMES > 1 else found(name)
    if not path:
        pytest.skip(f"no {name}: python -m tools.go_programs {name} builds it, which takes minutes")
    return path


@pytest.fixture(scope="session")
def helm() -> str:
    """Path of Helm; skips where there is none."""
    return _program("helm")


@pytest.fixture(scope="session")
def kubectl() -> str:
    """Path of kubectl; skips where there is none."""
    return _program("kubectl")


@pytest.fixture(scope="session")
def promtool() -> str:
    """Path of Prometheus' promtool; skips where there is none."""
    return _program("promtool")
