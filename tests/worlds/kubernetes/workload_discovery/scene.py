"""A cluster of a few objects, seen by a Grouping."""

from collections.abc import Iterable
from typing import Any

from msgspec import convert

from ganglion.worlds.kubernetes.types.meta import Anything, OwnerReference
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang
from ganglion.worlds.kubernetes.workload_discovery.grouping import Grouping
from tests.worlds.kubernetes.controllers import uid_of, unfold

Body = dict[str, Any]


def pod(body: Body) -> Pod:
    """A pod as it comes from the API server."""
    return convert(_kept(body), Pod, strict=False)


def anything(body: Body) -> Anything:
    """Any other object as it comes from the API server."""
    return convert(_kept(body), Anything, strict=False)


def _kept(body: Body) -> Body:
    meta = {"creationTimestamp": "2026-11-01T08:00:00Z", "uid": uid_of(body), **body["metadata"]}
    return {**body, "metadata": meta}


class Scene:
    """Objects by UID and by name, and the gangs they make."""

    def __init__(self) -> None:
        self.things: dict[str, Anything] = {}
        self.grouping = Grouping(self.look)

    def look(self, ref: OwnerReference, namespace: str) -> Anything | None:
        """Find an object as the scheduler does: by UID, or by name where no UID is known."""
        if ref.uid:
            return self.things.get(ref.uid)
        for each in self.things.values():
            if (each.kind, each.metadata.namespace, each.metadata.name) == (
                ref.kind,
                namespace,
                ref.name,
            ):
                return each
        return None

    def add(self, *bodies: Body) -> None:
        """Objects appear, or change."""
        for body in bodies:
            if body["kind"] == "Pod":
                self.grouping.put(pod(body))
            else:
                thing = anything(body)
                self.things[thing.metadata.uid] = thing
                self.grouping.owner_changed(thing)

    def remove(self, body: Body) -> None:
        """An object is gone."""
        uid = body["metadata"]["uid"]
        if body["kind"] == "Pod":
            self.grouping.drop(uid)
        else:
            self.grouping.owner_changed(self.things.pop(uid))

    def gangs(self) -> list[FoundGang]:
        """All gangs, by key."""
        found = (self.grouping.found(key) for key in self.grouping.all_keys())
        return [each for each in found if each]

    def one(self) -> FoundGang:
        """The only gang there is."""
        (found,) = self.gangs()
        return found


def of(body: Body) -> Scene:
    """An object and all that its controllers make of it."""
    scene = Scene()
    scene.add(*unfold(body))
    return scene


def sizes(found: FoundGang) -> dict[str, tuple[int, int, int]]:
    """Set -> pods wanted, fewest, and those that exist before anything runs."""
    return {each.name: (each.count, each.least, each.upfront) for each in found.sets}


def seats(found: FoundGang) -> dict[str, str]:
    """Pod -> `set-index`."""
    return {each.pod.metadata.name: f"{each.pod_set}-{each.index}" for each in found.members}


def pods_of(bodies: Iterable[Body]) -> list[Body]:
    """The pods among some objects."""
    return [each for each in bodies if each["kind"] == "Pod"]
