"""Local volumes made by hand, and claims that wait for one of them, as the API writes them."""

from typing import Any

import msgspec

from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from ganglion.worlds.kubernetes.types.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from tests.worlds.kubernetes.feasibility.make import HOST, Json, wants

KINDS: dict[str, Any] = {
    "StorageClass": StorageClass,
    "PersistentVolume": PersistentVolume,
    "PersistentVolumeClaim": PersistentVolumeClaim,
}


def local_class(name: str = "local", provisioner: str = "kubernetes.io/no-provisioner") -> Json:
    """A class whose claims wait for their first consumer."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def local_volume(name: str, *nodes: str, gib: int = 1, **spec: Any) -> Json:
    """A volume that these nodes reach, all of them where none is named, and no claim has."""
    terms = [{"matchExpressions": [wants(HOST, "In", *nodes)]}]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if nodes else {}
    meta = {"name": name, "labels": spec.pop("labels", {}), "uid": f"uid-{name}"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": meta | spec.pop("meta", {}),
        "spec": {
            "capacity": {"storage": f"{gib}Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "hostPath": {"path": f"/mnt/{name}"},
            **affinity,
            **spec,
        },
        "status": {"phase": "Available"},
    }


def local_claim(name: str, gib: int = 1, namespace: str = "ns", **spec: Any) -> Json:
    """A claim that waits for its first consumer."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": f"{gib}Gi"}},
            "storageClassName": "local",
            **spec,
        },
    }


def reference(claim: str, uid: str = "", namespace: str = "ns") -> Json:
    """What a volume says of the claim that it is for."""
    return {"claimRef": {"namespace": namespace, "name": claim} | ({"uid": uid} if uid else {})}


def stored(*bodies: Json) -> Volumes:
    """What is known of storage: these objects and the class."""
    made = Volumes()
    for body in (local_class(), *bodies):
        made.put(msgspec.convert(body, KINDS[body["kind"]], strict=False))
    return made
