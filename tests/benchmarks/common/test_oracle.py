"""Whom the oracle stops, on cases worked out by hand and in general."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.common.oracle import Held, Waiting, victims

NOW = 100


def held(left: int, *seats: tuple[int, int]) -> Held:
    gpus = sum(count for _, count in seats)
    return Held(NOW + left, gpus, gpus, seats)


def waiting(*jobs: tuple[int, int]) -> Waiting:
    """Jobs as (GPUs, remaining service), numbered from 100."""
    found = Waiting()
    for number, (gpus, rank) in enumerate(jobs, 100):
        found.add(gpus, rank, number)
    return found


def test_nobody_is_stopped_when_there_is_room() -> None:
    assert victims(waiting((4, 10)), {0: held(99, (0, 4))}, [4], NOW) == []


def test_nobody_is_stopped_when_nothing_waits() -> None:
    assert victims(Waiting(), {0: held(99, (0, 8))}, [0], NOW) == []


def test_a_shorter_job_takes_the_place_of_a_longer_one() -> None:
    assert victims(waiting((8, 10)), {0: held(99, (0, 8))}, [0], NOW) == [0]


def test_a_longer_job_waits_for_a_shorter_one() -> None:
    assert victims(waiting((8, 8 * 99 + 1)), {0: held(99, (0, 8))}, [0], NOW) == []


def test_equal_ranks_do_not_stop_each_other() -> None:
    assert victims(waiting((8, 8 * 99)), {0: held(99, (0, 8))}, [0], NOW) == []


def test_the_longest_is_stopped_first() -> None:
    running = {0: held(50, (0, 4)), 1: held(90, (0, 4))}
    assert victims(waiting((4, 10)), running, [0], NOW) == [1]


def test_only_those_in_the_way_are_stopped() -> None:
    # the longest, job 0, frees 4 GPUs on node 0 alone; node 1 empties with job 1
    running = {0: held(90, (0, 4)), 1: held(80, (1, 8)), 2: held(1, (0, 4))}
    assert victims(waiting((8, 100)), running, [0, 0], NOW) == [1]


def test_a_job_of_two_nodes_empties_two_nodes() -> None:
    running = {0: held(90, (0, 8)), 1: held(80, (1, 8)), 2: held(70, (2, 8))}
    assert sorted(victims(waiting((16, 100)), running, [0, 0, 0], NOW)) == [0, 1]


def test_free_nodes_are_used_before_anybody_is_stopped() -> None:
    running = {0: held(90, (0, 8)), 1: held(80, (1, 8))}
    assert victims(waiting((16, 100)), running, [0, 0, 8], NOW) == [0]


def test_a_large_job_that_cannot_be_helped_does_not_hide_a_small_one() -> None:
    # sixteen GPUs cannot be had from the one that is worse, eight can
    running = {0: held(1, (0, 8)), 1: held(90, (1, 8))}
    assert victims(waiting((16, 100), (8, 200)), running, [0, 0], NOW) == [1]


def test_one_victim_makes_room_for_several() -> None:
    running = {0: held(90, (0, 8)), 1: held(80, (1, 8))}
    assert victims(waiting((4, 10), (4, 11)), running, [0, 0], NOW) == [0]


def test_who_was_stopped_may_stop_a_worse_one_in_turn() -> None:
    # node 1 holds a better job, so node 0 is emptied; its 1-GPU job then beats job 2
    running = {
        0: held(50, (0, 1)),
        1: held(40, (0, 7)),
        2: held(90, (1, 4)),
        3: held(1, (1, 4)),
    }
    assert sorted(victims(waiting((8, 5)), running, [0, 0], NOW)) == [0, 1, 2]


SIZES = st.sampled_from([1, 2, 4, 8])


@given(st.lists(st.tuples(SIZES, st.integers(1, 50)), max_size=8), st.integers(1, 50), SIZES)
def test_a_victim_is_always_worse_than_who_waits(
    running: list[tuple[int, int]], left: int, gpus: int
) -> None:
    free, placed = [8, 8, 8], {}
    for number, (size, remaining) in enumerate(running):
        node = next((n for n, room in enumerate(free) if room >= size), None)
        if node is not None:
            free[node] -= size
            placed[number] = held(remaining, (node, size))
    stopped = victims(waiting((gpus, left * gpus)), placed, free, NOW)
    assert all(placed[number].rank(NOW) > left * gpus for number in stopped)
    if stopped:
        room = list(free)
        for number in stopped:
            for node, count in placed[number].seats:
                room[node] += count
        assert max(free) < gpus <= max(room)
