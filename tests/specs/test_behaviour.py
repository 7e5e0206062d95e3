"""Sections of a workload file that say how it lives."""

import pytest

from ganglion.model.behaviour import (
    EarlyStop,
    Hint,
    Hours,
    Idle,
    Overlap,
    Pace,
    Scaling,
    Schedule,
    Search,
    Signal,
    Standby,
    Target,
)
from ganglion.model.errors import FieldError
from ganglion.model.workload import Workload
from ganglion.specs.workload.workload import parse_workloads, to_workload

SERVICE = """\
run: serve
replicas: 0..8
scale:
  targets: {kv_cache: 80%, requests: 2.5, ttft: 500ms, query: 100}
  source: http://prometheus:9090/
  query: sum(rate(x[1m]))
  path: /stats
  window: 30s
  panic_window: 3s
  panic: 150%
  up: 4 or 100%/15s
  down: any
  hold_down: 2m
  zero_after: 5m
  cold_start: 90s
  start_within: 10s
  on_time: 99.2%
  hints:
  - {cron: 0 8 * * mon-fri, for: 10h, replicas: 4, zone: Europe/Berlin}
  drain: 1m
  standby: {replicas: 2, notice: 45s}
  affinity: x-model
"""


def workload(text: str) -> Workload:
    (doc,) = parse_workloads(text, "job.yaml")
    return to_workload(doc, user="ada", default_queue="default")


def test_every_key_of_a_scaling_service_reaches_the_workload() -> None:
    found = workload(SERVICE)
    assert found.replicas == 0
    assert found.scaling == Scaling(
        floor=0,
        ceiling=8,
        targets=(
            Target(Signal.REQUESTS, 2_500),
            Target(Signal.KV_CACHE, 800),
            Target(Signal.TTFT, 500),
            Target(Signal.QUERY, 100_000),
        ),
        source="http://prometheus:9090",
        query="sum(rate(x[1m]))",
        path="/stats",
        window_ms=30_000,
        panic_window_ms=3_000,
        panic_milli=1_500,
        up=Pace(4, 100, 15_000),
        down=Pace(0, 0, 0),
        hold_down_ms=120_000,
        idle_ms=300_000,
        cold_start_ms=90_000,
        start_within_ms=10_000,
        start_milli=992,
        hints=(Hint("0 8 * * mon-fri", 36_000_000, 4, "Europe/Berlin"),),
        drain_ms=60_000,
        standby=Standby(2, 45_000),
        affinity="x-model",
    )


def test_a_service_that_does_not_scale_has_its_replicas() -> None:
    found = workload("run: serve\nreplicas: 3")
    assert (found.replicas, found.scaling) == (3, None)


def test_defaults_of_the_file_are_those_of_the_struct() -> None:
    scaling = workload("run: serve\nreplicas: 1..8\nscale: {requests: 1}").scaling
    assert scaling == Scaling(floor=1, ceiling=8)
    assert workload("run: x\nidle_timeout: 1h").idle == Idle()


def test_every_key_of_idleness_reaches_the_workload() -> None:
    text = (
        "run: jupyter lab\nidle_timeout: 30m\n"
        "idle: {warn: 1m, gpu: 0.5%, traffic: 1000, save: ./save.sh}\n"
        "hours: tue-thu,sat 9:30-17:00 Europe/Berlin"
    )
    hours = Hours((1, 2, 3, 5), 570, 1020, "Europe/Berlin")
    assert workload(text).idle == Idle(60_000, 5, 1000, hours, "./save.sh")


def test_every_key_of_a_search_reaches_the_workload() -> None:
    found = workload(
        "run: x\nparams: {a: 0..9}\nsearch: {trials: 5, seed: 7}\nparallel: 2..6\n"
        "early_stop: {metric: loss, goal: maximize, first: 10, factor: 4}"
    )
    assert found.search == Search(5, 7)
    assert (found.parallel_min, found.parallel) == (2, 6)
    assert found.early_stop == EarlyStop("loss", maximise=True, first=10, factor=4)


def test_trials_may_be_listed() -> None:
    found = workload("run: x\ntrials: [{lr: 1e-4, seed: 1}, {lr: 3e-4, seed: 2}]")
    assert found.trials == ({"lr": "1e-4", "seed": "1"}, {"lr": "3e-4", "seed": "2"})


def test_dependencies_and_schedules_reach_the_workload() -> None:
    found = workload(
        "run: x\nafter: [a, afterok:b, afterany:c, any:d]\nsingleton: yes\n"
        "schedule: {cron: 0 3 * * *, zone: Asia/Tokyo, overlap: replace, keep: 1h}\n"
        "retry: {limits: {oom: 0, preempted: 5}, replace: yes}"
    )
    assert (found.after, found.after_any, found.singleton) == (("a", "b"), ("c", "d"), True)
    assert found.schedule == Schedule("0 3 * * *", "Asia/Tokyo", Overlap.REPLACE, 3_600_000)
    assert found.retry.limits == {"oom": 0, "preemption": 5}
    assert found.retry.replace


@pytest.mark.parametrize(
    ("text", "key", "problem"),
    [
        ("replicas: 8..1\nscale: {requests: 1}", "replicas", "runs backwards"),
        ("replicas: 1..8", "replicas", "nothing says when"),
        ("replicas: 0", "replicas", "no replicas"),
        ("replicas: 4\nscale: {requests: 1}", "scale", "nothing to choose"),
        ("replicas: 1..8\nscale: {requests: 0}", "scale.requests", "target of zero"),
        ("replicas: 1..8\nscale: {targets: {kv: 1}}", "scale.targets.kv", "not known"),
        ("replicas: 1..8\nscale: {targets: {itl: 1s, tpot: 1s}}", "scale.targets.tpot", "twice"),
        ("replicas: 1..8\nscale: {requests: -1}", "scale.requests", "negative"),
        ("replicas: 1..8\nscale: {on_time: 99%}", "scale.on_time", "needs `start_within`"),
        (
            "replicas: 1..8\nscale: {start_within: 1s, on_time: 0%}",
            "scale.on_time",
            "more than nothing",
        ),
        ("replicas: 1..8\nscale: {start_within: 0}", "scale.start_within", "longer than nothing"),
        ("replicas: 1..8\nscale: {panic_window: 5m}", "scale.panic_window", "longer than"),
        ("replicas: 1..8\nscale: {panic: 1}", "scale.panic", "between 1"),
        ("replicas: 1..8\nscale: {up: 4}", "scale.up", "in which time"),
        ("replicas: 1..8\nscale: {up: 0/15s}", "scale.up", "for ever"),
        ("replicas: 1..8\nscale: {down: fast}", "scale.down", "not a pace"),
        ("replicas: 1..8\nscale: {source: ftp://x}", "scale.source", "no source"),
        ("replicas: 1..8\nscale: {targets: {query: 1}}", "scale", "needs `query`"),
        ("replicas: 1..8\nscale: {query: up}", "scale.query", "Prometheus to ask"),
        ("replicas: 1..8\nscale: {standby: 9}", "scale.standby", "more than the 8"),
        (
            "replicas: 1..8\nscale: {hints: [{cron: 0 8 * * *, lasts: 1h, replicas: 9}]}",
            "scale.hints[0].replicas",
            "more than the 8",
        ),
        ("kind: train\nscale: {requests: 1}", "scale", "means nothing for a train"),
        ("idle_timeout: 1h\nhours: 20:00-08:00", "hours", "ends before"),
        ("idle_timeout: 1h\nhours: mon-fri 08:00-20:00 Mars", "hours", "no time zone"),
        ("idle_timeout: 1h\nhours: 08:00-25:00", "hours", "not a time of day"),
        ("idle_timeout: 1h\nhours: foo 08:00-20:00", "hours", "not a day"),
        ("idle_timeout: 1h\nschedule: 0 3 * * *", "schedule", "no schedule"),
        ("params: {a: 0..9}\nsearch: 11", "search", "more than the 10"),
        ("params: {a: 1}\ntrials: [{a: 1}]", "trials", "beside `params`"),
        ("trials: [{a: 1}, {b: 1}]", "trials[1]", "other parameters"),
        ("trials: []", "trials", "at least one"),
        ("params: {a: 0..9}\nearly_stop: {metric: loss, factor: 1}", "early_stop.factor", "stops"),
        ("after: [sometimes:b]", "after[0]", "not a dependency"),
        ("retry: {limits: {cosmic: 1}}", "retry.limits.cosmic", "not known"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_key(text: str, key: str, problem: str) -> None:
    with pytest.raises(FieldError) as caught:
        workload(f"run: x\n{text}")
    assert caught.value.key == key
    assert problem in caught.value.problem
