"""Queries name every alias and only the replicas of the service."""

from ganglion.lifecycle.metrics.promql import query_of
from ganglion.model.behaviour import Signal

WHERE = ["10.0.0.1:8000", "10.0.0.2:8000"]


def test_counts_are_added_over_the_replicas() -> None:
    query = query_of(Signal.WAITING, WHERE)
    assert query.startswith('sum({__name__=~"vllm:num_requests_waiting|sglang:num_queue_reqs|')
    assert r'instance=~"10\\.0\\.0\\.1:8000|10\\.0\\.0\\.2:8000"' in query


def test_requests_are_those_that_wait_and_run() -> None:
    waiting, running = query_of(Signal.WAITING, WHERE), query_of(Signal.RUNNING, WHERE)
    assert query_of(Signal.REQUESTS, WHERE) == f"{waiting} + {running}"


def test_times_are_quantiles_over_all_replicas() -> None:
    query = query_of(Signal.TTFT, WHERE)
    assert query.startswith("histogram_quantile(0.9, sum by (le) (rate({__name__=~")
    assert "vllm:time_to_first_token_seconds_bucket" in query
    # Its unit is another one.
    assert "histogram_ms" not in query


def test_shares_are_averaged_and_tokens_are_rates() -> None:
    assert query_of(Signal.KV_CACHE, WHERE).startswith("avg({")
    assert query_of(Signal.TOKENS, WHERE).startswith("sum(rate({")


def test_the_owners_query_is_asked_as_it_is() -> None:
    assert query_of(Signal.QUERY, WHERE, "sum(up)") == "sum(up)"
