"""Rules between keys of one workload file."""

from math import prod
from typing import TYPE_CHECKING

from ganglion.files.behaviour_checks import check_behaviour
from ganglion.files.fields import MAX_GANGS, MAX_PODS, problem
from ganglion.files.grammar import Span
from ganglion.model.levels import DEPTH
from ganglion.model.workload import Kind

if TYPE_CHECKING:
    from ganglion.files.schema import Group, PodSetFile, WorkloadFile

ONLY = {
    "replicas": (Kind.SERVICE,),
    "scale": (Kind.SERVICE,),
    "port": (Kind.SERVICE, Kind.WORKSPACE),
    "access": (Kind.SERVICE, Kind.WORKSPACE),
    "params": (Kind.SWEEP,),
    "trials": (Kind.SWEEP,),
    "search": (Kind.SWEEP,),
    "parallel": (Kind.SWEEP,),
    "early_stop": (Kind.SWEEP,),
    "idle_timeout": (Kind.WORKSPACE,),
    "idle": (Kind.WORKSPACE,),
}
"""Keys that mean something for some kinds only."""

PER_SET = ("nodes", "procs_per_node", "resources", "groups")
"""Keys that belong into each pod set where there are pod sets."""


def check(file: "WorkloadFile") -> None:
    """Raise the first contradiction between keys, as the error of pydantic that names its key."""
    _kind(file)
    _durations(file)
    _sets(file)
    _sizes(file)
    check_behaviour(file)


def _kind(file: "WorkloadFile") -> None:
    kind = file.effective_kind
    for key, kinds in ONLY.items():
        if key in file.model_fields_set and kind not in kinds:
            words = " or ".join(f"`{each}`" for each in kinds)
            raise problem(f"means nothing for a {kind}", key, f"set `kind` to {words}, or drop it")
    if kind is Kind.SWEEP and not (file.params or file.trials):
        hint = "as `params: {lr: [1e-4, 3e-4], seed: 0..4}`"
        raise problem("a sweep needs `params`", "kind", hint)
    wide = prod(len(values) for values in file.params.values()) > MAX_GANGS
    if wide and not file.search:
        hint = "try some of them: `search: {trials: 1000}`"
        raise problem(f"has more than {MAX_GANGS:,} combinations", "params", hint)


def _durations(file: "WorkloadFile") -> None:
    for key in ("time_limit", "idle_timeout"):
        if key in file.model_fields_set and not getattr(file, key):
            raise problem("must be longer than nothing", key, "leave it out for no limit")
    if file.schedule and file.deadline and file.deadline.at_ms:
        hint = "write it as `12h`, counted from the submit of each run"
        raise problem("every run of a schedule would have the same one", "deadline", hint)
    contract = file.checkpoint
    if contract and "interval" in contract.model_fields_set and not contract.interval:
        hint = "leave it out when the program saves only when told"
        raise problem("must be longer than nothing", "checkpoint.interval", hint)


def _sets(file: "WorkloadFile") -> None:
    if "pod_sets" in file.model_fields_set:
        _beside_sets(file)
    names = [each.name for each in file.pod_sets]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise problem(f"`{name}` is the name of two pod sets", f"pod_sets[{at}].name")
    for at, each in enumerate(file.sets):
        prefix = f"pod_sets[{at}]." if file.pod_sets else ""
        _groups(each, prefix)
        _memory(each, prefix)


def _beside_sets(file: "WorkloadFile") -> None:
    if not file.pod_sets:
        raise problem("needs at least one pod set", "pod_sets", "or leave it out")
    for key in PER_SET:
        if key in file.model_fields_set:
            hint = f"move `{key}` into each entry of `pod_sets`"
            raise problem("cannot stand beside `pod_sets`", key, hint)


def _groups(pods: "PodSetFile", prefix: str) -> None:
    outer: Group | None = None
    for at, group in enumerate(pods.groups):
        key = f"{prefix}groups[{at}]"
        _group_size(group, outer, pods.nodes, key)
        _group_level(group, outer, key)
        outer = group


def _group_size(group: "Group", outer: "Group | None", nodes: Span, key: str) -> None:
    around = (outer.size,) if outer else (nodes.low, nodes.high)
    for size in around:
        if size % group.size:
            what = "the enclosing group" if outer else "`nodes`"
            hint = "choose a size that divides it without remainder"
            problem_text = f"groups of {group.size} do not divide {what} of {size}"
            raise problem(problem_text, f"{key}.size", hint)


def _group_level(group: "Group", outer: "Group | None", key: str) -> None:
    level = group.required or group.preferred
    if level is None:
        hint = "as `{size: 4, required: rack}`"
        raise problem("a group needs a level, `required` or `preferred`", key, hint)
    if group.required and group.preferred and DEPTH[group.preferred] < DEPTH[group.required]:
        raise problem("prefers a wider level than it requires", f"{key}.preferred")
    around = outer and outer.required
    if around and group.required and DEPTH[group.required] < DEPTH[around]:
        hint = "inner groups share narrower levels than outer ones"
        raise problem(f"is wider than the {around} of the group around it", f"{key}.required", hint)


def _memory(pods: "PodSetFile", prefix: str) -> None:
    needs = pods.resources
    if needs.memory and needs.shm_size > needs.memory:
        hint = "shared memory is part of `memory`"
        raise problem("is more than `memory`", f"{prefix}resources.shm_size", hint)


def _sizes(file: "WorkloadFile") -> None:
    if sum(each.nodes.high for each in file.sets) > MAX_PODS:
        raise problem(f"together more than {MAX_PODS:,} nodes", "pod_sets")
