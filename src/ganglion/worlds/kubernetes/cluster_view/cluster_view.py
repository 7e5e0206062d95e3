"""One cluster as its API server shows it, kept up to date change by change."""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from ganglion.model.errors import GanglionError
from ganglion.model.fleet.node import Node
from ganglion.worlds.kubernetes.cluster_view.gang_of import CLUSTER_LABEL
from ganglion.worlds.kubernetes.cluster_view.images import HeldImages
from ganglion.worlds.kubernetes.cluster_view.orders import ObjectChanged, PodRef
from ganglion.worlds.kubernetes.cluster_view.places import Places
from ganglion.worlds.kubernetes.cluster_view.pod_needs import Asks, given, grown
from ganglion.worlds.kubernetes.feasibility.labels import Mentioned, labels_of
from ganglion.worlds.kubernetes.feasibility.volumes import Stored, Volumes
from ganglion.worlds.kubernetes.gpu_discovery.dra import published
from ganglion.worlds.kubernetes.gpu_discovery.foreign import held_of
from ganglion.worlds.kubernetes.instance import FIRST, Instance
from ganglion.worlds.kubernetes.names import SUSPENDED_FOR
from ganglion.worlds.kubernetes.node_discovery.catalog import Catalog, catalog_of
from ganglion.worlds.kubernetes.node_discovery.nodes import Described, describe
from ganglion.worlds.kubernetes.node_discovery.openness import uncordoned
from ganglion.worlds.kubernetes.node_discovery.topology import DISCOVERED, TopologySources
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.requests import Ask, asks_otherwise, plus
from ganglion.worlds.kubernetes.types import node as kube
from ganglion.worlds.kubernetes.types.disruption import (
    BudgetSpec,
    BudgetStatus,
    PodDisruptionBudget,
)
from ganglion.worlds.kubernetes.types.dra import ResourceSlice
from ganglion.worlds.kubernetes.types.meta import Anything, OwnerReference
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.grouping import Grouping
from ganglion.worlds.kubernetes.workload_kinds.kinds import ident_of
from ganglion.worlds.kubernetes.workload_kinds.owners import ident


class ClusterView:
    """Nodes, pods and whatever bears on them.

    Args:
        name: of the cluster; empty where there is only one.
        sources: where levels of the topology are read from.
        instance: which of several schedulers we are.

    Attributes:
        prefix: of the names of its nodes and gangs, which makes them unique among clusters.
        nodes: by name in the cluster.
        pods: by UID, without those that are over.
        changed_nodes: names of nodes whose description may be another by now.
        news: our pods that are new or changed.
        gone_pods: (UID, phase in which it ended or "") of pods that are gone or over.
        over: our pods that ended, as they were then.
        places: where its nodes lie.
        catalog: the types of device that its nodes have.
        asks: what its pods take.
        images: those that lie on its nodes.
        troubles: what was wrong with objects, by object.
        owners, suspended: objects that make pods, and those that we have suspended, by UID.
        budgets: disruption budgets by namespace and UID.
    """

    def __init__(
        self, name: str, sources: TopologySources = DISCOVERED, instance: Instance = FIRST
    ) -> None:
        self.instance = instance
        self.name, self.prefix = name, f"{name}/" if name else ""
        self.nodes: dict[str, kube.Node] = {}
        self._node_names: dict[str, str] = {}
        self.pods: dict[str, Pod] = {}
        self.owners, self.suspended = dict[str, Anything](), dict[str, Anything]()
        self._named: dict[tuple[str, str, str, str], str] = {}
        self.volumes, self.fleet = Volumes(), Fleet()
        self.crowd = PodIndex(self.volumes, self.fleet)
        self.places, self.catalog = Places(name, sources), Catalog()
        self.grouping = Grouping(self._owner, self.places.meant, instance=instance)
        self.mentioned = Mentioned()
        self.barred: dict[str, frozenset[str]] = {}
        self.changed_nodes: set[str] = set()
        self.gone_pods: list[tuple[str, str]] = []
        self.news, self.over = list[Pod](), list[Pod]()
        self.images = HeldImages(self.nodes, self.changed_nodes)
        self.troubles: dict[str, tuple[str, ...]] = {}
        self.budgets: dict[str, dict[str, PodDisruptionBudget]] = {}
        self._types: dict[tuple[str, bool], tuple[str, ...]] = {}
        self._described: dict[str, Described] = {}
        self._is_catalog_stale = False
        self._slices: dict[str, ResourceSlice] = {}
        self._stock, self._label = 0, {CLUSTER_LABEL: name} if name else {}
        self._are_slices_stale = self._are_budgets_new = False
        self._namespaces: dict[str, str] = {}
        self._stored: dict[str, Stored] = {}
        self.asks = Asks(self.pods, self.crowd)
        self._strangers: dict[str, dict[str, Ask]] = {}
        self._seated: dict[str, Ask] = {}
        self._takers: dict[str, Callable[[ObjectChanged], None]] = {
            "pod": self._take_pod,
            "node": self._take_node,
            "owner": self._take_owner,
            "namespace": self._take_namespace,
            "budget": self._take_budget,
            "slice": self._take_slice,
        }

    def take(self, change: ObjectChanged) -> None:
        """Take one change in."""
        taker = self._takers.get(change.kind)
        if taker:
            taker(change)
        elif change.item is not None:
            self._stored[change.uid] = change.item
            self.volumes.put(change.item)
        elif change.uid in self._stored:
            self.volumes.drop(self._stored.pop(change.uid))

    def ref(self, pod: Pod) -> PodRef:
        """The pod, for orders."""
        meta = pod.metadata
        return PodRef(self.name, meta.namespace, meta.name, meta.uid)

    def claim(self, uid: str) -> None:
        """The engine counts a pod itself from now on."""
        ask = self._asked(uid)
        if self._seated.get(uid) is not ask:
            self._seated[uid] = ask
            self._count(uid)

    def disclaim(self, uid: str) -> None:
        """The engine does not count a pod any more."""
        self._seated.pop(uid, None)
        self._count(uid)

    def described(self, name: str, ours: Mapping[int, str]) -> Node | None:
        """A node as the engine gets it; None = it is gone.

        Args:
            name: in the cluster.
            ours: device index -> resource of the devices that the engine's gangs hold.
        """
        node = self.nodes.get(name)
        if node is None:
            self._forget(name)
            return None
        held, places = held_of(self._strangers.get(name, {}).values()), self.places
        labels = self.labels(name, self.mentioned, self.barred.get(name, frozenset()))
        published, domains, counted = places.published, places.domains(name), self.mentioned.counted
        shown = uncordoned(node) if self.mentioned.cordons else node
        found = describe(
            shown, held, ours, labels, published=published, domains=domains, counted=counted
        )
        self._say(f"node {name}", found.troubles)
        before, self._described[name] = self._described.get(name), found
        self._is_catalog_stale |= before is None or _offer(before) != _offer(found)
        return replace(found.node, name=self.prefix + name, holds=self.images.on(name))

    def labels(self, name: str, mentioned: Mentioned, bars: frozenset[str]) -> dict[str, str]:
        """The labels of a node for the engine, by what rules mention and the marks it is in."""
        return labels_of(self.nodes[name], mentioned, bars) | self._label

    def resources(self, name: str) -> tuple[str, ...]:
        """What each device of a node is asked for by."""
        found = self._described.get(name)
        return found.resources if found else ()

    def types_of(self, resource: str, count: int = 1) -> tuple[str, ...]:
        """Types of device that pods get which ask for `count` of a resource; empty = any."""
        key = resource, count > 1
        if key not in self._types:
            found, known = self.catalog.types_of(resource, count), self.catalog.types.values()
            is_any = len(found) == len({kind for types in known for kind in types})
            self._types[key] = (() if is_any else found) if found else (resource,)
        return self._types[key]

    def restock(self) -> bool:
        """Whether anything about storage has changed since this was asked last."""
        before, self._stock = self._stock, self.volumes.version
        return before != self._stock

    def rebudgeted(self) -> bool:
        """Whether any disruption budget says something else than when this was asked last."""
        before, self._are_budgets_new = self._are_budgets_new, False
        return before

    def settle(self) -> None:
        """Find out what labels and drivers say of nodes' places; before gangs are asked for."""
        if self._are_slices_stale:
            self._are_slices_stale = False
            found = published(self._slices.values())
            self.changed_nodes |= self.places.publish(found)
            self._say("devices", found.troubles)
        self.changed_nodes |= self.places.settle() & self.nodes.keys()
        self._say("topology", self.places.troubles)
        if self.places.has_moved():
            self.grouping.set_levels(self.places.meant)

    def renew_catalog(self) -> bool:
        """Know the types of device there are now; returns whether they are others than before."""
        if not self._is_catalog_stale:
            return False
        self._is_catalog_stale = False
        before, self.catalog = self.catalog, catalog_of(self._described.values())
        self._types.clear()
        return before != self.catalog

    def _forget(self, name: str) -> None:
        self._say(f"node {name}", ())
        self._is_catalog_stale |= self._described.pop(name, None) is not None

    def _say(self, about: str, troubles: tuple[str, ...]) -> None:
        if not troubles:
            self.troubles.pop(about, None)
        else:
            self.troubles[about] = troubles

    def _owner(self, reference: OwnerReference, namespace: str) -> Anything | None:
        name = (*ident_of(reference), namespace, reference.name)
        return self.owners.get(reference.uid or self._named.get(name, ""))

    def _take_node(self, change: ObjectChanged) -> None:
        node: kube.Node | None = change.item
        if node is None or not self.instance.nodes.selects(node.metadata.labels):
            name = self._node_names.pop(change.uid, "")
            self.nodes.pop(name, None)
            self.fleet.drop(name)
            self.places.drop(name)
        else:
            name = self._node_names[change.uid] = node.metadata.name
            self.nodes[name] = node
            self.fleet.put(node)
            self.places.put(node)
        if name:
            self.changed_nodes.add(name)

    def _take_owner(self, change: ObjectChanged) -> None:
        thing: Anything | None = change.item
        before = self.owners.pop(change.uid, None)
        if before is not None:
            self._named.pop(_name_of(before), None)
        self.suspended.pop(change.uid, None)
        if thing is not None:
            self.owners[change.uid] = thing
            meta = thing.metadata
            if SUSPENDED_FOR in meta.annotations and self.instance.wrote(meta):
                self.suspended[change.uid] = thing
            self._named[_name_of(thing)] = change.uid
        told = thing or before
        if told is not None:
            self.grouping.owner_changed(told)

    def _take_namespace(self, change: ObjectChanged) -> None:
        space: Anything | None = change.item
        name = self._namespaces.pop(change.uid, "")
        if space is not None:
            name = self._namespaces[change.uid] = space.metadata.name
            self.crowd.put_namespace(name, space.metadata.labels)
        elif name:
            self.crowd.drop_namespace(name)
        self.grouping.touch(name)

    def _stand(self, pod: Pod, node: str) -> None:
        try:
            self.crowd.put(pod, node)
        except GanglionError as error:
            self.troubles[f"pod {pod.key}"] = (error.message,)

    def reconsider(self, uid: str) -> None:
        """A pod was supposed to be on a node; it is where it is seen, or nowhere."""
        pod = self.pods.get(uid)
        if pod and pod.spec.node_name:
            self._stand(pod, pod.spec.node_name)
        else:
            self.crowd.drop(uid)

    def suppose(self, uid: str, node: str) -> None:
        """A pod is about to be bound to a node."""
        pod = self.pods.get(uid)
        if pod and not pod.spec.node_name:
            self._stand(pod, node)

    def _take_budget(self, change: ObjectChanged) -> None:
        budget: PodDisruptionBudget | None = change.item
        found = [known.pop(change.uid, None) for known in self.budgets.values()]
        self._are_budgets_new |= [_allowance(e) for e in found if e] != [_allowance(budget)]
        if budget is not None:
            self.budgets.setdefault(budget.metadata.namespace, {})[change.uid] = budget

    def _take_slice(self, change: ObjectChanged) -> None:
        self._are_slices_stale = True
        if change.item is None:
            self._slices.pop(change.uid, None)
        else:
            self._slices[change.uid] = change.item

    def _take_pod(self, change: ObjectChanged) -> None:
        pod: Pod | None = change.item
        before = self.pods.get(change.uid)
        if pod is None or pod.is_over:
            self._lose(change.uid, pod)
            return
        self.pods[change.uid] = pod
        node = pod.spec.node_name
        if node and (before is None or _stands_otherwise(before, pod)):
            self._stand(pod, node)
        if before is None or asks_otherwise(before, pod):
            self.asks.forget(change.uid)
        if node:
            self._count(change.uid)
        if self.instance.places(pod):
            self.grouping.put(pod)
            self.news.append(pod)

    def _lose(self, uid: str, now: Pod | None) -> None:
        """A pod is gone, or over: it holds nothing any more."""
        before = self.pods.pop(uid, None)
        if now is None:
            self.grouping.drop(uid)
        elif self.instance.places(now):
            self.grouping.put(now)
        if before is None:
            return
        self.crowd.drop(uid)
        self.asks.forget(uid)
        self.gone_pods.append((uid, now.status.phase if now else ""))
        if before.spec.node_name:
            self._uncount(uid, before.spec.node_name)
        if now is not None and self.instance.places(now):
            self.over.append(now)

    def _asked(self, uid: str) -> Ask:
        """What a pod takes, as far as it is known."""
        pod = self.pods.get(uid)
        if pod is None:
            return Ask()
        try:
            return self.asks.of(pod)
        except GanglionError as error:
            self.troubles[f"pod {pod.key}"] = (error.message,)
            return Ask()

    def _count(self, uid: str) -> None:
        """Whether a pod, or what it has grown by, counts as foreign on its node."""
        pod = self.pods.get(uid)
        if pod is None or not pod.spec.node_name:
            return
        ask = self._asked(uid)
        if uid in self._seated:
            ask = grown(self._seated[uid], ask)
            if ask == Ask():
                self._uncount(uid, pod.spec.node_name)
                return
        elif self.instance.places(pod):
            ask = plus(ask, given(pod))
        here = self._strangers.setdefault(pod.spec.node_name, {})
        if here.get(uid) != ask:
            here[uid] = ask
            self.changed_nodes.add(pod.spec.node_name)

    def _uncount(self, uid: str, node: str) -> None:
        if self._strangers.get(node, {}).pop(uid, None) is not None:
            self.changed_nodes.add(node)

    def mention(self, mentioned: Mentioned) -> None:
        """Describe nodes with whatever live rules ask about."""
        if mentioned != self.mentioned:
            self.mentioned = mentioned
            self.changed_nodes.update(self.nodes)

    def bar(self, barred: dict[str, frozenset[str]]) -> None:
        """Keep kinds of pods off nodes: node -> their marks."""
        for name in sorted({*barred, *self.barred}):
            if barred.get(name) != self.barred.get(name):
                self.changed_nodes.add(name)
        self.barred = barred


def _stands_otherwise(before: Pod, now: Pod) -> bool:
    """Whether a pod does something else to others than before."""
    return (
        before.spec.node_name != now.spec.node_name
        or before.is_leaving != now.is_leaving
        or before.metadata.labels != now.metadata.labels
        or asks_otherwise(before, now)
    )


def _allowance(budget: PodDisruptionBudget | None) -> tuple[BudgetSpec, BudgetStatus] | None:
    return (budget.spec, budget.status) if budget else None


def _offer(described: Described) -> set[tuple[str, str]]:
    pairs = zip(described.resources, described.node.devices, strict=True)
    return {(resource, device.type) for resource, device in pairs}


def _name_of(thing: Anything) -> tuple[str, str, str, str]:
    """API group, kind, namespace and name: what is known by name may have any version."""
    return *ident(thing), thing.metadata.namespace, thing.metadata.name
