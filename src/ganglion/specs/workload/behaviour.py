"""Sections on a workload's behaviour, into the structs that the engine and worlds know."""

from typing import TYPE_CHECKING

from ganglion.model.behaviour import (
    EarlyStop,
    Hint,
    Idle,
    Notify,
    Overlap,
    Scaling,
    Schedule,
    Search,
    Standby,
)
from ganglion.specs.workload.behaviour_schema import (
    EarlyStopFile,
    HintFile,
    IdleFile,
    NotifyFile,
    ScaleFile,
    ScheduleFile,
    SearchFile,
    StandbyFile,
)

if TYPE_CHECKING:
    from ganglion.specs.workload.schema import WorkloadFile


def scaling_of(doc: "WorkloadFile") -> Scaling | None:
    """How a service scales; None = it keeps its replicas."""
    given = doc.scale
    return _scaling(given, doc.replicas.low, doc.replicas.high) if given else None


def _scaling(given: ScaleFile, floor: int, ceiling: int) -> Scaling:
    return Scaling(
        floor=floor,
        ceiling=ceiling,
        targets=given.targets,
        source=given.source,
        query=given.query,
        path=given.path,
        window_ms=given.window,
        panic_window_ms=given.panic_window,
        panic_milli=given.panic,
        up=given.up,
        down=given.down,
        hold_down_ms=given.hold_down,
        idle_ms=given.zero_after,
        cold_start_ms=given.cold_start,
        start_within_ms=given.start_within,
        start_milli=given.on_time,
        hints=tuple(_hint(each) for each in given.hints),
        drain_ms=given.drain,
        standby=_standby(given.standby),
        affinity=given.affinity,
    )


def _hint(given: HintFile) -> Hint:
    return Hint(given.cron, given.lasts, given.replicas, given.zone)


def _standby(given: StandbyFile | None) -> Standby | None:
    return Standby(given.replicas, given.notice) if given else None


def idle_of(given: IdleFile) -> Idle:
    """How a workspace is found idle."""
    return Idle(given.warn, given.gpu, given.traffic, given.hours, given.save)


def search_of(given: SearchFile | None) -> Search | None:
    """How trials are drawn; None = all combinations are tried."""
    return Search(given.trials, given.seed) if given else None


def early_stop_of(given: EarlyStopFile | None) -> EarlyStop | None:
    """Which trials are given up; None = none."""
    if given is None:
        return None
    return EarlyStop(given.metric, given.goal == "max", given.first, given.factor)


def schedule_of(given: ScheduleFile | None) -> Schedule | None:
    """When it is submitted again; None = once is enough."""
    if given is None:
        return None
    return Schedule(given.cron, given.zone, Overlap(given.overlap), given.keep)


ANY = "any:"
"""Prefix of a name in `after`: it must have ended, well or not."""


def awaited(after: tuple[str, ...], *, well: bool) -> tuple[str, ...]:
    """Names out of `after` that must have succeeded, or only have ended."""
    if well:
        return tuple(each for each in after if not each.startswith(ANY))
    return tuple(each.removeprefix(ANY) for each in after if each.startswith(ANY))


def notify_of(given: NotifyFile | None) -> Notify | None:
    """Whom to notify."""
    if given is None:
        return None
    return Notify(
        *(given.on, given.mail, given.command, given.webhook, given.signing_key), given.waiting
    )
