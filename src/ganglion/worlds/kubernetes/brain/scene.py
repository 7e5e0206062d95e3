"""Everything the brain knows, and what it has decided to have written."""

from collections.abc import Iterator

from msgspec import Struct, field

from ganglion.engine.record import GangRecord
from ganglion.engine.state import ClusterState
from ganglion.lifecycle.failures.quarantine import Quarantine
from ganglion.model.errors import GanglionError
from ganglion.model.events import Event
from ganglion.model.plan import Defect, Rejection
from ganglion.worlds.kubernetes.brain.attempt import Attempt
from ganglion.worlds.kubernetes.brain.orders import Order, PodRef
from ganglion.worlds.kubernetes.brain.settings import Settings
from ganglion.worlds.kubernetes.brain.site import Site
from ganglion.worlds.kubernetes.gangs.found import Found


class Scene(Struct):
    """Everything the brain knows.

    Attributes:
        settings: how it goes about its work.
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
        awaited: gangs without pods that are to be made anew -> since when, in ms.
        blocked: gangs of which a disruption budget keeps pods from leaving -> since when.
        resumed: UIDs of owners that we suspended and told to go on -> when, in ms.
        complaints: gang -> why it is not even considered.
        touched: gangs to be looked at in this turn.
    """

    settings: Settings
    state: ClusterState
    sites: dict[str, Site]
    quarantine: Quarantine
    attempts: dict[str, Attempt] = field(default_factory=dict)
    founds: dict[str, Found] = field(default_factory=dict)
    seated: dict[str, str] = field(default_factory=dict)
    orders: list[Order] = field(default_factory=list)
    facts: list[Event] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    awaited: dict[str, int] = field(default_factory=dict)
    blocked: dict[str, int] = field(default_factory=dict)
    resumed: dict[str, int] = field(default_factory=dict)
    complaints: dict[str, str] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    def apply(self, event: Event) -> bool:
        """Let the engine hear a fact; one that makes no sense stops no other."""
        try:
            changed = self.state.apply(event)
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

    def record(self, gang: str) -> GangRecord | None:
        """What the engine knows of a gang."""
        return self.state.records.get(gang)

    def site_of(self, gang: str) -> Site:
        """The cluster of a gang."""
        return next(site for site in self.sites.values() if gang.startswith(site.prefix))

    def site_of_node(self, node: str) -> tuple[Site, str]:
        """The cluster of a node, and the node's name in it."""
        site = next(site for site in self.sites.values() if node.startswith(site.prefix))
        return site, node.removeprefix(site.prefix)

    def living(self, attempt: Attempt) -> Iterator[PodRef]:
        """The pods of an attempt that are bound."""
        site = self.sites[attempt.cluster]
        for uid in attempt.pods.values():
            if uid in site.pods and uid in attempt.bound:
                yield site.ref(site.pods[uid])

    def claim(self, attempt: Attempt, uid: str) -> None:
        """A pod belongs to an attempt from now on."""
        self.seated[uid] = attempt.gang
        self.sites[attempt.cluster].claim(uid)

    def disclaim(self, attempt: Attempt, uid: str) -> None:
        """A pod belongs to no attempt any more."""
        if self.seated.pop(uid, None) is not None:
            self.sites[attempt.cluster].disclaim(uid)
