"""How often something may be tried."""

from ganglion.server.access.limits import RateLimit, Tries


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
