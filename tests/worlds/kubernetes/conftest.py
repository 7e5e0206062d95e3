"""Tests of the Kubernetes world run against a real API server."""

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
