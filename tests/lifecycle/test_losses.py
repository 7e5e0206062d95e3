"""What the end of an attempt has cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.losses import AttemptSpan, lost_gpu_ms, measured
from ganglion.model.events import GangEnded, Outcome
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.workload import Checkpoint

TWO_AND_A_HALF = Placement(
    (PodPlacement("main", 0, "n", (0, 1), 1000), PodPlacement("main", 1, "n", (2,), 500))
)
EVERY_30 = Checkpoint(interval_ms=30)
WHEN_TOLD = Checkpoint(grace_ms=20)


@pytest.mark.parametrize(
    ("checkpoint", "committed", "told", "lost"),
    [
        (None, 0, 1_085, 100),
        (None, 1_060, 1_085, 40),  # it says what it has saved, without a promise
        (EVERY_30, 0, 1_085, 10),
        (EVERY_30, 0, 0, 10),
        (EVERY_30, 1_060, 1_085, 40),
        (WHEN_TOLD, 0, 1_085, 15),
        (WHEN_TOLD, 0, 0, 100),  # its node was lost, so that it got no order
        (WHEN_TOLD, 1_095, 1_085, 5),
        (WHEN_TOLD, 1_060, 1_085, 40),  # it reports what it saves, and reported nothing
    ],
)
def test_what_is_lost_is_the_work_since_the_last_checkpoint(
    checkpoint: Checkpoint | None, committed: int, told: int, lost: int
) -> None:
    span = AttemptSpan(1_000, committed, told, TWO_AND_A_HALF)
    assert lost_gpu_ms(span, checkpoint, 1_100) == lost * 5 // 2


def test_who_had_to_be_killed_did_not_come_to_save() -> None:
    span = AttemptSpan(1_000, 0, 1_080, TWO_AND_A_HALF)
    assert lost_gpu_ms(span, WHEN_TOLD, 1_100, killed=True) == 100 * 5 // 2


def test_what_never_ran_has_lost_nothing() -> None:
    assert lost_gpu_ms(AttemptSpan(0, 0, 0, TWO_AND_A_HALF), None, 1_100) == 0
    assert lost_gpu_ms(AttemptSpan(), None, 1_100) == 0


@pytest.mark.parametrize(
    ("outcome", "requeue", "lost"),
    [
        (Outcome.PREEMPTED, True, 250),
        (Outcome.PREEMPTED, False, 250),
        (Outcome.NODE_LOST, True, 250),
        (Outcome.FAILED, True, 250),
        (Outcome.FAILED, False, 0),
        (Outcome.SUCCEEDED, True, 0),
        (Outcome.CANCELLED, False, 0),
        (Outcome.TIMED_OUT, False, 0),
        (Outcome.START_FAILED, True, 0),
    ],
)
def test_only_what_was_taken_from_a_gang_that_goes_on_is_lost(
    outcome: Outcome, requeue: bool, lost: int
) -> None:
    event = GangEnded(1_100, "a-1/0", 1, outcome, requeue=requeue)
    found = measured(event, AttemptSpan(1_000, 0, 0, TWO_AND_A_HALF), None)
    assert found.lost_gpu_ms == lost


@given(
    st.integers(0, 10_000),
    st.integers(0, 10_000),
    st.integers(0, 10_000),
    st.sampled_from([None, EVERY_30, WHEN_TOLD]),
    st.booleans(),
)
def test_never_more_is_lost_than_since_the_last_checkpoint_nor_less_than_nothing(
    ran: int, saved: int, told: int, checkpoint: Checkpoint | None, killed: bool
) -> None:
    started, ended = 1_000, 1_000 + ran
    committed = started + saved if saved <= ran else 0
    span = AttemptSpan(started, committed, started + told if told <= ran else 0, TWO_AND_A_HALF)
    found = lost_gpu_ms(span, checkpoint, ended, killed=killed)
    assert 0 <= found <= (ended - max(committed, started)) * 5 // 2
