"""The ring sums the same on every rank, over real sockets."""

import numpy as np
import pytest
from tests.demo.rings import together

from ganglion.demo.ring import Ring


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize("length", [1, 5, 1_000, 100_003])
def test_all_reduce_is_the_sum_over_all_ranks(size: int, length: int) -> None:
    given = [np.random.default_rng(rank).normal(size=length) for rank in range(size)]
    sums = together(size, lambda ring: ring.all_reduce(given[ring.rank]))
    np.testing.assert_allclose(sums[0], np.sum(given, axis=0), rtol=1e-12, atol=1e-12)


def test_every_rank_ends_with_the_same_bits() -> None:
    # Sums of numbers of such different size depend on the order in which they are added.
    scales = [1e16, 1.0, -1e16, 3.0, 1e-3]
    sums = together(5, lambda ring: ring.all_reduce(np.full(17, scales[ring.rank])).tobytes())
    assert len(set(sums)) == 1


def test_a_matrix_keeps_its_shape() -> None:
    sums = together(3, lambda ring: ring.all_reduce(np.ones((4, 5))))
    assert all((each == np.full((4, 5), 3.0)).all() for each in sums)


def test_broadcast_gives_the_values_of_rank_0_to_all() -> None:
    got = together(4, lambda ring: ring.broadcast(np.array([ring.rank + 7.0])))
    assert [each.tolist() for each in got] == [[7.0]] * 4


def test_all_gather_gives_the_values_by_rank() -> None:
    got = together(3, lambda ring: ring.all_gather(10.0 * ring.rank).tolist())
    assert got == [[0.0, 10.0, 20.0]] * 3


def test_a_rank_that_leaves_fails_the_others_at_once() -> None:
    def work(ring: Ring) -> str:
        if ring.rank == 1:
            return "left"
        try:
            ring.all_reduce(np.ones(4))
        except OSError as error:
            return type(error).__name__
        return "went on"

    assert "went on" not in together(3, work)


def test_the_environment_describes_the_ring() -> None:
    with Ring.from_env({"RANK": "0", "WORLD_SIZE": "1"}) as ring:
        assert (ring.rank, ring.size, ring.all_reduce(np.ones(2)).tolist()) == (0, 1, [1.0, 1.0])
