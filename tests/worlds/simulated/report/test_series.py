"""The distribution of waits."""

from ganglion.worlds.simulated.report.series import cdf


def test_the_distribution_of_a_few_values_is_exact() -> None:
    assert cdf([3.0, 1.0, 3.0, 2.0]) == ((1.0, 0.25), (2.0, 0.5), (3.0, 1.0))
    assert cdf([]) == ()
    assert cdf([5.0]) == ((5.0, 1.0),)


def test_many_values_are_thinned_and_keep_both_ends() -> None:
    points = cdf([float(value) for value in range(10_000)])
    assert len(points) <= 401
    assert points[0] == (0.0, 0.0001)
    assert points[-1] == (9_999.0, 1.0)
    assert all(abs(part - (value + 1) / 10_000) < 1e-9 for value, part in points)
