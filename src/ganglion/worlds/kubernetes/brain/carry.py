"""Plans turned into what is to be written."""

from ganglion.model.events import GangReserved
from ganglion.model.placement import Placement
from ganglion.model.plan import Plan, Resize, Start, Stop
from ganglion.worlds.kubernetes.act.series import About
from ganglion.worlds.kubernetes.brain.attempt import Attempt, Stage
from ganglion.worlds.kubernetes.brain.judge import Judge
from ganglion.worlds.kubernetes.brain.orders import Nominate, Note, PodRef
from ganglion.worlds.kubernetes.brain.scene import Scene
from ganglion.worlds.kubernetes.brain.tend import drop, leave, tend
from ganglion.worlds.kubernetes.names import PREEMPTED


def carry(scene: Scene, judge: Judge, plan: Plan) -> None:
    """Order what was decided: whoever gets a place is told before anybody leaves it."""
    for decision in plan.decisions:
        if isinstance(decision, GangReserved):
            nominate(scene, decision.gang, decision.placement)
    for stop in plan.stops:
        _stop(scene, stop, plan.at)
    for resize in plan.resizes:
        _resize(scene, judge, resize, plan.at)
    for start in plan.starts:
        _start(scene, judge, start, plan.at)


def nominate(scene: Scene, gang: str, placement: Placement | None) -> None:
    """Write on a gang's pods where they are going to run, or that they are not."""
    found = scene.founds.get(gang)
    if found is None:
        return
    site = scene.site_of(gang)
    places = placement.pods if placement else ()
    free = {(pod.pod_set, pod.index): pod for pod in places}
    nodes: list[tuple[PodRef, str]] = []
    counts: dict[str, int] = {}
    for member in found.members:
        number = counts.get(member.pod_set, 0)
        counts[member.pod_set] = number + 1
        place = free.get((member.pod_set, number))
        node = scene.site_of_node(place.node)[1] if place else ""
        if member.pod.status.nominated_node_name != node:
            nodes.append((site.ref(member.pod), node))
    if nodes:
        scene.orders.append(Nominate(gang, tuple(nodes)))


def _stop(scene: Scene, stop: Stop, now: int) -> None:
    attempt = scene.attempts.get(stop.gang)
    if attempt is None or attempt.number != stop.attempt or attempt.stage is Stage.LEAVING:
        return
    _, _, beneficiary = stop.cause.partition(" for ")
    leave(scene, attempt, stop.cause, beneficiary, now)
    note(scene, stop.gang, PREEMPTED, "Preempting", stop.cause, warning=True)
    scene.touched.add(stop.gang)


def _resize(scene: Scene, judge: Judge, resize: Resize, now: int) -> None:
    attempt = scene.attempts.get(resize.gang.id)
    if attempt is None or attempt.number != resize.attempt:
        return
    gone = attempt.resize(resize.placement)
    drop(scene, attempt, gone, resize.cause)
    tend(scene, judge, attempt, now)


def _start(scene: Scene, judge: Judge, start: Start, now: int) -> None:
    gang = start.gang.id
    found = scene.founds.get(gang)
    attempt = Attempt(
        gang,
        start.attempt,
        scene.site_of(gang).name,
        {(pod.pod_set, pod.index): pod for pod in start.placement.pods},
        since=now,
        owner=found.owner if found else None,
    )
    scene.attempts[gang] = attempt
    scene.awaited.pop(gang, None)
    tend(scene, judge, attempt, now)


def note(
    scene: Scene, gang: str, reason: str, action: str, message: str, *, warning: bool = False
) -> None:
    """Record an event about a gang's owner, or its first pod."""
    found, site = scene.founds.get(gang), scene.site_of(gang)
    if found and found.owner:
        owner = found.owner
        about = About(owner.api_version, owner.kind, owner.namespace, owner.name, owner.uid)
    elif found and found.members:
        meta = found.members[0].pod.metadata
        about = About("v1", "Pod", meta.namespace, meta.name, meta.uid)
    else:
        return
    scene.orders.append(Note(site.name, about, reason, action, message, warning))
