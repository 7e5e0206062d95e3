"""Roll-outs of the queue: nothing is over-allocated, and one more ahead never helps a copy."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.forecast.free_pool import FreePool, Need
from ganglion.engine.forecast.rollout import QueueRoom, Rollout, Runner, Waiter
from ganglion.engine.runtimes.expected_ends import NEVER
from ganglion.model.fleet.levels import Level

SIZE = 8


def _need(milli: int, pods: int = 1) -> Need:
    return Need(("f",), ((milli, pods),), milli * pods)


def _waiter(number: int, need: Need, length: int, bounds: tuple[str, ...] = ()) -> Waiter:
    key = (number, 0, 0, f"g{number:03d}")
    return Waiter(key[-1], "q", (0, 0, key), need, (length,), True, bounds)


def _ledger(room: dict[str, int] | None = None) -> QueueRoom:
    return QueueRoom({}, {}, {}, False, room or {})


FIRST = Runner((1,), "first", "q", True, [], ())
"""Nothing starts before something ends."""


def _play(nodes: int, runners: list[Runner], waiters: list[Waiter]) -> Rollout:
    used = [sum(m for r in runners for n, m in r.taken if n == node) for node in range(nodes)]
    pool = FreePool([("f", SIZE - each) for each in used])
    draw = Rollout(0, 0, pool, runners, waiters, _ledger(), frozenset())
    draw.until([each.gang for each in waiters])
    return draw


def _runner(number: int, end: int, node: int, milli: int) -> Runner:
    return Runner((end,), f"r{number}", "q", True, [(node, milli)], ())


gangs = st.lists(
    st.tuples(st.integers(1, SIZE), st.integers(1, 3), st.integers(1, 50)), max_size=20
)


@given(gangs, st.integers(3, 5))
def test_a_roll_out_starts_all_and_over_allocates_nothing(
    asked: list[tuple[int, int, int]], nodes: int
) -> None:
    waiters = [_waiter(n, _need(m, pods), length) for n, (m, pods, length) in enumerate(asked)]
    draw = _play(nodes, [FIRST], waiters)
    assert set(draw.starts) == {each.gang for each in waiters}
    for at in {start.at for start in draw.starts.values()}:
        running = [
            each.need.total
            for each in waiters
            if draw.starts[each.gang].at <= at < draw.starts[each.gang].at + each.lengths[0]
        ]
        assert sum(running) <= nodes * SIZE


@given(gangs, st.integers(1, 50), st.integers(1, 50))
def test_equals_start_in_order(asked: list[tuple[int, int, int]], end: int, length: int) -> None:
    runner = _runner(0, end, 0, SIZE)
    waiters = [_waiter(n, _need(m), length) for n, (m, _, _) in enumerate(asked)]
    starts = _play(1, [runner], waiters).starts
    by_size: dict[int, list[int]] = {}
    for each in waiters:
        by_size.setdefault(each.need.total, []).append(starts[each.gang].at)
    assert all(times == sorted(times) for times in by_size.values())
    assert all(times[0] >= end for times in by_size.values())


@given(st.lists(st.tuples(st.integers(1, SIZE), st.integers(1, 4)), max_size=12))
def test_a_pool_gives_back_what_it_took(asked: list[tuple[int, int]]) -> None:
    pool, held = FreePool([("f", SIZE), ("f", SIZE), ("other", SIZE)]), []
    for milli, pods in asked:
        taken = pool.take(_need(milli, pods))
        if taken is not None:
            assert all(node < 2 for node, _ in taken)
            assert sum(part for _, part in taken) == milli * pods
            held.append(taken)
    assert pool.left == 3 * SIZE - sum(part for taken in held for _, part in taken)
    for taken in held:
        pool.give(taken)
    assert pool.take(_need(SIZE, 2)) is not None


def test_what_never_ends_leaves_a_roll_out_stuck() -> None:
    draw = _play(1, [_runner(0, NEVER, 0, SIZE)], [_waiter(0, _need(1), 5)])
    assert draw.is_stuck
    assert not draw.starts


def test_a_bound_delays_only_those_that_it_binds() -> None:
    waiters = [_waiter(n, _need(4), 10, ("limit",) if n < 2 else ()) for n in range(3)]
    pool = FreePool([("f", 2 * SIZE)])
    draw = Rollout(0, 0, pool, [FIRST], waiters, _ledger({"limit": 4}), frozenset())
    draw.until([each.gang for each in waiters])
    assert [draw.starts[each.gang].at for each in waiters] == [1, 11, 1]


def test_nobody_overtakes_in_a_strict_queue() -> None:
    waiters = [_waiter(0, _need(SIZE), 10), _waiter(1, _need(1), 10)]
    times = {}
    for strict in (frozenset[str](), frozenset({"q"})):
        pool = FreePool([("f", 4)])
        runner = _runner(0, 7, 0, 4)
        draw = Rollout(0, 0, pool, [FIRST, runner], waiters, _ledger(), strict)
        draw.until(["g000", "g001"])
        times[bool(strict)] = draw.starts["g001"].at
    assert times == {False: 1, True: 17}


def test_all_pods_stay_within_one_domain() -> None:
    pool = FreePool([("f", 4), ("f", 8), ("f", 8), ("f", 8)], {Level.RACK: [[0, 1], [2, 3]]})
    need = Need(("f",), ((8, 2),), 16, Level.RACK)
    assert pool.take(need) == [(2, 8), (3, 8)]
    assert pool.take(need) is None
    assert pool.left == 12


def test_a_gang_that_waited_long_enough_is_not_overtaken_by_what_may_run_too_long() -> None:
    """As the scheduler has it: a place is reserved by time limits, and short ones pass."""
    runners = [
        _runner(number, end, 0, 4)._replace(latest=100) for number, end in enumerate((10, 20))
    ]
    wide = _waiter(0, _need(8), 5)._replace(limit=5, due=0)
    long, short = (
        _waiter(number, _need(4), 30)._replace(limit=limit)
        for number, limit in ((1, 1000), (2, 50))
    )
    starts = {gang: start.at for gang, start in _play(1, runners, [wide, long]).starts.items()}
    assert starts == {"g000": 20, "g001": 25}
    starts = {gang: start.at for gang, start in _play(1, runners, [wide, short]).starts.items()}
    assert starts == {"g002": 10, "g000": 40}
    later = wide._replace(due=1000)
    starts = {gang: start.at for gang, start in _play(1, runners, [later, long]).starts.items()}
    assert starts == {"g001": 10, "g000": 40}


def test_without_time_limits_nothing_is_reserved() -> None:
    runners = [_runner(number, end, 0, 4) for number, end in enumerate((10, 20))]
    wide, other = _waiter(0, _need(8), 5)._replace(due=0), _waiter(1, _need(4), 30)
    starts = {gang: start.at for gang, start in _play(1, runners, [wide, other]).starts.items()}
    assert starts == {"g001": 10, "g000": 40}


def test_a_gang_that_waits_for_a_limit_keeps_nobody_from_passing() -> None:
    runners = [
        _runner(number, end, 0, 4)._replace(latest=100) for number, end in enumerate((10, 20))
    ]
    wide = _waiter(0, _need(8), 5, ("limit",))._replace(limit=5, due=0)
    other = _waiter(1, _need(4), 30)._replace(limit=1000)
    draw = Rollout(
        0, 0, FreePool([("f", 0)]), runners, [wide, other], _ledger({"limit": 4}), frozenset()
    )
    draw.until(["g001"])
    assert draw.starts["g001"].at == 10
