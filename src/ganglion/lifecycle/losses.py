"""What stopping a gang for another one has cost it."""

from msgspec import Struct

from ganglion.model.placement import Placement
from ganglion.model.workload import Checkpoint


class Span(Struct):
    """The life of one attempt, as far as its loss depends on it; times in ms.

    Attributes:
        started: when all its pods ran; 0 = they never did.
        committed: up to when its work is known to be safe; 0 = none was reported.
        placement: the pods it had last.
    """

    started: int = 0
    committed: int = 0
    placement: Placement | None = None


def lost_gpu_ms(span: Span, checkpoint: Checkpoint | None, ended: int) -> int:
    """GPU-ms of work thrown away when the attempt was stopped.

    Work counts as safe as the engine counts it when it sets a price: up to the last checkpoint
    that was reported, else up to the last multiple of the contract's interval; a gang that
    saves only when told has lost no more than its grace.

    Args:
        span: the attempt.
        checkpoint: its contract.
        ended: when it was gone.
    """
    if not span.started or span.placement is None:
        return 0
    saved = max(span.started, span.committed)
    lost = max(ended - saved, 0)
    if checkpoint and not checkpoint.interval_ms:
        lost = min(lost, checkpoint.grace_ms)
    elif checkpoint and not span.committed:
        lost %= checkpoint.interval_ms
    milli = sum(len(pod.devices) * pod.milli for pod in span.placement.pods)
    return milli * lost // 1000
