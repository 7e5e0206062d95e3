"""Ranks through changes of size."""

from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.workload import Gang, PodSet
from ganglion.worlds.local.ranks.seats import Table, pod_id, seats


def placed(*indexes: int) -> Placement:
    return Placement(tuple(PodPlacement("main", i, "n", (i,), 1000) for i in indexes))


def gang(procs: int) -> Gang:
    return Gang("a-1/0", "a-1", "q", pod_sets=(PodSet(count=4, min_count=1, procs=procs),))


def kept(table: Table) -> dict[str, tuple[int, int]]:
    return {pod_id(s.pod): (s.node_rank, s.rank) for s in table if s.local_rank == 0}


def ranks(table: Table) -> list[tuple[int, int, int]]:
    return [(seat.pod.index, seat.node_rank, seat.rank) for seat in table]


def test_processes_that_run_keep_their_ranks_and_new_pods_fill_the_gaps() -> None:
    first = seats(gang(2), placed(0, 1, 2))
    assert ranks(first) == [(0, 0, 0), (0, 0, 1), (1, 1, 2), (1, 1, 3), (2, 2, 4), (2, 2, 5)]
    fewer = seats(gang(2), placed(0, 2), kept(first))
    assert ranks(fewer) == [(0, 0, 0), (0, 0, 1), (2, 2, 4), (2, 2, 5)]
    more = seats(gang(2), placed(0, 1, 2, 3), kept(fewer))
    assert ranks(more)[2:4] == [(1, 1, 2), (1, 1, 3)]
    assert ranks(more)[6:] == [(3, 3, 6), (3, 3, 7)]


def test_pods_of_different_sizes_never_share_a_rank() -> None:
    sets = (PodSet("a", 2, min_count=1, procs=3), PodSet("b", 3, min_count=1))
    mixed = Gang("a-1/0", "a-1", "q", pod_sets=sets)
    b = [PodPlacement("b", i, "n") for i in range(3)]
    a = [PodPlacement("a", i, "n") for i in range(2)]
    first = seats(mixed, Placement((a[0], *b[:2])))
    more = seats(mixed, Placement((*a, b[0], b[2])), kept(first))
    assert len({seat.rank for seat in more}) == len(more) == 8
    assert [s.rank for s in more if s.pod == a[0]] == [0, 1, 2]
    assert [s.rank for s in more if s.pod == b[0]] == [3]


def test_a_pod_that_comes_back_elsewhere_is_another_pod() -> None:
    first = seats(gang(1), placed(0, 1))
    elsewhere = Placement((*placed(0).pods, PodPlacement("main", 1, "n", (3,), 1000)))
    assert pod_id(elsewhere.pods[1]) not in kept(first)
