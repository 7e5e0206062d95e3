"""Spare gangs that use up what a queue may use: they leave wherever they are."""

from collections.abc import Iterable

from ganglion.engine.quota import spent
from ganglion.engine.record import GangRecord
from ganglion.engine.state import ClusterState
from ganglion.engine.tentative import Tentative
from ganglion.engine.victims import Unit


def freed(
    state: ClusterState, asker: GangRecord, units: Iterable[Unit], tentative: Tentative
) -> list[Unit]:
    """Take spare gangs until a gang is within the means of all queues above it.

    Args:
        state: the queues and what they use.
        asker: a gang that found no place.
        units: what may be taken, the cheapest first.
        tentative: takes them.

    Returns:
        Those taken; empty where means are not what it lacks.
    """
    taken: list[Unit] = []
    above = set(state.shares.path(asker.gang.queue))
    for unit in units:
        if not spent(state, asker)[0]:
            return taken
        gang = unit.record.gang
        if not unit.is_there:
            continue
        if gang.spare and above & set(state.shares.path(gang.queue)):
            tentative.take(unit)
            taken.append(unit)
    return taken
