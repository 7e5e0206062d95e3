"""A rush lasts while urgent writes wait, and as long again, up to a limit."""

from ganglion.worlds.kubernetes.write_rules.bucket import Rush


class _Clock:
    now = 100

    def __call__(self) -> int:
        return self.now


def _rush(clock: _Clock, begin: int, end: int, step: int) -> Rush:
    """One in which something waited from one time to another."""
    made = Rush(5_000, clock)
    for clock.now in (*range(begin, end, step), end):
        made.goes_on()
    return made


def test_a_rush_lasts_as_long_again_as_urgent_writes_waited() -> None:
    clock = _Clock()
    rush = _rush(clock, 10_000, 12_000, 40)
    clock.now = 13_999
    assert rush.lasts()
    clock.now = 14_000
    assert not rush.lasts()


def test_one_wait_alone_is_no_rush_and_a_later_one_begins_another() -> None:
    clock = _Clock()
    rush = Rush(5_000, clock)
    assert not rush.lasts()
    clock.now = 10_000
    rush.goes_on()
    assert not rush.lasts()
    clock.now = 15_001
    rush.goes_on()
    assert not rush.lasts()


def test_a_long_rush_is_over_after_its_limit() -> None:
    clock = _Clock()
    rush = _rush(clock, 10_000, 70_000, 1_000)
    clock.now = 74_999
    assert rush.lasts()
    clock.now = 75_000
    assert not rush.lasts()
