"""What a queue lets its gangs do, and what holds for those of one kind."""

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.store import Store
from ganglion.engine.topology.pod_shape import Shape, shapes_of
from ganglion.model.kinds import KindRules, rules_of_kind
from ganglion.model.queue import Preemption
from ganglion.model.workload import Gang, Kind


def rules_for(state: Store, queue: str) -> Preemption:
    """What the gangs of a queue may do to others."""
    return state.queues.by_name[queue].preemption or state.config.policy.preemption


def kind_rules(state: Store, gang: Gang) -> KindRules:
    """Rules for gangs of this kind in this queue."""
    return rules_of_kind(
        gang.kind, state.queues.by_name[gang.queue].kinds, state.config.policy.kinds
    )


def rules_to_come(state: Store, queue: str, kind: Kind) -> KindRules:
    """Rules for what is to be submitted; those of the policy where the queue is unknown."""
    known = state.queues.by_name.get(queue)
    return rules_of_kind(kind, known.kinds if known else {}, state.config.policy.kinds)


def protected_ms(state: Store, gang: Gang) -> int:
    """Run time during which a gang is no victim."""
    own = kind_rules(state, gang).protected_ms
    return rules_for(state, gang.queue).protected_ms if own is None else own


def shapes_for(state: Store, gang: Gang) -> tuple[Shape, ...]:
    """The shape of each pod set of a gang."""
    return shapes_of(gang, state.config.plugins.filters, kind_rules(state, gang).scores)


def reshape(state: Store, record: GangRecord) -> None:
    """Filter plugins or rules of its kind judge a waiting gang differently than before."""
    record.shapes = shapes_for(state, record.gang)
    state.gangs.wait(record)
