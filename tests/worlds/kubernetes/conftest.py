"""Tests of the Kubernetes world run against a real API server."""

import pytest

from ganglion.worlds.kubernetes.reporting import reports
from tests.controlplane.fixtures import (
    another_cluster,
    cluster,
    control_plane,
    control_plane_programs,
    each_minor,
    kubelets,
    manager,
    planes,
    proxy,
)

__all__ = [
    "another_cluster",
    "cluster",
    "control_plane",
    "control_plane_programs",
    "each_minor",
    "kubelets",
    "manager",
    "planes",
    "proxy",
]


@pytest.fixture
def quick_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let queues say what they use every second instead of every ten."""
    monkeypatch.setattr(reports, "REST_MS", 1_000)
    monkeypatch.setattr(reports, "LOOK_MS", 500)
