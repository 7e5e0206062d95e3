"""Which gangs wait as equals: which of them goes first makes no difference to the others."""

from collections.abc import Callable, Hashable

from ganglion.engine.gangs.pending import Asked
from ganglion.engine.gangs.rank import gpus_of
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.plugins.protocols import Equivalence, Plugins
from ganglion.model.workload import Gang

NEVER_LENT_TO = -1
"""Of gangs that nothing is lent to, in place of the time in which they leave."""


def form(record: GangRecord) -> tuple[Hashable, ...]:
    """What a gang shares with its equals, as far as it alone says.

    While any gang sleeps, they also have `leaves_within` in common.
    """
    gang = record.gang
    return (
        gang.queue,
        gang.priority,
        record.shapes,
        gang.pod_sets,
        gang.topology,
        gang.preemptible,
        gang.kind,
        gang.spreads,
        gang.workload if gang.parallel or gang.floor else "",
        gang.time_limit_ms,
    )


def keys_of(plugins: Plugins) -> tuple[Callable[[Gang], Hashable], ...]:
    """What tells gangs apart for the plugins that may forbid a start, or a stop for its sake."""
    vetoes = (*plugins.permits, *plugins.preempts)
    return tuple(each.gang_key if isinstance(each, Equivalence) else _itself for each in vetoes)


def _itself(gang: Gang) -> Hashable:
    return gang.id


def leaves_within(gang: Gang) -> int:
    """How long a gang may take to save and leave, in ms; -1 = it is not to be counted on.

    Its whole workload must be free to go, its own floor included.
    """
    lendable = gang.preemptible and not gang.floor and gang.checkpoint is not None
    return gang.checkpoint.grace_ms if lendable and gang.checkpoint else NEVER_LENT_TO


def asked_by(gang: Gang) -> Asked:
    """GPU types and thousandths of GPUs of a gang at its largest; a spare one claims nothing."""
    if gang.spare:
        return (), 0
    gpus = (each.request.gpu for each in gang.pod_sets)
    return next((gpu.types for gpu in gpus if gpu.count), ()), gpus_of(gang)
