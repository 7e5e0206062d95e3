"""What happens to services; the engine takes no notice of it."""

from ganglion.model.causes import Cause
from ganglion.model.events.base import EventBase
from ganglion.model.workload import ResolvedModel


class ServiceScaled(EventBase, frozen=True, tag="service_scaled"):
    """A service is to have another number of replicas; their gangs come and go by own events.

    `draining` are all gangs that get no more requests from now on, and stop once they have
    answered those they have. `held_until`: until then, in ms, the number stays whatever load
    asks for, as a person gave it; 0 = it does not, -1 = what was given before holds.
    """

    workload: str
    before: int
    after: int
    cause: Cause
    draining: tuple[str, ...] = ()
    held_until: int = -1


class ServiceLearnt(EventBase, frozen=True, tag="service_learnt"):
    """What autoscaling has learnt of a service, so that a server that starts knows it.

    Attributes:
        workload: the service.
        started_ms: how long its last replicas took from decision to ready, oldest first.
        spare_micro: square roots of the load that are kept beside it, in millionths; 0 = unknown.
        weight: thousandths of requests of the last day, by which `spare_micro` changes.
        done: thousandths of requests that were done lately; 0 = unknown.
        ran: how long they ran together, in thousandths of ms.
    """

    workload: str
    started_ms: tuple[int, ...] = ()
    spare_micro: int = 0
    weight: int = 0
    done: int = 0
    ran: int = 0


class ModelUpdated(EventBase, frozen=True, tag="model_updated"):
    """A service has another model from now on; its replicas are replaced by new ones.

    `surge`: replicas beyond those wanted that may run meanwhile; 0 = one goes before another comes.
    """

    workload: str
    before: ResolvedModel
    after: ResolvedModel
    surge: int
    cause: Cause
