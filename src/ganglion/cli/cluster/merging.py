"""What the scheduler knows of a workload, added to what the cluster says about it."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from ganglion.api.workloads import GangView, WorkloadBase, WorkloadDetail, WorkloadView
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.finding import SeenWorkload

B = TypeVar("B", bound=WorkloadBase)

WAITS = ("QUEUED", "STARTING")


def matching(
    seen: SeenWorkload, items: Iterable[WorkloadView], namespace: str
) -> list[WorkloadView]:
    """What the scheduler calls a workload: one item for each gang that has an object of its own."""
    labels = (main.spec.template.metadata.labels for main in seen.mains)
    groups = {each[names.GANG] for each in labels if names.GANG in each}
    known = {seen.name, *groups, *(main.metadata.name for main in seen.mains)}
    return [item for item in items if plain_name(item, namespace) in known]


def plain_name(item: WorkloadBase, namespace: str) -> str:
    """Name of a workload of the namespace; empty when it is of another one."""
    if item.user != namespace:
        return ""
    return item.name.removeprefix(f"{namespace}/")


def enriched(view: B, items: Sequence[WorkloadBase]) -> B:
    """A view with reasons, position and losses as the scheduler knows them."""
    waiting = next((item for item in items if item.reason), None)
    if waiting and view.state in WAITS:
        view.reason, view.message = waiting.reason, waiting.message
    view.position = min((item.position for item in items if item.position), default=None)
    view.waits_for = tuple(name for item in items for name in item.waits_for)
    view.preemptions = sum(item.preemptions for item in items)
    view.lost_gpu_ms = sum(item.lost_gpu_ms for item in items)
    if items and not view.over:
        # A share given in memory is a fraction of the GPU that it lies on: the cluster knows none.
        view.gpus = view.gpus or sum(item.gpus for item in items)
        view.gpus_held = view.gpus_held or sum(item.gpus_held for item in items)
    view.queue = view.queue or next((item.queue for item in items), "")
    return view


def enriched_detail(view: WorkloadDetail, items: Sequence[WorkloadDetail]) -> WorkloadDetail:
    """The same for everything about a workload, gang by gang."""
    known = [gang for item in items for gang in item.gangs]
    alike = dict(zip((gang.index for gang in view.gangs), known, strict=False))
    several = len(known) == len(view.gangs)
    for gang in view.gangs:
        # Objects of one gang each are in the same order here and there.
        found = alike.get(gang.index) if several else None
        if found:
            _enrich(gang, found)
    return enriched(view, items)


def _enrich(gang: GangView, known: GangView) -> None:
    if gang.phase in ("pending", "reserved"):
        gang.reason = known.reason or gang.reason
    gang.promise, gang.waits_for = known.promise, known.waits_for
    gang.preemptions, gang.lost_gpu_ms = known.preemptions, known.lost_gpu_ms
    gang.restarts, gang.saved = max(gang.restarts, known.restarts), known.saved
