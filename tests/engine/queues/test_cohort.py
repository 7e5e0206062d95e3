"""What queues own, lend and borrow, as Kueue counts it."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.queues.cohort import Borrowing, cells_of, usages_of
from ganglion.engine.queues.usage import Shares
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, Usage

CELL = ("f", "gpu_milli")


def queue(
    name: str,
    parent: str = "",
    quota: int | None = 0,
    limit: int | None = None,
    lend: int | None = None,
) -> Queue:
    def amounts(number: int | None) -> dict[str, Amount]:
        return {} if number is None else {"f": Amount(number)}

    return Queue(name, parent, amounts(quota), amounts(limit), amounts(lend))


def tree(*queues: Queue, **used: int) -> tuple[Shares, Borrowing]:
    shares = Shares()
    for each in queues:
        shares.put(each)
    for name, number in used.items():
        shares.charge(name, "f", Usage(number), True, 1)
    return shares, Borrowing(shares)


def test_a_queue_may_use_its_quota_and_what_others_leave() -> None:
    _, borrowing = tree(queue("c", quota=10), queue("a", "c", 4), queue("b", "c", 6), b=2)

    assert borrowing.available("a", CELL) == 8
    assert borrowing.potential("a", CELL) == 10


def test_what_is_not_lent_stays_with_its_owner() -> None:
    _, borrowing = tree(queue("c", quota=10), queue("a", "c", 4), queue("b", "c", 6, lend=1), b=2)

    assert borrowing.guaranteed("b", CELL) == 5
    assert borrowing.available("a", CELL) == 5
    assert borrowing.available("b", CELL) == 8


def test_a_limit_is_what_may_be_borrowed_on_top_of_quota() -> None:
    _, borrowing = tree(queue("c", quota=10), queue("a", "c", 4, limit=6), queue("b", "c", 6))

    assert borrowing.available("a", CELL) == borrowing.potential("a", CELL) == 6


def test_lending_limits_of_cohorts_hold_for_all_queues_under_them() -> None:
    _, borrowing = tree(
        queue("top", quota=10),
        queue("left", "top", 8, lend=3),
        queue("l", "left", 8),
        queue("right", "top", 2),
        queue("r", "right", 2),
    )

    assert borrowing.available("r", CELL) == 5
    assert borrowing.available("l", CELL) == 10


def test_the_reach_is_the_lowest_subtree_that_owns_enough() -> None:
    _, borrowing = tree(
        queue("top", quota=12),
        queue("mid", "top", 6),
        queue("a", "mid", 2),
        queue("b", "mid", 4),
        queue("far", "top", 6),
    )

    assert [borrowing.reach("a", CELL, amount) for amount in (2, 6, 7, 99)] == [
        (0, True),
        (1, True),
        (2, False),
        (2, False),
    ]


def test_quota_of_zero_is_listed_and_no_quota_is_not() -> None:
    _, borrowing = tree(queue("a", quota=0), queue("b", quota=None))

    assert borrowing.lists("a", CELL)
    assert not borrowing.lists("b", CELL)


def test_amounts_by_cell_and_by_flavor_are_the_same() -> None:
    charged = (("f", Usage(1000, 20)), ("g", Usage(0, 5)))

    assert usages_of(cells_of(charged)) == charged


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=2),
    st.data(),
)
def test_whoever_starts_within_what_is_available_takes_nothing_that_others_keep(
    leaves: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    total = sum(quota for quota, _, _ in leaves)
    shares, borrowing = tree(
        queue("c", quota=total),
        *(queue(f"q{i}", "c", quota, lend=lend) for i, (quota, lend, _) in enumerate(leaves)),
    )
    for _ in range(20):
        name = f"q{data.draw(st.integers(0, len(leaves) - 1))}"
        more = data.draw(st.integers(1, 5))
        if more <= borrowing.available(name, CELL):
            shares.charge(name, "f", Usage(more), True, 1)
        used = shares.usage["c"].get("f", Usage()).gpu_milli
        kept = sum(borrowing.local(f"q{i}", CELL) for i in range(len(leaves)))
        assert used + kept <= total
        for i in range(len(leaves)):
            assert borrowing.available(f"q{i}", CELL) <= borrowing.potential(f"q{i}", CELL)
