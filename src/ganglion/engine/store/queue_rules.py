"""What a queue lets its gangs do, and what holds for those of one kind."""

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.holdings import Holdings
from ganglion.engine.topology.pod_shape import Shape, shapes_of
from ganglion.model.kinds import KindRules, rules_of_kind
from ganglion.model.queue import Preemption
from ganglion.model.workload import Gang, Kind


def rules_for(state: Holdings, queue: str) -> Preemption:
    """What the gangs of a queue may do to others."""
    return state.queues[queue].preemption or state.policy.preemption


def kind_rules(state: Holdings, gang: Gang) -> KindRules:
    """Rules for gangs of this kind in this queue."""
    return rules_of_kind(gang.kind, state.queues[gang.queue].kinds, state.policy.kinds)


def rules_to_come(state: Holdings, queue: str, kind: Kind) -> KindRules:
    """Rules for what is to be submitted; those of the policy where the queue is unknown."""
    known = state.queues.get(queue)
    return rules_of_kind(kind, known.kinds if known else {}, state.policy.kinds)


def protected_ms(state: Holdings, gang: Gang) -> int:
    """Run time during which a gang is no victim."""
    own = kind_rules(state, gang).protected_ms
    return rules_for(state, gang.queue).protected_ms if own is None else own


def shapes_for(state: Holdings, gang: Gang) -> tuple[Shape, ...]:
    """The shape of each pod set of a gang."""
    return shapes_of(gang, state.plugins.filters, kind_rules(state, gang).scores)


def reshape(state: Holdings, record: GangRecord) -> None:
    """Filter plugins or rules of its kind judge a waiting gang differently than before."""
    record.shapes = shapes_for(state, record.gang)
    state.wait(record)
