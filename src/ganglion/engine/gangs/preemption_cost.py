"""What stopping a gang costs: GPU time, in thousandths of GPUs x ms.

The whole gang pays, as losing one rank stops them all: its GPUs times the work since its
last committed checkpoint and the time until it is back at work.
"""

from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.model.placement import PodPlacement

LATE_MS = 60_000
"""How much later than by its contract a checkpoint may be over, beside 1/16 of the interval."""

GAIN_MS = 3_600_000
"""A gang that runs on for so long, or for an unknown time, costs what it loses."""

MOST_TIMES = 10
"""Most by which an end that is near raises the price of a gang."""


def gpu_milli(pods: tuple[PodPlacement, ...]) -> int:
    """Thousandths of GPUs of some pods."""
    total = 0
    for pod in pods:
        total += len(pod.devices) * pod.milli
    return total


def attained(record: GangRecord, now: int) -> int:
    """Service of a gang over all attempts, in thousandths of GPUs x ms.

    The present attempt counts with the size it has now.
    """
    if record.phase not in SETTLED or not record.started or not record.placement:
        return record.attained
    return record.attained + gpu_milli(record.placement.pods) * max(now - record.started, 0)


def saved_at(record: GangRecord, now: int) -> int:
    """Up to when a running gang's work is safe, in ms.

    As reported, else by its contract: the last multiple of its interval since it started. A
    checkpoint that was not reported counts only once it is certainly over: the cheapest victims
    would else be those that are just about to save.
    """
    contract = record.gang.checkpoint
    saved = max(record.committed_at, record.started)
    if contract and contract.interval_ms and not record.committed_at:
        ran = now - record.started - LATE_MS - (contract.interval_ms >> 4)
        saved += max(ran // contract.interval_ms, 0) * contract.interval_ms
    return saved


def next_save(record: GangRecord, now: int) -> int | None:
    """When the next checkpoint is certainly over, in ms; None = unknown."""
    contract = record.gang.checkpoint
    if not contract or not contract.interval_ms or not record.started:
        return None
    late = LATE_MS + (contract.interval_ms >> 4)
    return saved_at(record, now) + contract.interval_ms + late


def unsaved_ms(record: GangRecord, now: int) -> int:
    """Work of a gang that would be lost if it stopped now, in ms of its own time.

    A gang that saves whenever it is asked to stop loses no more than its grace.
    """
    if not record.started:
        return 0
    lost = max(now - saved_at(record, now), 0)
    contract = record.gang.checkpoint
    if contract and not contract.interval_ms:
        return min(lost, contract.grace_ms)
    return lost


def of_gang(record: GangRecord, now: int, restart_ms: int) -> int:
    """The price of stopping a whole gang."""
    pods = record.placement.pods if record.placement else ()
    return gpu_milli(pods) * (unsaved_ms(record, now) + restart_ms)


def of_victim(record: GangRecord, now: int, restart_ms: int) -> int:
    """The price of a whole gang beside that of others: more, the sooner it ends by itself.

    Stopping a gang gains no more than the time that it would still run. What it loses counts
    per hour gained, so that a gang that must have ended in six minutes costs ten times as much
    as one that runs for an hour or more. Only a declared run time or limit says when that is.
    """
    lost, declared = of_gang(record, now, restart_ms), record.gang.expected_ms
    bound = declared or record.gang.time_limit_ms
    left = record.started + bound - now
    if not bound or not record.started or not 0 < left < GAIN_MS:
        return lost
    return lost * GAIN_MS // max(left, GAIN_MS // MOST_TIMES)


def of_surplus(pods: tuple[PodPlacement, ...], restart_ms: int) -> int:
    """The price of taking pods from an elastic gang that goes on without them."""
    return gpu_milli(pods) * restart_ms
