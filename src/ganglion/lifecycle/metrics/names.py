"""Names under which model servers report each signal, newer names first.

vLLM and SGLang rename metrics from time to time; of the names of one signal, the first that a
page has is read. Triton has its own, and more with the TensorRT-LLM backend.
"""

from collections.abc import Mapping

from msgspec import Struct

from ganglion.model.behaviour import Signal


class Name(Struct, frozen=True):
    """One name of a signal.

    Attributes:
        name: of the metric; of a histogram without its suffixes.
        label, value: only series with this label are meant; empty = all.
        scale: what one unit of the metric is worth, in the unit of the signal.
    """

    name: str
    label: str = ""
    value: str = ""
    scale: float = 1.0


_TRT_REQUESTS = "nv_trt_llm_request_metrics"

GAUGES: Mapping[Signal, tuple[Name, ...]] = {
    Signal.WAITING: (
        Name("vllm:num_requests_waiting"),
        Name("sglang:num_queue_reqs"),
        Name("tgi_queue_size"),
        Name(_TRT_REQUESTS, "request_type", "waiting"),
        Name("nv_inference_pending_request_count"),
    ),
    Signal.RUNNING: (
        Name("vllm:num_requests_running"),
        Name("sglang:num_running_reqs"),
        Name("tgi_batch_current_size"),
        Name(_TRT_REQUESTS, "request_type", "scheduled"),
    ),
    Signal.KV_CACHE: (
        Name("vllm:kv_cache_usage_perc"),
        Name("vllm:gpu_cache_usage_perc"),
        Name("sglang:token_usage"),
        Name("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "fraction"),
    ),
}
"""Values as of now."""

COUNTERS: Mapping[Signal, tuple[Name, ...]] = {
    Signal.TOKENS: (
        Name("vllm:generation_tokens_total"),
        Name("sglang:generation_tokens_total"),
        Name("tgi_request_generated_tokens_sum"),
    ),
}
"""Values whose growth per second is the signal."""

HISTOGRAMS: Mapping[Signal, tuple[Name, ...]] = {
    Signal.TTFT: (
        Name("vllm:time_to_first_token_seconds"),
        Name("sglang:time_to_first_token_seconds"),
        Name("nv_inference_first_response_histogram_ms", scale=0.001),
    ),
    Signal.ITL: (
        Name("vllm:inter_token_latency_seconds"),
        Name("vllm:time_per_output_token_seconds"),
        Name("sglang:inter_token_latency_seconds"),
        Name("sglang:time_per_output_token_seconds"),
        Name("tgi_request_mean_time_per_token_duration"),
    ),
    Signal.LATENCY: (
        Name("vllm:e2e_request_latency_seconds"),
        Name("sglang:e2e_request_latency_seconds"),
        Name("tgi_request_duration"),
    ),
}
"""Times of requests, in seconds."""

PREFIXES = tuple(
    sorted(
        {
            each.name
            for group in (GAUGES, COUNTERS, HISTOGRAMS)
            for names in group.values()
            for each in names
        }
    )
)
"""A line of a page that begins otherwise is not read."""
