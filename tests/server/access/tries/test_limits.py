"""How often something may be tried."""

from ganglion.server.access.tries.limits import RateLimit, Tries


def test_a_bucket_empties_and_fills() -> None:
    tries = Tries(RateLimit(tries=3, per_s=60.0))
    assert [tries.wait_s("a", 0.0) for _ in range(4)] == [0, 0, 0, 20]
    assert tries.wait_s("b", 0.0) == 0
    assert tries.wait_s("a", 19.0) == 1
    assert tries.wait_s("a", 20.0) == 0
    assert [tries.wait_s("a", 1_000.0) for _ in range(4)] == [0, 0, 0, 20]


def test_keys_are_bounded() -> None:
    tries = Tries(RateLimit(tries=1, per_s=60.0), most=2)
    assert [tries.wait_s(each, 0.0) for each in "aab"] == [0, 60, 0]
    assert tries.wait_s("a", 0.0) == 60  # it tried last
    assert tries.wait_s("c", 0.0) == 0
    assert tries.wait_s("b", 0.0) == 0  # it was forgotten


def test_what_is_spent_beyond_the_bucket_is_paid_for_by_waiting() -> None:
    tries = Tries(RateLimit(tries=60, per_s=60.0))
    assert tries.wait_s("a", 0.0) == 0
    tries.spend("a", 69.0, 0.0)
    assert (tries.debt_s("a", 0.0), tries.wait_s("a", 0.0), tries.debt_s("b", 0.0)) == (10, 11, 0)
    assert (tries.debt_s("a", 9.5), tries.debt_s("a", 10.0), tries.wait_s("a", 10.0)) == (1, 0, 1)
    assert tries.wait_s("a", 11.0) == 0
