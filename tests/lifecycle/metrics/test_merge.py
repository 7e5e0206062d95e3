"""Pages of replicas add up; who is silent or lies does not make the load look smaller."""

from math import inf

import pytest

from ganglion.lifecycle.metrics.merge import Pages, merge, quantile
from ganglion.lifecycle.metrics.page import MetricsPage
from ganglion.model.behaviour import Signal

WAITING, KV, TOKENS, TTFT = Signal.WAITING, Signal.KV_CACHE, Signal.TOKENS, Signal.TTFT


def test_requests_add_up_and_shares_are_averaged() -> None:
    now = Pages(
        0, {"a": MetricsPage({WAITING: 3, KV: 0.2}), "b": MetricsPage({WAITING: 4, KV: 0.6})}
    )
    assert merge(now, None, ["a", "b"]).values == {WAITING: 7_000, KV: 400}


def test_the_silent_count_as_the_mean_of_the_others() -> None:
    now = Pages(
        0, {"a": MetricsPage({WAITING: 3}), "b": MetricsPage({WAITING: 5})}, {"c": "no answer"}
    )
    found = merge(now, None, ["a", "b", "c"])
    assert (found.values, found.lost) == ({WAITING: 12_000}, "c: no answer")


def test_when_most_are_silent_nothing_is_known() -> None:
    now = Pages(0, {"a": MetricsPage({WAITING: 3})}, {"b": "no answer", "c": "no answer"})
    found = merge(now, None, ["a", "b", "c"])
    assert (found.values, found.lost) == (None, "b: no answer and 1 more")


def test_who_lies_counts_as_silent() -> None:
    now = Pages(0, {"a": MetricsPage({WAITING: 3}), "b": MetricsPage(trouble="waiting is nan")})
    found = merge(now, None, ["a", "b"])
    assert (found.values, found.wrong) == ({WAITING: 6_000}, "b: waiting is nan")


def test_replicas_that_are_not_ready_count_nowhere() -> None:
    now = Pages(
        0, {"a": MetricsPage({WAITING: 3}), "old": MetricsPage({WAITING: 90})}, {"new": "refused"}
    )
    found = merge(now, None, ["a"])
    assert (found.values, found.lost) == ({WAITING: 3_000}, "")


def test_tokens_are_a_rate() -> None:
    before = Pages(
        0, {"a": MetricsPage(counters={TOKENS: 100}), "b": MetricsPage(counters={TOKENS: 0})}
    )
    now = Pages(
        10_000, {"a": MetricsPage(counters={TOKENS: 600}), "b": MetricsPage(counters={TOKENS: 700})}
    )
    assert merge(now, before, ["a", "b"]).values == {TOKENS: 120_000}


def test_a_replica_that_began_anew_does_not_count_backwards() -> None:
    before = Pages(
        0, {"a": MetricsPage(counters={TOKENS: 900}), "b": MetricsPage(counters={TOKENS: 0})}
    )
    now = Pages(
        10_000, {"a": MetricsPage(counters={TOKENS: 5}), "b": MetricsPage(counters={TOKENS: 500})}
    )
    assert merge(now, before, ["a", "b"]).values == {TOKENS: 100_000}


def test_times_are_those_of_requests_since_the_last_page() -> None:
    slow = {0.1: 0.0, 1.0: 0.0, inf: 1_000.0}
    before = Pages(0, {"a": MetricsPage(histograms={TTFT: slow})})
    after = {0.1: 100.0, 1.0: 100.0, inf: 1_100.0}
    now = Pages(1_000, {"a": MetricsPage(histograms={TTFT: after})})
    assert merge(now, before, ["a"]).values == {TTFT: 90}
    assert merge(now, now, ["a"]).values == {}


@pytest.mark.parametrize(
    ("buckets", "expected"),
    [
        ({0.1: 9, 1.0: 10, inf: 10}, 0.1),
        ({0.1: 0, 1.0: 10, inf: 10}, 0.91),
        ({0.1: 0, 1.0: 1, inf: 10}, 1.0),
        ({0.1: 0, inf: 0}, None),
        ({}, None),
    ],
)
def test_a_quantile_is_what_prometheus_would_say(
    buckets: dict[float, float], expected: float | None
) -> None:
    assert quantile([buckets]) == (None if expected is None else pytest.approx(expected))


def test_a_quantile_weighs_replicas_by_their_requests() -> None:
    assert quantile([{0.1: 99, inf: 99}, {0.1: 0, inf: 1}]) == pytest.approx(0.1 * 90 / 99)
