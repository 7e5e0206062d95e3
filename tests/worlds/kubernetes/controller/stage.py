"""Clusters made of objects, and a controller that is shown them turn by turn."""

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import convert
from msgspec.structs import replace

from ganglion.extensions import load
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.worlds.kubernetes.cluster_view.orders import Answer, ObjectChanged, Order
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.controller import ClusterController
from ganglion.worlds.kubernetes.types import storage
from ganglion.worlds.kubernetes.types.disruption import PodDisruptionBudget
from ganglion.worlds.kubernetes.types.dra import ResourceSlice
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod

Body = dict[str, Any]
Sort = TypeVar("Sort", bound=Order)

ROLES: dict[str, tuple[str, type[Any]]] = {
    "Node": ("node", Node),
    "Pod": ("pod", Pod),
    "Namespace": ("namespace", Anything),
    "ResourceSlice": ("slice", ResourceSlice),
    "PersistentVolumeClaim": ("claim", storage.PersistentVolumeClaim),
    "StorageClass": ("storage class", storage.StorageClass),
    "PersistentVolume": ("volume", storage.PersistentVolume),
    "PodDisruptionBudget": ("budget", PodDisruptionBudget),
}
OWNER: tuple[str, type[Any]] = ("owner", Anything)
"""All other kinds: what makes pods."""


class Stage:
    """A controller and what it sees.

    Attributes:
        controller: decides.
        orders: what it ordered in the last turn.
        now: time in ms.
    """

    def __init__(
        self,
        *clusters: str,
        settings: Settings | None = None,
        queues: Sequence[Queue] = (Queue("default"),),
    ) -> None:
        policy = replace(Policy(), repair=True)
        self.controller = ClusterController(
            clusters or ("",), settings or Settings(), policy, load(policy)
        )
        self.now = 1_000_000
        self.orders: list[Order] = []
        self.controller.configure(queues, policy, self.now)

    def show(self, *bodies: Body, cluster: str = "") -> None:
        """Objects are there, or have changed."""
        for body in bodies:
            role, kind = ROLES.get(body["kind"], OWNER)
            uid = uid_of(body, cluster)
            item = convert(
                {**body, "metadata": {**body["metadata"], "uid": uid}}, kind, strict=False
            )
            self.controller.observe([ObjectChanged(cluster, role, uid, item)])

    def remove(self, *bodies: Body, cluster: str = "") -> None:
        """Objects are gone."""
        for body in bodies:
            self.controller.observe(
                [
                    ObjectChanged(
                        cluster, ROLES.get(body["kind"], OWNER)[0], uid_of(body, cluster), None
                    )
                ]
            )

    def turn(self, *answers: Answer, after_ms: int = 1_000) -> list[Order]:
        """Let the controller decide; what it ordered."""
        self.now += after_ms
        self.orders = self.controller.turn(answers, self.now)
        self.controller.validate()
        return self.orders

    def ordered(self, sort: type[Sort]) -> list[Sort]:
        """Orders of one kind of the last turn."""
        return [each for each in self.orders if isinstance(each, sort)]

    def nodes_of(self, gang: str) -> list[str]:
        """Nodes that the engine gave a gang; empty = none."""
        record = self.controller.scene.record(gang)
        return [pod.node for pod in record.placement.pods] if record and record.placement else []


def uid_of(body: Body, cluster: str = "") -> str:
    """The UID of an object; where it says none, one that no other object has."""
    meta = body["metadata"]
    own = f"{cluster}-{body['kind']}-{meta.get('namespace', '')}-{meta['name']}"
    return str(meta.get("uid") or own)
