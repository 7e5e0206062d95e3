"""Dominant shares of queues that borrow."""

from ganglion.engine.queues.cohort import Borrowing
from ganglion.engine.queues.dominant_share import NONE, Dominant
from ganglion.engine.queues.usage import Shares
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, Usage


def dominant(weight: int = 1, used: Usage | None = None) -> Dominant:
    shares = Shares()
    shares.put(Queue("c", quota={"f": Amount(10, 100)}))
    shares.put(Queue("a", "c", {"f": Amount(2, 50)}, over_quota_weight=weight))
    shares.put(Queue("b", "c", {"f": Amount(8, 50)}))
    shares.charge("a", "f", used or Usage(), True, 1)
    return Dominant(shares, Borrowing(shares))


def test_use_within_quota_is_no_share() -> None:
    assert dominant(used=Usage(2, 50)).share("a") == NONE


def test_the_resource_borrowed_most_of_counts() -> None:
    by_gpu = dominant(used=Usage(6, 60)).share("a")
    by_cpu = dominant(used=Usage(3, 90)).share("a")

    assert by_gpu == by_cpu == dominant(used=Usage(6)).share("a")


def test_weight_divides_a_share() -> None:
    assert dominant(2, Usage(6)).share("a") == dominant(1, Usage(4)).share("a")


def test_at_weight_zero_any_borrowing_is_more_than_any_share() -> None:
    assert dominant(0, Usage(3)).share("a") > dominant(1, Usage(10)).share("a")
    assert dominant(0, Usage(2)).share("a") == NONE


def test_shares_that_differ_little_differ() -> None:
    assert dominant(1000, Usage(6)).share("a") > dominant(1001, Usage(6)).share("a")


def test_a_root_borrows_from_nobody() -> None:
    assert dominant(used=Usage(99)).share("c") == NONE
