"""All pods that are on nodes, indexed by what they do to others."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from ganglion.worlds.kubernetes.feasibility.needs import Needs, Resident
from ganglion.worlds.kubernetes.feasibility.reading import resident
from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from ganglion.worlds.kubernetes.pod_index.anti_affinity import Guards
from ganglion.worlds.kubernetes.pod_index.counted import Counted
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.mounted import Mounted
from ganglion.worlds.kubernetes.pod_index.ports import Ports
from ganglion.worlds.kubernetes.pod_index.tallies import Tallies
from ganglion.worlds.kubernetes.types.pod import Pod


class Index(Protocol):
    """One thing that is known of pods on nodes."""

    def add(self, one: Resident) -> None:
        """A pod came."""

    def remove(self, one: Resident) -> None:
        """A pod left."""


class PodIndex:
    """The pods of all schedulers that hold something on a node.

    Args:
        volumes: what is known of storage.
        fleet: the nodes.

    Attributes:
        namespaces: labels of each namespace.
        volumes: what is known of storage.
        tallies, guards, wishes, ports, counted, mounted: the indexes.
    """

    def __init__(self, volumes: Volumes | None = None, fleet: Fleet | None = None) -> None:
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.tallies = Tallies(self.namespaces)
        self.guards = Guards(self.namespaces, lambda needs: needs.apart)
        self.wishes = Guards(self.namespaces, lambda needs: needs.wishes)
        self.ports = Ports()
        self.counted = Counted()
        self.volumes = volumes or Volumes()
        self.mounted = Mounted(self.volumes, fleet or Fleet())
        self._residents: dict[str, Resident] = {}
        self._indexes: tuple[Index, ...] = (
            self.tallies,
            self.guards,
            self.wishes,
            self.ports,
            self.counted,
            self.mounted,
        )

    @property
    def size(self) -> int:
        """How many pods there are."""
        return len(self._residents)

    def needs(self, uid: str) -> Needs | None:
        """The needs of a pod; None = it is on no node."""
        known = self._residents.get(uid)
        return known.needs if known else None

    def put(self, pod: Pod, node: str, needs: Needs | None = None) -> None:
        """A pod is on a node, or is about to be; one that is over holds nothing any more.

        Args:
            pod: the pod.
            node: its name.
            needs: of the pod, where they are known.

        Raises:
            InputError: a quantity of the pod is none.
        """
        if pod.is_over:
            self.drop(pod.metadata.uid)
        else:
            self.add(resident(pod, node, needs=needs))

    def drop(self, uid: str) -> None:
        """A pod is on no node any more."""
        known = self._residents.pop(uid, None)
        if known:
            for index in self._indexes:
                index.remove(known)

    def add(self, one: Resident) -> None:
        """A pod is on a node, in place of whatever was known of it."""
        if self._residents.get(one.uid) == one:
            return
        self.drop(one.uid)
        self._residents[one.uid] = one
        for index in self._indexes:
            index.add(one)

    def put_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        """A namespace came or changed."""
        if self.namespaces.get(name) != labels:
            self.namespaces[name] = dict(labels)
            self.tallies.forget()

    def drop_namespace(self, name: str) -> None:
        """A namespace is gone."""
        if self.namespaces.pop(name, None):
            self.tallies.forget()

    @contextmanager
    def supposing(self, gone: Iterable[str] = ()) -> Iterator[Callable[[Resident], None]]:
        """For a moment: without the pods in `gone`, and with those given to what is yielded."""
        missing = [self._residents[uid] for uid in sorted(set(gone)) if uid in self._residents]
        added: list[str] = []

        def suppose(one: Resident) -> None:
            added.append(one.uid)
            self.add(one)

        for each in missing:
            self.drop(each.uid)
        try:
            yield suppose
        finally:
            for uid in added:
                self.drop(uid)
            for each in missing:
                self.add(each)
