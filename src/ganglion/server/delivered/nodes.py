"""Nodes of clusters and what is free on them: as their schedulers said last."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ganglion.api.nodes import DeviceView, NodeView
from ganglion.api.use import NodeDetail, Occupant
from ganglion.lifecycle.cluster_gangs import DeliveredGang
from ganglion.lifecycle.clusters import ClusterBooks, live_id, place_of
from ganglion.metering.clusters import ClusterMeters
from ganglion.metering.supply import MeteredNode
from ganglion.model.fleet.capacity import FlavorReport
from ganglion.model.placement import PodPlacement
from ganglion.model.queue import CLUSTER_SIGN
from ganglion.model.resources import WHOLE


class ClusterNode(Struct, frozen=True):
    """A node of a cluster that is there, or that gangs hold something of.

    Attributes:
        cluster: its name.
        node: what its scheduler has said of it.
        gangs: those that live in the cluster, by id.
        silent_since: since when nothing was heard of the scheduler, in ms; 0 = it is not silent.
    """

    cluster: str
    node: MeteredNode
    gangs: Mapping[str, DeliveredGang]
    silent_since: int = 0

    @property
    def name(self) -> str:
        """How it is named at a server."""
        return place_of(self.cluster, self.node.name)

    @property
    def flavor(self) -> str:
        """Its flavor, by the name that it has at a server."""
        return place_of(self.cluster, self.node.flavor)

    @property
    def state(self) -> str:
        """`lost`, `cordoned` or `ready`."""
        if self.node.lost:
            return "lost"
        return "cordoned" if self.node.cordoned else "ready"

    @property
    def pods(self) -> int:
        """How many pods are on it."""
        return sum(map(len, self.node.pods.values()))

    def holders(self) -> Iterator[tuple[str, PodPlacement]]:
        """Pods that are on it, each with its gang as a server names that."""
        for gang, pods in self.node.pods.items():
            found = self.gangs.get(gang)
            for pod in pods:
                yield (live_id(self.cluster, found) if found else place_of(self.cluster, gang)), pod

    def devices(self) -> list[DeviceView]:
        """Its GPUs; those of a node that takes nothing have nothing free, as others have."""
        users, held = dict[int, list[str]](), dict[int, int]()
        for gang, pod in self.holders():
            for device in pod.devices:
                users.setdefault(device, []).append(gang)
                held[device] = held.get(device, 0) + pod.milli
        types = self.node.types
        return [
            DeviceView(
                index,
                types[index] if index < len(types) else "",
                healthy=healthy,
                free_milli=max(WHOLE - held.get(index, 0), 0),
                gangs=tuple(dict.fromkeys(users.get(index, ()))),
            )
            for index, healthy in enumerate(self.node.healthy)
        ]

    def view(self) -> NodeView:
        """As lists show it."""
        devices = self.devices()
        healthy = [each for each in devices if each.healthy]
        ready = self.state == "ready"
        return NodeView(
            self.name,
            self.flavor,
            self.state,
            reason="closed in the cluster" if self.state == "cordoned" else "",
            domains={"cluster": self.cluster},
            gpu_total_milli=WHOLE * len(healthy),
            gpu_free_milli=sum(each.free_milli for each in healthy) if ready else 0,
            pods=self.pods,
            devices=tuple(devices),
            cluster=self.cluster,
            silent_since=self.silent_since,
        )

    def detail(self) -> NodeDetail:
        """Everything that is known of it."""
        return NodeDetail(self.view(), occupants=tuple(self._occupants()))

    def _occupants(self) -> Iterator[Occupant]:
        for gang, pods in self.node.pods.items():
            if not pods:
                continue
            found = self.gangs.get(gang)
            devices = sorted({device for pod in pods for device in pod.devices})
            yield Occupant(
                gang=live_id(self.cluster, found) if found else place_of(self.cluster, gang),
                user=found.gang.user if found else "",
                queue=place_of(self.cluster, found.gang.queue) if found else "",
                phase=str(found.phase) if found else "",
                since=found.placed if found else 0,
                pods=len(pods),
                devices=tuple(devices),
                milli=pods[0].milli,
            )


class ClusterNodes:
    """Nodes of all clusters.

    Args:
        books: of the clusters.
        meters: of the clusters, which know their nodes.
        silent: cluster -> since when its scheduler is silent, in ms; 0 = it is not.
    """

    def __init__(
        self, books: ClusterBooks, meters: ClusterMeters, silent: Mapping[str, int]
    ) -> None:
        self._books, self._meters, self._silent = books, meters, silent

    def __iter__(self) -> Iterator[ClusterNode]:
        for cluster, meter in self._meters.of.items():
            for node in meter.meter.nodes.values():
                if found := self._found(cluster, node):
                    yield found

    def called(self, name: str) -> ClusterNode | None:
        """The node of a name; None = no cluster has it."""
        cluster, _, own = name.partition(CLUSTER_SIGN)
        meter = self._meters.of.get(cluster)
        node = meter.meter.nodes.get(own) if meter else None
        return self._found(cluster, node) if node else None

    def _found(self, cluster: str, node: MeteredNode) -> ClusterNode | None:
        """A node, unless it is gone and nothing is on it: of those the meter keeps the names."""
        book = self._books.of.get(cluster)
        if book is None or (node.lost and not node.pods):
            return None
        return ClusterNode(cluster, node, book.gangs, self._silent.get(cluster, 0))

    def capacity(self) -> list[FlavorReport]:
        """One report for each flavor of each cluster, by name. Cores and memory are unknown."""
        sums = dict[str, dict[str, int]]()
        for each in self:
            view, found = each.view(), sums.setdefault(each.flavor, {})
            used = sum(WHOLE - device.free_milli for device in view.devices)
            whole = [d for d in view.devices if d.healthy and d.free_milli == WHOLE]
            there, is_open = view.state != "lost", view.state == "ready"
            more = {
                "nodes": int(there),
                "open_nodes": int(is_open),
                "gpu_total_milli": view.gpu_total_milli if there else 0,
                "gpu_used_milli": used,
                "gpu_free_milli": view.gpu_free_milli,
                "whole_nodes": int(is_open and not view.pods),
            }
            for name, value in more.items():
                found[name] = found.get(name, 0) + value
            hole = len(whole) if is_open else 0
            found["largest_hole"] = max(found.get("largest_hole", 0), hole)
        return [FlavorReport(flavor, **sums[flavor]) for flavor in sorted(sums)]
