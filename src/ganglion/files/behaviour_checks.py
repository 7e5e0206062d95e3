"""Rules between the keys that say how a workload lives."""

from math import prod
from typing import TYPE_CHECKING

from ganglion.files.fields import problem
from ganglion.model.behaviour import Signal
from ganglion.model.workload import Kind

if TYPE_CHECKING:
    from ganglion.files.behaviour_schema import ScaleFile
    from ganglion.files.schema import WorkloadFile

POSITIVE = ("window", "panic_window", "cold_start", "start_within")
"""Durations of `scale` that must be longer than nothing where they are given."""


def check_behaviour(file: "WorkloadFile") -> None:
    """Raise the first contradiction, as the error of pydantic that names its key."""
    _replicas(file)
    _trials(file)
    if file.schedule and file.effective_kind is Kind.WORKSPACE:
        raise problem("a workspace has no schedule", "schedule", "use `idle: {hours: ...}`")


def _replicas(file: "WorkloadFile") -> None:
    span, scale = file.replicas, file.scale
    if not span.high:
        raise problem("a service of no replicas does nothing", "replicas", "write `0..4`")
    if scale is None:
        if span.elastic:
            hint = "as `scale: {requests: 8}`: requests per replica"
            raise problem("is a range, and nothing says when to scale", "replicas", hint)
        return
    if not span.elastic:
        hint = "write a range, as `replicas: 1..8`"
        raise problem("has nothing to choose: `replicas` is one number", "scale", hint)
    _scale(scale, span.high)


def _scale(scale: "ScaleFile", most: int) -> None:
    for key in POSITIVE:
        if key in scale.model_fields_set and not getattr(scale, key):
            raise problem("must be longer than nothing", f"scale.{key}")
    if "on_time" in scale.model_fields_set and not (scale.on_time and scale.start_within):
        hint = "as `start_within: 10s` and `on_time: 99.5%`"
        raise problem("needs `start_within`, and more than nothing", "scale.on_time", hint)
    if scale.panic_window > scale.window:
        raise problem("is longer than `window`", "scale.panic_window")
    asked = any(each.signal is Signal.QUERY for each in scale.targets)
    if asked and not scale.query:
        hint = "as `query: sum(rate(requests_total[1m]))`"
        raise problem("needs `query` for its target `query`", "scale", hint)
    if scale.query and not scale.source.startswith("http"):
        hint = "as `source: http://prometheus:9090`"
        raise problem("needs a Prometheus to ask", "scale.query", hint)
    for at, hint_file in enumerate(scale.hints):
        if hint_file.replicas > most:
            key = f"scale.hints[{at}].replicas"
            raise problem(f"is more than the {most} that `replicas` allows", key)
    if scale.standby and scale.standby.replicas > most:
        raise problem(f"is more than the {most} that `replicas` allows", "scale.standby.replicas")


def _trials(file: "WorkloadFile") -> None:
    for key in ("search", "params"):
        if file.trials and key in file.model_fields_set:
            raise problem(f"cannot stand beside `{key}`", "trials", "keep one of them")
    all_of_them = prod(len(values) for values in file.params.values())
    if file.search and file.search.trials > all_of_them:
        hint = f"write {all_of_them} or less, or leave `search` out to try them all"
        raise problem(
            f"is more than the {all_of_them:,} combinations there are", "search.trials", hint
        )
    if file.parallel.elastic and not file.preemptible:
        hint = "write one number, or leave `preemptible: false` out"
        raise problem("a range needs trials that others may stop", "parallel", hint)
    stop = file.early_stop
    if stop and stop.factor < 2:
        raise problem("stops nobody", "early_stop.factor", "2 or more: one in so many goes on")
