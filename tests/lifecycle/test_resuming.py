"""Which checkpoints of a gang are remembered."""

from ganglion.lifecycle.resuming import MOST, remembered
from ganglion.model.events import CheckpointCommitted
from ganglion.model.plan import SavePoint


def after(*saves: tuple[int, int, str]) -> tuple[SavePoint, ...]:
    known: tuple[SavePoint, ...] = ()
    for at, step, path in saves:
        known = remembered(known, CheckpointCommitted(at, "a-1/0", 2, step, path))
    return known


def test_the_newest_goes_first() -> None:
    assert after((10, 1, "/ck/1"), (20, 2, "/ck/2")) == (
        SavePoint(20, 2, "/ck/2", 2),
        SavePoint(10, 1, "/ck/1", 2),
    )


def test_a_path_that_is_written_again_holds_the_newer_state_only() -> None:
    found = after((10, 1, "/ck/last"), (20, 2, "/ck/2"), (30, 3, "/ck/last"))
    assert [(each.step, each.path) for each in found] == [(3, "/ck/last"), (2, "/ck/2")]


def test_one_that_says_nothing_of_itself_hides_none_that_does() -> None:
    assert after((10, 1, "/ck/1"), (20, 0, "")) == (SavePoint(10, 1, "/ck/1", 2),)


def test_steps_without_paths_are_all_remembered() -> None:
    assert [each.step for each in after((10, 1, ""), (20, 2, ""))] == [2, 1]


def test_only_so_many_are_kept() -> None:
    found = after(*((step, step, f"/ck/{step}") for step in range(1, 100)))
    assert [each.step for each in found] == list(range(99, 99 - MOST, -1))
