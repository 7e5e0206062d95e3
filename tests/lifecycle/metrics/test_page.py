"""The pages of the usual model servers are understood, whatever their version calls things."""

from math import inf

import pytest

from ganglion.lifecycle.metrics.page import read
from ganglion.model.behaviour import Signal

VLLM = """
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="llama"} 5.0
vllm:num_requests_running{engine="1",model_name="llama"} 3.0
vllm:num_requests_waiting{engine="0",model_name="llama"} 2.0
vllm:num_requests_waiting{engine="1",model_name="llama"} 0.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="llama"} 0.5
vllm:kv_cache_usage_perc{engine="1",model_name="llama"} 0.7
vllm:generation_tokens_total{engine="0",model_name="llama"} 1200.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1",model_name="llama"} 4.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="1.0",model_name="llama"} 9.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="llama"} 10.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="llama"} 10.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="llama"} 3.5
process_resident_memory_bytes 1.0e9
"""


def test_vllm() -> None:
    page = read(VLLM)
    assert page.trouble == ""
    assert page.gauges == {
        Signal.WAITING: 2,
        Signal.RUNNING: 8,
        Signal.REQUESTS: 10,
        Signal.KV_CACHE: pytest.approx(0.6),
    }
    assert page.counters == {Signal.TOKENS: 1200}
    assert page.histograms == {Signal.TTFT: {0.1: 4, 1.0: 9, inf: 10}}


@pytest.mark.parametrize(
    ("text", "gauges"),
    [
        ("vllm:gpu_cache_usage_perc 0.25", {Signal.KV_CACHE: 0.25}),
        (
            "sglang:num_running_reqs 4\nsglang:num_queue_reqs 1\nsglang:token_usage 0.3",
            {Signal.RUNNING: 4, Signal.WAITING: 1, Signal.REQUESTS: 5, Signal.KV_CACHE: 0.3},
        ),
        (
            "tgi_queue_size 7\ntgi_batch_current_size 9",
            {Signal.WAITING: 7, Signal.RUNNING: 9, Signal.REQUESTS: 16},
        ),
        ('nv_inference_pending_request_count{model="a",version="1"} 6', {Signal.WAITING: 6}),
        (
            'nv_trt_llm_request_metrics{model="a",request_type="waiting"} 2\n'
            'nv_trt_llm_request_metrics{model="a",request_type="scheduled"} 3\n'
            'nv_trt_llm_request_metrics{model="a",request_type="max"} 512\n'
            'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction"} 0.5\n'
            'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max"} 900\n'
            "nv_inference_pending_request_count 2",
            {Signal.WAITING: 2, Signal.RUNNING: 3, Signal.REQUESTS: 5, Signal.KV_CACHE: 0.5},
        ),
    ],
    ids=["old vLLM", "SGLang", "TGI", "Triton", "TensorRT-LLM"],
)
def test_others(text: str, gauges: dict[Signal, float]) -> None:
    assert read(text).gauges == gauges


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("vllm:time_per_output_token_seconds", Signal.ITL),
        ("vllm:inter_token_latency_seconds", Signal.ITL),
        ("sglang:e2e_request_latency_seconds", Signal.LATENCY),
        ("tgi_request_duration", Signal.LATENCY),
    ],
)
def test_times(text: str, signal: Signal) -> None:
    page = read(f'{text}_bucket{{le="0.5"}} 1\n{text}_bucket{{le="+Inf"}} 2')
    assert page.histograms == {signal: {0.5: 1, inf: 2}}


def test_the_newer_name_wins_where_a_page_has_both() -> None:
    page = read("vllm:kv_cache_usage_perc 0.4\nvllm:gpu_cache_usage_perc 0.9")
    assert page.gauges == {Signal.KV_CACHE: 0.4}


def test_units_are_brought_to_seconds() -> None:
    name = "nv_inference_first_response_histogram_ms"
    page = read(f'{name}_bucket{{le="250"}} 1\n{name}_bucket{{le="+Inf"}} 2')
    assert page.histograms == {Signal.TTFT: {0.25: 1, inf: 2}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vllm:num_requests_waiting NaN", "waiting is nan"),
        ("vllm:num_requests_waiting -3", "waiting is negative"),
        ("vllm:num_requests_running +Inf", "running is inf"),
        ("vllm:generation_tokens_total -1", "tokens is negative"),
        ("vllm:num_requests_waiting{ 3", "the page cannot be read"),
    ],
)
def test_a_page_that_lies_is_used_for_nothing(text: str, said: str) -> None:
    page = read(f"{text}\nvllm:kv_cache_usage_perc 0.4")
    assert page.trouble.startswith(said)
    assert (page.gauges, page.counters, page.histograms) == ({}, {}, {})


def test_a_page_about_other_things_says_nothing() -> None:
    page = read("python_gc_objects_collected_total 5\n<html>")
    assert (page.gauges, page.trouble) == ({}, "")
