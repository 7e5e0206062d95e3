"""What the end of an attempt has cost: work that was done and has to be done again.

The figure is computed once, by the component that records the end, and written into the event;
every view adds up what is written.
"""

from msgspec import Struct
from msgspec.structs import replace

from ganglion.model.events import GangEnded, Outcome
from ganglion.model.placement import Placement
from ganglion.model.workload import Checkpoint


class AttemptSpan(Struct):
    """The life of one attempt, as far as its loss depends on it; times in ms.

    Attributes:
        started: when all its pods ran; 0 = they never did.
        committed: up to when its work is known to be safe; 0 = none was reported.
        told: when it was asked to stop; 0 = it was not.
        placement: the pods it had last.
    """

    started: int = 0
    committed: int = 0
    told: int = 0
    placement: Placement | None = None


def measured(event: GangEnded, span: AttemptSpan, checkpoint: Checkpoint | None) -> GangEnded:
    """Set `lost_gpu_ms` of the end of an attempt.

    Work is thrown away where others, a node or a failure took an attempt from a gang that goes
    on, or would. What ends as it should, and what its own user stops, has lost nothing.

    Args:
        event: with `requeue` set.
        span: the attempt.
        checkpoint: its contract.
    """
    taken = event.outcome in (Outcome.PREEMPTED, Outcome.NODE_LOST)
    if not taken and not (event.requeue and event.outcome is Outcome.FAILED):
        return event
    lost = lost_gpu_ms(span, checkpoint, event.at, killed=event.killed)
    return replace(event, lost_gpu_ms=lost)


def lost_gpu_ms(
    span: AttemptSpan, checkpoint: Checkpoint | None, ended: int, *, killed: bool = False
) -> int:
    """GPU-ms of work thrown away with an attempt.

    An attempt that reports its checkpoints has lost what it did since the last one. One that
    reports none is believed to keep its contract: to have saved at the last multiple of its
    interval, or, where it saves only when asked to stop, after the request. An attempt that was
    killed, or was not asked, did not save.

    Args:
        span: the attempt.
        checkpoint: its contract.
        ended: when it was gone, in ms.
        killed: whether it had to be killed.
    """
    if not span.started or span.placement is None:
        return 0
    saved = max(span.started, span.committed)
    lost = max(ended - saved, 0)
    if checkpoint and not span.committed:
        lost = _by_contract(lost, span, checkpoint, ended, killed=killed)
    return span.placement.gpu_milli * lost // 1000


def _by_contract(
    lost: int, span: AttemptSpan, checkpoint: Checkpoint, ended: int, *, killed: bool
) -> int:
    if checkpoint.interval_ms:
        return lost % checkpoint.interval_ms
    saves = span.told and not killed
    return min(lost, max(ended - span.told, 0)) if saves else lost
