"""A workload into the gangs that the engine places, and what each of them executes."""

import re
from collections.abc import Mapping

from msgspec import structs

from ganglion.lifecycle.sweeps.trials import trial, trial_count
from ganglion.model.errors import NotFound
from ganglion.model.workload import SPARE, Gang, Kind, Run, Workload

PARAM_PREFIX = "GANGLION_PARAM_"
"""Prefix of the environment variables that carry a trial's parameters, in upper case."""


def gangs_of(workload_id: str, workload: Workload, submitted_ms: int) -> tuple[Gang, ...]:
    """All gangs of a workload, by index.

    A service has one per replica, a sweep one per trial, anything else exactly one.

    Args:
        workload_id: its id.
        workload: what was submitted; `after` and `after_any` must hold workload ids.
        submitted_ms: when it was submitted.
    """
    return tuple(
        _gang(workload_id, workload, submitted_ms, index) for index in range(gang_count(workload))
    )


def gang_count(workload: Workload) -> int:
    """How many gangs a workload begins with; a service of no replicas has one that sleeps."""
    if workload.kind is Kind.SERVICE:
        return max(1, workload.replicas)
    return trial_count(workload) or 1 if workload.kind is Kind.SWEEP else 1


def replica_of(workload_id: str, workload: Workload, submitted_ms: int, index: int) -> Gang:
    """One more replica of a service; arguments as of `gangs_of`."""
    return _gang(workload_id, workload, submitted_ms, index)


def params_of(workload: Workload, index: int) -> dict[str, str]:
    """The parameters of one trial; empty when the workload is no sweep.

    Raises:
        NotFound: there is no gang of that index.
    """
    _known(workload, index)
    swept = workload.kind is Kind.SWEEP and trial_count(workload)
    return trial(workload, index) if swept else {}


def run_of(workload: Workload, index: int) -> Run:
    """What the gang of that index executes.

    Every parameter of a trial is the variable GANGLION_PARAM_<NAME>, and `{name}` in the
    command, the setup and the environment is replaced by its value. `${name}` is the shell's
    and stays.

    Raises:
        NotFound: there is no gang of that index.
    """
    params = params_of(workload, index)
    run = workload.run
    if not params:
        return run
    env = {name: _filled(value, params) for name, value in run.env.items()}
    given = {f"{PARAM_PREFIX}{name.upper()}": value for name, value in params.items()}
    return structs.replace(
        run,
        command=tuple(_filled(word, params) for word in run.command),
        setup=_filled(run.setup, params),
        env=env | given,
    )


def _known(workload: Workload, index: int) -> None:
    count = gang_count(workload)
    # Replicas come and go; their numbers only grow.
    if index < 0 or (index >= count and workload.kind is not Kind.SERVICE):
        last = f"they are numbered 0 to {count - 1}"
        raise NotFound(f"{workload.name} has no gang {index}", last)


def _filled(text: str, params: Mapping[str, str]) -> str:
    names = "|".join(re.escape(name) for name in params)
    return re.sub(rf"(?<!\$)\{{({names})\}}", lambda match: params[match[1]], text)


def _is_spare(workload: Workload, index: int) -> bool:
    least = workload.parallel_min if workload.kind is Kind.SWEEP else 0
    return 0 < least <= index


def _gang(workload_id: str, workload: Workload, submitted_ms: int, index: int) -> Gang:
    return Gang(
        id=f"{workload_id}/{index}",
        workload=workload_id,
        queue=workload.queue,
        user=workload.user,
        kind=workload.kind,
        priority=SPARE if _is_spare(workload, index) else workload.priority,
        preemptible=workload.preemptible,
        pod_sets=workload.pod_sets,
        topology=workload.topology,
        constraints=workload.constraints,
        submitted=submitted_ms,
        time_limit_ms=workload.time_limit_ms,
        checkpoint=workload.checkpoint,
        after=workload.after,
        after_any=workload.after_any,
        held=workload.held,
        index=index,
        parallel=workload.parallel,
        name=workload.name,
        replace=workload.retry.replace,
        spread=workload.spread,
        deadline_ms=workload.deadline.of(submitted_ms) if workload.deadline else 0,
        floor=workload.scaling.floor if workload.scaling else 0,
        model=workload.model,
        cap=workload.cap,
    )
