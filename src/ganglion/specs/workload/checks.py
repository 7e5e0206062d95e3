"""Rules between keys of one workload file."""

from collections.abc import Iterator
from math import prod

from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import DEPTH
from ganglion.model.workload import Kind
from ganglion.specs.reading.fields import MAX_GANGS, MAX_PODS
from ganglion.specs.reading.mapping import as_read
from ganglion.specs.reading.validate import Wrong
from ganglion.specs.reading.yaml import Path
from ganglion.specs.workload.behaviour_checks import BEHAVIOUR
from ganglion.specs.workload.schema import PER_SET, Group, PodSetFile, WorkloadFile

Problems = Iterator[FieldError]

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


def _kind(file: WorkloadFile, wrong: Wrong) -> Problems:
    kind = file.effective_kind
    for key, kinds in ONLY.items():
        if key in file.model_fields_set and kind not in kinds:
            words = " or ".join(f"`{each}`" for each in kinds)
            hint = f"set `kind` to {words}, or drop it"
            yield wrong(f"means nothing for a {kind}", (key,), hint)
    if kind is Kind.SWEEP and not (file.params or file.trials):
        hint = "as `params: {lr: [1e-4, 3e-4], seed: 0..4}`"
        yield wrong("a sweep needs `params`", ("kind",), hint)


def _combinations(file: WorkloadFile, wrong: Wrong) -> Problems:
    wide = prod(len(values) for values in file.params.values()) > MAX_GANGS
    if wide and not file.search:
        hint = "try some of them: `search: {trials: 1000}`"
        yield wrong(f"has more than {MAX_GANGS:,} combinations", ("params",), hint)


def _limits(file: WorkloadFile, wrong: Wrong) -> Problems:
    for key in ("time_limit", "idle_timeout"):
        if key in file.model_fields_set and not vars(file).get(key, True):
            yield wrong("must be longer than nothing", (key,), "leave it out for no limit")


def _deadline(file: WorkloadFile, wrong: Wrong) -> Problems:
    if file.deadline and file.deadline.at_ms and file.schedule:
        hint = "write it as `12h`, counted from the submit of each run"
        yield wrong("every run of a schedule would have the same one", ("deadline",), hint)


def _checkpoint(file: WorkloadFile, wrong: Wrong) -> Problems:
    contract = file.checkpoint
    if contract and "interval" in contract.model_fields_set and not contract.interval:
        hint = "leave it out when the program saves only when asked to stop"
        yield wrong("must be longer than nothing", ("checkpoint", "interval"), hint)


def _beside_sets(file: WorkloadFile, wrong: Wrong) -> Problems:
    if "pod_sets" not in file.model_fields_set:
        return
    for key in PER_SET:
        if key in file.model_fields_set:
            hint = f"move `{key}` into each entry of `pod_sets`"
            yield wrong("cannot stand beside `pod_sets`", (key,), hint)
    if not file.pod_sets:
        yield wrong("needs at least one pod set", ("pod_sets",), "or leave it out")


def _names(file: WorkloadFile, wrong: Wrong) -> Problems:
    names = [vars(each).get("name", "") for each in file.pod_sets]
    for at, name in enumerate(names):
        if name and name in names[:at]:
            yield wrong(f"`{name}` is the name of two pod sets", ("pod_sets", at, "name"), "")


def _sets(file: WorkloadFile, wrong: Wrong) -> Problems:
    for at, each in enumerate(file.sets):
        path: Path = ("pod_sets", at) if file.pod_sets else ()
        yield from as_read(_groups(each, path, wrong))
        yield from as_read(_memory(each, path, wrong))


def _groups(pods: PodSetFile, path: Path, wrong: Wrong) -> Problems:
    outer: Group | None = None
    for at, group in enumerate(pods.groups):
        here = (*path, "groups", at)
        yield from as_read(_group_size(group, outer, pods, here, wrong))
        yield from as_read(_group_level(group, outer, here, wrong))
        outer = group


def _group_size(
    group: Group, outer: Group | None, pods: PodSetFile, path: Path, wrong: Wrong
) -> Problems:
    around = (outer.size,) if outer else (pods.nodes.low, pods.nodes.high)
    size = next((each for each in around if each % group.size), 0)
    if size:
        what = "the enclosing group" if outer else "`nodes`"
        hint = "choose a size that divides it without remainder"
        yield wrong(f"groups of {group.size} do not divide {what} of {size}", (*path, "size"), hint)


def _group_level(group: Group, outer: Group | None, path: Path, wrong: Wrong) -> Problems:
    if group.required is None and group.preferred is None:
        yield wrong(
            "a group needs a level, `required` or `preferred`",
            path,
            "as `{size: 4, required: rack}`",
        )
    if group.required and group.preferred and DEPTH[group.preferred] < DEPTH[group.required]:
        yield wrong("prefers a wider level than it requires", (*path, "preferred"), "")
    around = outer and outer.required
    if around and group.required and DEPTH[group.required] < DEPTH[around]:
        hint = "inner groups share narrower levels than outer ones"
        problem = f"is wider than the {around} of the group around it"
        yield wrong(problem, (*path, "required"), hint)


def _memory(pods: PodSetFile, path: Path, wrong: Wrong) -> Problems:
    needs = pods.resources
    if needs.memory and needs.shm_size > needs.memory:
        hint = "shared memory is part of `memory`"
        yield wrong("is more than `memory`", (*path, "resources", "shm_size"), hint)


def _sizes(file: WorkloadFile, wrong: Wrong) -> Problems:
    if sum(each.nodes.high for each in file.sets) > MAX_PODS:
        yield wrong(f"together more than {MAX_PODS:,} nodes", ("pod_sets",), "")


RULES = (
    *(_kind, _combinations, _limits, _deadline, _checkpoint),
    *(_beside_sets, _names, _sets, _sizes, *BEHAVIOUR),
)
"""What must hold between the keys of a workload file."""
