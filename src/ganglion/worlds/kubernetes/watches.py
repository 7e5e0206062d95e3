"""What is watched in a cluster, and as what."""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.cluster_view.orders import ObjectChanged
from ganglion.worlds.kubernetes.http.client import SILENCE_S, Api
from ganglion.worlds.kubernetes.http.discovery import served_path
from ganglion.worlds.kubernetes.http.reflect import ObjectChange, Reflector
from ganglion.worlds.kubernetes.types import storage
from ganglion.worlds.kubernetes.types.disruption import PodDisruptionBudget
from ganglion.worlds.kubernetes.types.dra import ResourceSlice
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_kinds.kinds import (
    KINDS,
    MPI_JOB,
    UPSTREAM_GROUP,
)

_STORAGE = "/apis/storage.k8s.io/v1"
_DEVICES = "/apis/resource.k8s.io/v1"
_OWN = f"/apis/{names.GROUP}/{names.VERSION}"


class WatchedCollection(Struct, frozen=True):
    """One collection.

    Attributes:
        path: of all objects in all namespaces.
        kind: struct of one object.
        role: as what the controller takes it.
        needed: whether nothing may be decided before it was listed; kinds that a cluster need
            not have are not waited for.
    """

    path: str
    kind: type[Any]
    role: str
    needed: bool = True


ALWAYS: tuple[WatchedCollection, ...] = (
    WatchedCollection("/api/v1/nodes", Node, "node"),
    WatchedCollection("/api/v1/namespaces", Anything, "namespace"),
    WatchedCollection("/apis/policy/v1/poddisruptionbudgets", PodDisruptionBudget, "budget"),
    WatchedCollection("/api/v1/persistentvolumeclaims", storage.PersistentVolumeClaim, "claim"),
    WatchedCollection("/api/v1/persistentvolumes", storage.PersistentVolume, "volume"),
    WatchedCollection(f"{_STORAGE}/storageclasses", storage.StorageClass, "storage class"),
    WatchedCollection(f"{_STORAGE}/csinodes", storage.CSINode, "csi node"),
    WatchedCollection(f"{_STORAGE}/csidrivers", storage.CSIDriver, "csi driver"),
    WatchedCollection(
        f"{_STORAGE}/csistoragecapacities", storage.CSIStorageCapacity, "csi capacity"
    ),
    WatchedCollection(f"{_STORAGE}/volumeattachments", storage.VolumeAttachment, "attachment"),
    WatchedCollection(f"{_DEVICES}/resourceslices", ResourceSlice, "slice", needed=False),
    WatchedCollection(f"{_OWN}/queues", Anything, "queue", needed=False),
    WatchedCollection(f"{_OWN}/policies", Anything, "policy", needed=False),
    WatchedCollection("/api/v1/pods", Pod, "pod"),
)
"""In the order in which their first lists are taken in."""


VERSIONS = {
    "batch": "v1",
    "jobset.x-k8s.io": "v1alpha2",
    "kubeflow.org": "v1",
    "trainer.kubeflow.org": "v1alpha1",
    "ray.io": "v1",
}
"""API group -> the version in which owners with a switch are followed from the start."""

SWITCHED: tuple[str, ...] = tuple(
    f"/apis/{each.group}/{'v2beta1' if ident == MPI_JOB else VERSIONS[each.group]}/{each.plural}"
    for ident, each in sorted(KINDS.items())
    if each.suspend and each.group in VERSIONS
)
"""Owners that we may have suspended have to be found even when no pod is left of them."""


class Watching:
    """The reflectors of one cluster.

    Args:
        api: the cluster's.
        cluster: its name.
        sink: called in the event loop with changes, in order.
        silence_s: silence after which a watch is taken for dead, in seconds.

    Attributes:
        owners: paths of collections that are watched because pods are owned by such objects.
    """

    def __init__(
        self,
        api: Api,
        cluster: str,
        sink: Callable[[list[ObjectChanged]], None],
        silence_s: float = SILENCE_S,
    ) -> None:
        self._api, self._cluster, self._sink = api, cluster, sink
        self._silence_s = silence_s
        self._reflectors: dict[str, tuple[WatchedCollection, Reflector[Any]]] = {}
        self.owners: set[str] = set()

    def reflectors(self, watched: tuple[WatchedCollection, ...]) -> list[Reflector[Any]]:
        """Make reflectors for collections that have none yet; the caller runs them."""
        fresh = [each for each in watched if each.path not in self._reflectors]
        for each in fresh:
            self._reflectors[each.path] = (each, self._reflector(each))
        return [self._reflectors[each.path][1] for each in fresh]

    def owner_kinds(self, paths: set[str]) -> list[Reflector[Any]]:
        """The same for kinds of owners, by the paths of their collections."""
        fresh = sorted(paths - self.owners)
        self.owners |= paths
        return self.reflectors(
            tuple(WatchedCollection(each, Anything, "owner", needed=False) for each in fresh)
        )

    def is_synced(self) -> bool:
        """Whether all that is needed was listed, and kinds of owners that the cluster has."""
        return all(
            reflector.synced or (not watched.needed and reflector.trouble is not None)
            for watched, reflector in self._reflectors.values()
        )

    def stuck(self) -> str:
        """Why not everything that is needed was listed yet; empty = it was, or may be soon."""
        found = (
            reflector.trouble.message
            for watched, reflector in self._reflectors.values()
            if watched.needed and not reflector.synced and reflector.trouble
        )
        return next(found, "")

    def troubles(self) -> dict[str, str]:
        """Path -> why it cannot be followed at present."""
        return {
            path: reflector.trouble.message
            for path, (_, reflector) in self._reflectors.items()
            if reflector.trouble
        }

    def _reflector(self, watched: WatchedCollection) -> Reflector[Any]:
        cluster, role = self._cluster, watched.role
        kind = _kind_in(watched.path) if role == "owner" else ""

        def named(item: Any) -> Any:  # noqa: ANN401 - any object of the API
            """Objects in lists do not say of which kind they are; the collection does."""
            if item is None or not kind or item.kind:
                return item
            version = _version_in(found.path.rpartition("/")[0])
            return replace(item, api_version=version, kind=kind)

        def sink(changes: list[ObjectChange[Any]]) -> None:
            self._sink(
                [
                    ObjectChanged(cluster, role, each.item.metadata.uid, named(_now(each)))
                    for each in changes
                    if each.item is not None
                ]
            )

        found: Reflector[Any] = Reflector(
            self._api,
            watched.path,
            watched.kind,
            sink,
            silence_s=self._silence_s,
            find=partial(served_path, self._api) if _has_versions(watched.path) else None,
        )
        return found


def _has_versions(path: str) -> bool:
    """Whether servers have a collection in different versions, so that discovery is asked."""
    return path.startswith(f"/apis/{UPSTREAM_GROUP[0]}/")


def _kind_in(path: str) -> str:
    """The kind of the objects of a collection."""
    prefix, _, plural = path.rpartition("/")
    group = _version_in(prefix).rpartition("/")[0]
    found = (each.kind for each in KINDS.values() if (each.group, each.plural) == (group, plural))
    return next(found, "")


def _version_in(prefix: str) -> str:
    return prefix.removeprefix("/apis/").removeprefix("/api/")


def _now(change: ObjectChange[Any]) -> Any:  # noqa: ANN401 - any object of the API
    return change.item if change.kind == "put" else None
