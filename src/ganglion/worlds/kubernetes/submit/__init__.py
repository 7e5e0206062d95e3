"""Workload files in a cluster: what objects they become, and how these are made and found again."""

from ganglion.worlds.kubernetes.submit.manifests.compiling import compile_workload, secrets_of

__all__ = ["compile_workload", "secrets_of"]
