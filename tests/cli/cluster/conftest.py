"""The command line against a real API server."""

from tests.controlplane.fixtures import cluster, control_plane, control_plane_programs, manager

__all__ = ["cluster", "control_plane", "control_plane_programs", "manager"]
