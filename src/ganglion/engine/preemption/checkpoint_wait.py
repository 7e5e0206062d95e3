"""Whether a trade gets cheaper if it waits for the next checkpoints of its victims."""

from collections.abc import Sequence

from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.search.quota import asked
from ganglion.engine.store.victims import VictimUnit
from ganglion.model.placement import PodPlacement


def better_later(
    asker: GangRecord, units: Sequence[VictimUnit], now: int, most_ms: int, restart_ms: int
) -> int | None:
    """The time, in ms, until which the trade had better wait; None = it had better not.

    Waiting costs the asker's GPUs for as long as it waits, and saves what its victims would
    lose; one that saves before then loses no more than a restart.

    Args:
        asker: the gang that waits.
        units: its victims.
        now: the time in ms.
        most_ms: longest wait.
        restart_ms: time a gang needs to be back at work.
    """
    whole = [unit.record for unit in units if unit.whole]
    saves = {record.gang.id: preemption_cost.next_save(record, now) for record in whole}
    times = sorted({at for at in saves.values() if at is not None and now < at <= now + most_ms})
    best, cheapest = None, sum(preemption_cost.of_gang(record, now, restart_ms) for record in whole)
    for at in times:
        cost = asked(asker).gpu_milli * (at - now)
        for record in whole:
            saved = saves[record.gang.id]
            if saved is not None and saved <= at:
                cost += preemption_cost.gpu_milli(_pods(record)) * (restart_ms + at - saved)
            else:
                cost += preemption_cost.of_gang(record, at, restart_ms)
        if cost < cheapest:
            best, cheapest = at, cost
    return best


def _pods(record: GangRecord) -> tuple[PodPlacement, ...]:
    return record.placement.pods if record.placement else ()
