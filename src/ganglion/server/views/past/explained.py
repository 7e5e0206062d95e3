"""What is said of gangs that have ended, and to callers who may not see all work."""

import msgspec

from ganglion.api import reasons
from ganglion.ledger.records import Filed
from ganglion.server.views.workloads import filed_detail


def ended_gangs(filed: Filed) -> list[tuple[int, reasons.Explained]]:
    """Gangs of a workload that has ended, by index."""
    return [
        (
            gang.index,
            reasons.Explained(
                gang=gang.id,
                phase=gang.phase,
                preemptions=gang.preemptions,
                lost_gpu_ms=gang.lost_gpu_ms,
                text=f"{gang.id} does not wait: it has ended",
                waited=gang.waited,
            ),
        )
        for gang in filed_detail(filed).gangs
    ]


def about_itself(told: reasons.Explained) -> reasons.Explained:
    """What an explanation says of the gang alone, without the work that it waits for."""
    why = told.reason
    if why is None:
        return reasons.Explained(
            gang=told.gang, phase=told.phase, text=told.text, waited=told.waited, held=told.held
        )
    return reasons.Explained(
        gang=told.gang,
        phase=told.phase,
        reason=msgspec.structs.replace(why, evidence={}),
        start=told.start,
        end=told.end,
        deadline_ms=told.deadline_ms,
        preemptions=told.preemptions,
        lost_gpu_ms=told.lost_gpu_ms,
        text=f"{told.gang} waits: {why.message}",
        waited=told.waited,
    )
