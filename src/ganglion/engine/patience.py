"""Whether a trade gets cheaper if it waits for the next checkpoints of its victims."""

from collections.abc import Sequence

from ganglion.engine import price
from ganglion.engine.quota import asked
from ganglion.engine.record import GangRecord
from ganglion.engine.victims import Unit
from ganglion.model.placement import PodPlacement


def better_later(
    asker: GangRecord, units: Sequence[Unit], now: int, most_ms: int, restart_ms: int
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
    saves = {record.gang.id: price.next_save(record, now) for record in whole}
    times = sorted({at for at in saves.values() if at is not None and now < at <= now + most_ms})
    best, cheapest = None, sum(price.of_gang(record, now, restart_ms) for record in whole)
    for at in times:
        cost = asked(asker).gpu_milli * (at - now)
        for record in whole:
            saved = saves[record.gang.id]
            if saved is not None and saved <= at:
                cost += price.gpu_milli(_pods(record)) * (restart_ms + at - saved)
            else:
                cost += price.of_gang(record, at, restart_ms)
        if cost < cheapest:
            best, cheapest = at, cost
    return best


def _pods(record: GangRecord) -> tuple[PodPlacement, ...]:
    return record.placement.pods if record.placement else ()
