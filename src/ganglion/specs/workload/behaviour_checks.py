"""Rules between the keys of a workload's behaviour."""

from collections.abc import Iterator
from math import prod

from ganglion.model.behaviour import Signal
from ganglion.model.errors import FieldError
from ganglion.model.workload import Kind
from ganglion.specs.reading.mapping import as_read
from ganglion.specs.reading.validate import Wrong
from ganglion.specs.workload.behaviour_schema import ScaleFile
from ganglion.specs.workload.schema import WorkloadFile

Problems = Iterator[FieldError]

POSITIVE = ("window", "panic_window", "cold_start", "start_within")
"""Durations of `scale` that must be longer than nothing where they are given."""


def _schedule(file: WorkloadFile, wrong: Wrong) -> Problems:
    if "schedule" in file.model_fields_set and file.effective_kind is Kind.WORKSPACE:
        yield wrong("a workspace has no schedule", ("schedule",), "use `idle: {hours: ...}`")


def _replicas(file: WorkloadFile, wrong: Wrong) -> Problems:
    span, scale = file.replicas, file.scale
    if not span.high:
        yield wrong("a service of no replicas does nothing", ("replicas",), "write `0..4`")
    elif scale is None and span.elastic:
        hint = "as `scale: {requests: 8}`: requests per replica"
        yield wrong("is a range, and nothing says when to scale", ("replicas",), hint)
    elif scale is not None and not span.elastic:
        hint = "write a range, as `replicas: 1..8`"
        yield wrong("has nothing to choose: `replicas` is one number", ("scale",), hint)


def _scale(file: WorkloadFile, wrong: Wrong) -> Problems:
    scale = file.scale
    if scale is not None:
        for rule in (_lengths, _start, _query, _source):
            yield from as_read(rule(scale, wrong))


def _lengths(scale: ScaleFile, wrong: Wrong) -> Problems:
    for key in POSITIVE:
        if key in scale.model_fields_set and not vars(scale).get(key, True):
            yield wrong("must be longer than nothing", ("scale", key), "")
    if scale.window and scale.panic_window > scale.window:
        yield wrong("is longer than `window`", ("scale", "panic_window"), "")


def _start(scale: ScaleFile, wrong: Wrong) -> Problems:
    if "on_time" in scale.model_fields_set and not (scale.on_time and scale.start_within):
        hint = "as `start_within: 10s` and `on_time: 99.5%`"
        yield wrong("needs `start_within`, and more than nothing", ("scale", "on_time"), hint)


def _query(scale: ScaleFile, wrong: Wrong) -> Problems:
    asked = any(each.signal is Signal.QUERY for each in scale.targets)
    if asked and not scale.query:
        hint = "as `query: sum(rate(requests_total[1m]))`"
        yield wrong("needs `query` for its target `query`", ("scale",), hint)


def _source(scale: ScaleFile, wrong: Wrong) -> Problems:
    if scale.query and not scale.source.startswith("http"):
        hint = "as `source: http://prometheus:9090`"
        yield wrong("needs a Prometheus to ask", ("scale", "query"), hint)


def _hints(file: WorkloadFile, wrong: Wrong) -> Problems:
    most, scale = file.replicas.high, file.scale
    for at, each in enumerate(scale.hints if scale and file.replicas.elastic else ()):
        if vars(each).get("replicas", 0) > most:
            path = ("scale", "hints", at, "replicas")
            yield wrong(f"is more than the {most} that `replicas` allows", path, "")


def _standby(file: WorkloadFile, wrong: Wrong) -> Problems:
    most, scale = file.replicas.high, file.scale
    asleep = scale.standby if scale and file.replicas.elastic else None
    if asleep and asleep.replicas > most:
        path = ("scale", "standby", "replicas")
        yield wrong(f"is more than the {most} that `replicas` allows", path, "")


def _trials(file: WorkloadFile, wrong: Wrong) -> Problems:
    beside = [key for key in ("search", "params") if key in file.model_fields_set]
    if "trials" in file.model_fields_set and beside:
        words = " and ".join(f"`{key}`" for key in beside)
        yield wrong(f"cannot stand beside {words}", ("trials",), "keep one of them")


def _search(file: WorkloadFile, wrong: Wrong) -> Problems:
    there = prod(len(values) for values in file.params.values())
    if file.params and file.search and file.search.trials > there:
        hint = f"write {there} or less, or leave `search` out to try them all"
        problem = f"is more than the {there:,} combinations there are"
        yield wrong(problem, ("search", "trials"), hint)


def _parallel(file: WorkloadFile, wrong: Wrong) -> Problems:
    if file.parallel.elastic and not file.preemptible:
        hint = "write one number, or leave `preemptible: false` out"
        yield wrong("a range needs trials that others may stop", ("parallel",), hint)


def _early_stop(file: WorkloadFile, wrong: Wrong) -> Problems:
    stop = file.early_stop
    if stop and stop.factor < 2:
        hint = "2 or more: one in this number goes on"
        yield wrong("stops no trial", ("early_stop", "factor"), hint)


BEHAVIOUR = (
    *(_schedule, _replicas, _scale, _hints, _standby),
    *(_trials, _search, _parallel, _early_stop),
)
"""What must hold between the keys of a workload's behaviour."""
