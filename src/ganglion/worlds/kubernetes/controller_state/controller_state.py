"""Everything the controller knows, and what it has decided to have written."""

from collections.abc import Iterator, Mapping

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.failures.quarantine import Quarantine
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.cluster_view.orders import Note, Order, PodRef
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.cluster_view.tenancy import OPEN
from ganglion.worlds.kubernetes.controller_state.attempts import Attempts
from ganglion.worlds.kubernetes.controller_state.evictions import Evictions
from ganglion.worlds.kubernetes.controller_state.facts import Facts
from ganglion.worlds.kubernetes.controller_state.failed_starts import FailedStarts
from ganglion.worlds.kubernetes.controller_state.known_gangs import KnownGangs
from ganglion.worlds.kubernetes.names import QUARANTINED
from ganglion.worlds.kubernetes.write_rules.series import About


class ControllerState:
    """Everything the controller knows; each owner has one invariant, which its docstring gives.

    Args:
        settings: timeouts, rates and limits of the controller.
        state: the engine's.
        sites: the clusters that take part, by name.
        quarantine: nodes that refused pods.

    Attributes:
        settings, state, sites, quarantine: as above.
        facts: what the engine was given, and what was left out.
        gangs: those that the clusters show.
        attempts: those at running gangs, with their pods.
        starts: those that failed.
        evictions: those that do not go through.
        orders: what is to be written, in that order.
        tenancy: which namespaces may submit to which queue.
        unsure: gangs of which it is yet to be computed what keeps them from nodes.
    """

    def __init__(
        self,
        settings: Settings,
        state: ClusterState,
        sites: Mapping[str, ClusterView],
        quarantine: Quarantine,
    ) -> None:
        self.settings, self.state, self.quarantine = settings, state, quarantine
        self.sites = dict(sites)
        self.facts = Facts(state, isolate=settings.isolate)
        self.gangs, self.attempts = KnownGangs(), Attempts()
        self.starts, self.evictions = FailedStarts(), Evictions()
        self.orders: list[Order] = []
        self.tenancy = OPEN
        self.unsure: set[str] = set()

    def among(self, sites: Mapping[str, ClusterView]) -> "ControllerState":
        """The part that shows some clusters, without attempts: what is done to it is done here."""
        part = ControllerState(self.settings, self.state, sites, self.quarantine)
        part.gangs = self.gangs.among(
            {
                gang: found
                for gang, found in self.gangs.founds.items()
                if self.site_of(gang).name in sites
            }
        )
        part.facts, part.starts, part.evictions = self.facts, self.starts, self.evictions
        part.orders, part.tenancy, part.unsure = self.orders, self.tenancy, self.unsure
        return part

    def use(self, state: ClusterState) -> None:
        """Have another state of the engine, as long as both know nothing."""
        self.state = self.facts.state = state

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
        self.attempts.seated[uid] = attempt.gang
        self.sites[attempt.cluster].claim(uid)

    def disclaim(self, attempt: Attempt, uid: str) -> None:
        """A pod belongs to no attempt any more."""
        if self.attempts.seated.pop(uid, None) is not None:
            self.sites[attempt.cluster].disclaim(uid)

    def validate(self) -> None:
        """Check the invariant of every owner, between turns. Raises InvariantBroken."""
        self.facts.check()
        self.attempts.check()
        placed = self.attempts.by_gang
        self.gangs.check(placed)
        self.starts.check()
        self.evictions.check(placed)
