"""Where objects lie on the API server."""

from ganglion.worlds.kubernetes.submit.manifests.pod import Manifest

PLURALS = {
    "Job": ("batch/v1", "jobs"),
    "StatefulSet": ("apps/v1", "statefulsets"),
    "Deployment": ("apps/v1", "deployments"),
    "Service": ("v1", "services"),
    "ConfigMap": ("v1", "configmaps"),
    "Secret": ("v1", "secrets"),
    "Pod": ("v1", "pods"),
}
"""Kind -> version of its API and its name in paths."""

MAINS = ("Job", "StatefulSet", "Deployment")
"""Kinds that make pods."""
COMPANIONS = ("Service", "ConfigMap", "Secret")


def collection(kind: str, namespace: str) -> str:
    """Path of all objects of a kind in a namespace."""
    version, plural = PLURALS[kind]
    root = "apis" if "/" in version else "api"
    return f"/{root}/{version}/namespaces/{namespace}/{plural}"


def place(kind: str, namespace: str, name: str) -> str:
    """Path of one object."""
    return f"{collection(kind, namespace)}/{name}"


def place_of(manifest: Manifest) -> str:
    """Path of the object that a manifest describes."""
    meta = manifest["metadata"]
    return place(manifest["kind"], meta["namespace"], meta["name"])


def title(manifest: Manifest) -> str:
    """What a manifest describes, as `Job team-a/llama`."""
    meta = manifest["metadata"]
    return f"{manifest['kind']} {meta['namespace']}/{meta['name']}"
