"""Tests of the Kubernetes world run against a real API server."""

import pytest
from tests.controlplane.fixtures import (
    another_cluster,
    cluster,
    control_plane,
    control_plane_programs,
    each_minor,
    kubelets,
    manager,
    proxy,
)

from ganglion.worlds.kubernetes import reports

__all__ = [
    "another_cluster",
    "cluster",
    "control_plane",
    "control_plane_programs",
    "each_minor",
    "kubelets",
    "manager",
    "proxy",
]


@pytest.fixture
def quick_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let queues say what they use every second instead of every ten."""
    monkeypatch.setattr(reports, "REST_MS", 1_000)
    monkeypatch.setattr(reports, "LOOK_MS", 500)
