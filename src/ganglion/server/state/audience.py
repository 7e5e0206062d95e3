"""The listener to a scheduler's turns: views that may start later than the first of them."""

import threading
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from prometheus_client.registry import Collector

from ganglion.model.events import Event
from ganglion.model.plan import Defect
from ganglion.worlds.kubernetes.cluster_view.orders import Order
from ganglion.worlds.kubernetes.controller import ClusterController
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint


class Took(Struct, frozen=True):
    """What became of one turn.

    Attributes:
        events: facts and decisions.
        orders: what was to be written.
        seconds: that it took.
        defects: where the engine failed.
    """

    events: Sequence[Event]
    orders: Sequence[Order]
    seconds: float
    defects: Sequence[Defect] = ()


class Audience:
    """Keeps turns for a listener that is not there yet, and passes them on once it is."""

    def __init__(self) -> None:
        self._kept: list[Took] = []
        self._listener: Callable[[Took], None] = self._kept.append

    def turned(
        self, controller: ClusterController, orders: Sequence[Order], seconds: float
    ) -> None:
        """A turn is over; called while no other thread reads the state."""
        events = (*controller.scene.facts.taken, *controller.plan.decisions)
        self._listener(Took(events, orders, seconds, tuple(controller.plan.defects)))

    def seat(self, listener: Callable[[Took], None]) -> None:
        """Send a listener everything so far and from now on; call it between turns."""
        for turn in self._kept:
            listener(turn)
        self._kept.clear()
        self._listener = listener


class Show(Struct, frozen=True):
    """What is to be shown of a scheduler.

    Attributes:
        scheduler: has been started.
        audience: the listeners that get its turns.
        leader: names the process that leads; empty = not known.
        told: set when it is to end.
        ready: called once clients can connect.
        endpoints: its clusters by name.
        identity: of this process.
        tokens_for: audience of the tokens that callers of views need; empty = they need none.
        collectors: further figures for Prometheus.
        unreported: why what is decided reaches no server; empty = it does, or it should not.
    """

    scheduler: Scheduler
    audience: Audience
    leader: Callable[[], str]
    told: threading.Event
    ready: Callable[[], None]
    endpoints: Mapping[str, ApiEndpoint]
    identity: str
    tokens_for: str = ""
    collectors: Sequence[Collector] = ()
    unreported: Callable[[], str] = str
