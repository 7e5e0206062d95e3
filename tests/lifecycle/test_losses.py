"""What a preemption has cost."""

import pytest

from ganglion.lifecycle.losses import Span, lost_gpu_ms
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.workload import Checkpoint

TWO_AND_A_HALF = Placement(
    (PodPlacement("main", 0, "n", (0, 1), 1000), PodPlacement("main", 1, "n", (2,), 500))
)
EVERY_30 = Checkpoint(interval_ms=30)
WHEN_TOLD = Checkpoint(grace_ms=20)


@pytest.mark.parametrize(
    ("checkpoint", "committed", "lost"),
    [
        (None, 0, 100),
        (None, 1_060, 40),  # it says what it has saved, though nobody promised it
        (EVERY_30, 0, 10),
        (EVERY_30, 1_060, 40),
        (WHEN_TOLD, 0, 20),
        (WHEN_TOLD, 1_095, 5),
    ],
)
def test_what_is_lost_is_the_work_since_the_last_checkpoint(
    checkpoint: Checkpoint | None, committed: int, lost: int
) -> None:
    span = Span(1_000, committed, TWO_AND_A_HALF)
    assert lost_gpu_ms(span, checkpoint, 1_100) == lost * 5 // 2


def test_what_never_ran_has_lost_nothing() -> None:
    assert lost_gpu_ms(Span(0, 0, TWO_AND_A_HALF), None, 1_100) == 0
    assert lost_gpu_ms(Span(), None, 1_100) == 0
