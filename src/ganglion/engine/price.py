"""What stopping a gang costs: GPU time, in thousandths of GPUs x ms.

The whole gang pays, as losing one rank stops them all: its GPUs times the work since its
last committed checkpoint and the time until it is back at work.
"""

from ganglion.engine.record import SETTLED, GangRecord
from ganglion.model.placement import PodPlacement

LATE_MS = 60_000
"""How much later than by its contract a checkpoint may be over, beside 1/16 of the interval."""


def gpu_milli(pods: tuple[PodPlacement, ...]) -> int:
    """Thousandths of GPUs of some pods."""
    return sum(len(pod.devices) * pod.milli for pod in pods)


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
    checkpoint that nobody reported counts only once it is certainly over: the cheapest victims
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

    A gang that saves whenever it is told to stop loses no more than its grace.
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


def of_surplus(pods: tuple[PodPlacement, ...], restart_ms: int) -> int:
    """The price of taking pods from an elastic gang that goes on without them."""
    return gpu_milli(pods) * restart_ms
