"""`serve-genai` and `serve-tokens`: what is read, refused and reported."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from benchmarks.registry import Bench, BenchOptions, load, silent
from benchmarks.serving import tokens as serve_tokens
from benchmarks.serving.genai import SCALING
from benchmarks.serving.prompts import read_prompts
from benchmarks.serving.requests import (
    SPREAD_MS,
    Request,
    made_up,
    read_requests,
    repeated,
    within_days,
)
from ganglion.model.behaviour import Scaling
from ganglion.model.errors import FieldError, NotFound

REQUESTS = "arrival_s,exec_s,base_model\n0,30.0,M1\n700,10.5,M2\n650,20,M1\n"
QUANTILES = (
    "metric,samples,p1,p50,p99,mean\nlora_load,9,1,2,3,2\nbase_model_load,9,1e3,2e4,5e4,2e4\n"
)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    with gzip.open(tmp_path / "requests.csv.gz", "wt") as file:
        file.write(REQUESTS)
    (tmp_path / "latency_quantiles_ms.csv").write_text(QUANTILES)
    return tmp_path


def run(name: str, **options: Any) -> dict[str, Any]:
    return load(name).run(BenchOptions(**{"seeds": 1, **options}), silent).data


def test_requests_are_read_in_order_of_time(traces: Path) -> None:
    assert read_requests(traces) == [
        Request(0, 30_000, "M1"),
        Request(650_000, 20_000, "M1"),
        Request(700_000, 10_500, "M2"),
    ]


def test_copies_come_within_the_spread_and_a_seed_makes_the_same_ones() -> None:
    once = [Request(5_000, 1_000, "M1")]
    many = repeated(once, 3)
    assert len(many) == 20
    assert all(5_000 <= each.at < 5_000 + SPREAD_MS for each in many)
    assert many == repeated(once, 3) != repeated(once, 4)


@pytest.mark.parametrize("workload", ["fixed", "learnt", "any-model", "affinity"])
def test_every_policy_serves_the_same_requests(traces: Path, workload: str) -> None:
    data = run("serve-genai", traces=traces, workload=workload)
    assert {entry["requests"] for entry in data["policies"].values()} == {60}
    assert ("oracle" in data["policies"]) is (workload in ("fixed", "learnt"))
    assert all(entry["over_busy"] >= 1 for entry in data["policies"].values())


def test_without_traces_it_says_that_its_input_is_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.serving.genai.made_up", lambda seed: made_up(seed, days=1)[:50])
    data = run("serve-genai", policies=("reactive",))
    assert data["synthetic"]
    assert data["policies"]["reactive"]["requests"] == 1_000


def test_on_a_day_of_load_ganglion_keeps_its_promise_with_fewer_hours_than_reactive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("benchmarks.serving.genai.made_up", lambda seed: made_up(seed, days=1))
    found = run("serve-genai", policies=("ganglion", "reactive"))["policies"]
    assert found["ganglion"]["on_time_pct"] > 99.4
    assert found["ganglion"]["replica_hours"] < found["reactive"]["replica_hours"]


def test_on_a_day_of_load_ganglion_is_ahead_of_the_square_root_rule_with_fewer_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("benchmarks.serving.genai.made_up", lambda seed: made_up(seed, days=1))
    found = run("serve-genai", policies=("ganglion", "sqrt-1", "sqrt-2"))["policies"]
    ours, low, high = found["ganglion"], found["sqrt-1"], found["sqrt-2"]
    assert ours["on_time_pct"] > high["on_time_pct"] > low["on_time_pct"]
    assert ours["replica_hours"] < high["replica_hours"]
    assert ours["starts"] < low["starts"]


def test_days_of_a_trace_are_taken_alone_and_begin_at_nought(tmp_path: Path) -> None:
    rows = "".join(f"{86_400 * day + 60},10,M1\n" for day in (0, 1, 2, 2, 3))
    (tmp_path / "requests.csv").write_text("arrival_s,exec_s,base_model\n" + rows)
    (tmp_path / "latency_quantiles_ms.csv").write_text(QUANTILES)
    source = read_requests(tmp_path)
    assert within_days(source, (1, 2)) == [
        Request(60_000, 10_000, "M1"),
        *[Request(86_460_000, 10_000, "M1")] * 2,
    ]
    assert within_days(source, None) == source
    data = run("serve-genai", traces=tmp_path, days=(1, 2), policies=("reactive",))
    assert (data["policies"]["reactive"]["requests"], data["days"]) == (60, (1, 2))
    with pytest.raises(FieldError, match=r"no request on days 7\.\.9") as caught:
        within_days(source, (7, 9))
    assert caught.value.hint == "its last day is 3"


def test_the_owner_asks_for_nothing_but_a_floor_and_a_promise() -> None:
    assert Scaling(floor=0, ceiling=1_000, start_within_ms=10_000) == SCALING


def test_a_file_without_a_column_is_named(tmp_path: Path) -> None:
    (tmp_path / "requests.csv").write_text("arrival_s\n1\n")
    with pytest.raises(FieldError, match=r"requests\.csv:2.*no column 'exec_s'"):
        read_requests(tmp_path)


def test_a_time_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "requests.csv").write_text("arrival_s,exec_s\n1,soon\n")
    with pytest.raises(FieldError, match="a time that is none"):
        read_requests(tmp_path)


def test_quantiles_that_are_not_there_are_named(traces: Path) -> None:
    (traces / "latency_quantiles_ms.csv").write_text("metric,p50,p99\nlora_load,1,2\n")
    with pytest.raises(NotFound, match="no row 'base_model_load'"):
        run("serve-genai", traces=traces, workload="affinity")


@pytest.mark.parametrize("bench", ["serve-genai", "serve-tokens"])
def test_an_unknown_policy_is_answered_with_those_there_are(bench: str, traces: Path) -> None:
    with pytest.raises(FieldError, match="no policy 'x'") as caught:
        run(bench, traces=traces, policies=("x",))
    assert "ganglion" in caught.value.hint


def test_an_unknown_workload_is_answered_with_those_there_are(traces: Path) -> None:
    with pytest.raises(FieldError, match="no workload 'x'") as caught:
        run("serve-genai", traces=traces, workload="x")
    assert "affinity" in caught.value.hint


def test_prompts_of_both_sources_are_read(tmp_path: Path) -> None:
    (tmp_path / "conv.csv").write_text("arrival_s,context_tokens,generated_tokens\n1.5,374,44\n")
    (tmp_path / "toolagent.csv").write_text(
        'arrival_ms,input_tokens,output_tokens,blocks,prefix_block_ids\n1500,374,44,1,"0 1"\n'
    )
    found = read_prompts(tmp_path, None)
    assert list(found) == ["conv", "toolagent"]
    assert found["conv"] == found["toolagent"]
    with pytest.raises(NotFound, match="no workload 'x'"):
        read_prompts(tmp_path, "x")


def test_prompts_in_unknown_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "conv.csv").write_text("when,what\n1,2\n")
    with pytest.raises(FieldError, match="no column arrival_s or arrival_ms"):
        read_prompts(tmp_path, None)


def test_tokens_are_reported_per_workload(tmp_path: Path) -> None:
    rows = "".join(f"{n},500,100\n" for n in range(200))
    for name in ("a", "b"):
        header = "arrival_s,context_tokens,generated_tokens\n"
        (tmp_path / f"{name}.csv").write_text(header + rows)
    data = run("serve-tokens", traces=tmp_path)
    assert list(data["workloads"]) == ["a", "b"]
    a, b = data["workloads"]["a"], data["workloads"]["b"]
    assert {entry["requests"] for entry in a.values()} == {2_000}
    assert [each["replica_hours"] for each in a.values()] == [
        each["replica_hours"] for each in b.values()
    ]


def test_everybody_scales_by_the_same_share_per_replica(monkeypatch: pytest.MonkeyPatch) -> None:
    case = serve_tokens.Case([], 4.25)
    (target,) = serve_tokens.scaling(case).targets
    assert target.milli == 4_250


@pytest.mark.parametrize("name", ["serve-genai", "serve-tokens"])
def test_a_benchmark_calls_itself_what_it_is_registered_as(name: str) -> None:
    bench: Bench = load(name)
    assert bench.name == name
