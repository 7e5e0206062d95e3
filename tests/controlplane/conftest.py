"""The tests' own tools are tested against a real API server too."""

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
