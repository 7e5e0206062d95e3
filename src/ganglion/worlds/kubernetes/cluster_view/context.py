"""Everything the controller knows, and what it has decided to have written."""

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.failures.quarantine import Quarantine
from ganglion.model.errors import GanglionError, InputError
from ganglion.model.events import Event, GangPlaced, GangSubmitted
from ganglion.model.plan import Defect, Rejection
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.cluster_view.orders import Note, Order, PodRef
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.cluster_view.tenancy import OPEN, Tenancy
from ganglion.worlds.kubernetes.names import QUARANTINED
from ganglion.worlds.kubernetes.types.bounds import brief
from ganglion.worlds.kubernetes.workload_discovery.found import Found
from ganglion.worlds.kubernetes.write_rules.series import About


class Unready(Struct, frozen=True):
    """A gang that was not ready in time.

    Attributes:
        times: how often in a row.
        why: what kept it the last time.
        nodes: where its pods were not ready, names in their cluster.
        avoid_until: until when its tries keep off these nodes, in ms.
    """

    times: int
    why: str
    nodes: frozenset[str] = frozenset()
    avoid_until: int = 0


class Context(Struct):
    """Everything the controller knows.

    Attributes:
        settings: timeouts, rates and limits of the controller.
        state: the engine's.
        sites: the clusters by name.
        quarantine: nodes that refused pods.
        attempts: by gang, for every gang that the engine has placed.
        founds: what is known of gangs, by gang.
        seated: pod UID -> gang whose attempt it belongs to.
        orders: what is to be written, in that order.
        facts: events of this turn that came from the clusters.
        rejected: facts of this turn that made no sense and were left out.
        defects: where the engine failed over facts of this turn.
        failures: starts that failed in a row, by gang.
        unready: gangs that were not ready in time, until they are.
        suspects: node -> namespace of a gang that was not ready on it -> when, in ms.
        awaited: gangs without pods that are to be made anew -> since when, in ms.
        blocked: gangs of which a disruption budget keeps pods from leaving -> since when.
        spared: gangs that could not be evicted and run on -> until when they are spared, in ms.
        resumed: UIDs of owners that we suspended and resumed -> when, in ms.
        emptied: UIDs of owners that we suspended and whose pods are gone -> since when, in ms.
        complaints: gang -> why it is not even considered.
        apart: objects that are left out, as they are out of bounds or what evaluates them failed:
            kind and name -> why.
        touched: gangs to be looked at in this turn.
        tenancy: which namespaces may submit to which queue.
        unsure: gangs of which it is yet to be computed what keeps them from nodes.
    """

    settings: Settings
    state: ClusterState
    sites: dict[str, ClusterView]
    quarantine: Quarantine
    attempts: dict[str, Attempt] = field(default_factory=dict)
    founds: dict[str, Found] = field(default_factory=dict)
    seated: dict[str, str] = field(default_factory=dict)
    orders: list[Order] = field(default_factory=list)
    facts: list[Event] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    unready: dict[str, Unready] = field(default_factory=dict)
    suspects: dict[str, dict[str, int]] = field(default_factory=dict)
    awaited: dict[str, int] = field(default_factory=dict)
    blocked: dict[str, int] = field(default_factory=dict)
    spared: dict[str, int] = field(default_factory=dict)
    resumed: dict[str, int] = field(default_factory=dict)
    emptied: dict[str, int] = field(default_factory=dict)
    complaints: dict[str, str] = field(default_factory=dict)
    apart: dict[tuple[str, str], str] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    tenancy: Tenancy = OPEN
    unsure: set[str] = field(default_factory=set)

    def apply(self, event: Event) -> bool:
        """Pass a fact to the engine; an invalid one stops no other."""
        return self._heard(event, lambda: self.state.apply(event))

    def take_over(self, event: GangSubmitted, place: GangPlaced) -> bool:
        """Pass a gang that has its place already to the engine; returns whether it took it."""
        changed = self._heard(event, lambda: self.state.take_over(event, place))
        if changed:
            self.facts.append(place)
        return changed

    def _heard(self, event: Event, hear: Callable[[], bool]) -> bool:
        try:
            changed = hear()
        except GanglionError as error:
            self.rejected.append(Rejection(event, error.code, error.message))
            return False
        except Exception as error:
            if not self.settings.isolate:
                raise
            self.defects.append(Defect("events", "", f"{type(error).__name__}: {error}"))
            return False
        if changed:
            self.facts.append(event)
        return changed

    def failed(self, kind: str, name: str, error: Exception) -> str:
        """Set an object apart whose evaluation raised, so that all others are decided.

        Args:
            kind: of the object, as `gang` or `node`.
            name: its own, with the prefix of its cluster.
            error: what was raised. One that is no `InputError` is a defect of ours; it is raised
                again where defects are not isolated.

        Returns:
            Why, for people.
        """
        told = str(error)
        if not isinstance(error, InputError):
            if not self.settings.isolate:
                raise error
            told = f"{type(error).__name__}: {error}"
            self.defects.append(Defect(kind, name, told))
        elif error.hint:
            told = f"{told}; {error.hint}"
        told = self.apart[kind, name] = brief(told)
        return told

    def record(self, gang: str) -> GangRecord | None:
        """What the engine knows of a gang."""
        return self.state.gangs.records.get(gang)

    def site_of(self, gang: str) -> ClusterView:
        """The cluster of a gang."""
        for site in self.sites.values():
            if gang.startswith(site.prefix):
                return site
        raise LookupError(f"gang {gang} is in no cluster that takes part")

    def site_of_node(self, node: str) -> tuple[ClusterView, str]:
        """The cluster of a node, and the node's name in it."""
        for site in self.sites.values():
            if node.startswith(site.prefix):
                return site, node.removeprefix(site.prefix)
        raise LookupError(f"node {node} is in no cluster that takes part")

    def living(self, attempt: Attempt) -> Iterator[PodRef]:
        """The pods of an attempt that are bound."""
        site = self.sites[attempt.cluster]
        for uid in attempt.pods.values():
            if uid in site.pods and uid in attempt.bound:
                yield site.ref(site.pods[uid])

    def tell_quarantine(self, site: ClusterView, node: str, now: int) -> None:
        """Record on a node that it gets no new pods for a while."""
        uid = site.nodes[node].metadata.uid if node in site.nodes else ""
        about = About("v1", "Node", "", node, uid)
        message = self.quarantine.reason(site.prefix + node, now)
        self.orders.append(Note(site.name, about, QUARANTINED, "Quarantining", message, True))

    def claim(self, attempt: Attempt, uid: str) -> None:
        """A pod belongs to an attempt from now on."""
        self.seated[uid] = attempt.gang
        self.sites[attempt.cluster].claim(uid)

    def disclaim(self, attempt: Attempt, uid: str) -> None:
        """A pod belongs to no attempt any more."""
        if self.seated.pop(uid, None) is not None:
            self.sites[attempt.cluster].disclaim(uid)
