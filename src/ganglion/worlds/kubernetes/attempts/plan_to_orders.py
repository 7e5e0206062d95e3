"""Plans turned into what is to be written."""

from collections.abc import Callable
from functools import partial

from ganglion.model.causes import Cause, CauseKind, sentence, suspends
from ganglion.model.events import GangReserved
from ganglion.model.placement import Placement
from ganglion.model.plan import Plan, Resize, Start, Stop
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.attempts.lifecycle import drop, leave, tend
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt, AttemptStage
from ganglion.worlds.kubernetes.cluster_view.orders import Nominate, PodRef
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.feasibility_plugin.plugin import FeasibilityPlugin
from ganglion.worlds.kubernetes.reasons.noting import note


def carry(scene: ControllerState, rules: FeasibilityPlugin, plan: Plan) -> None:
    """Order what was decided: nominations are written before any pod leaves its place."""
    for decision in plan.decisions:
        if isinstance(decision, GangReserved):
            nominate(scene, decision.gang, decision.placement)
    steps: list[tuple[str, Callable[[], None]]] = [
        *((each.gang, partial(stop, scene, each, plan.at)) for each in plan.stops),
        *((each.gang.id, partial(_resize, scene, rules, each, plan.at)) for each in plan.resizes),
        *((each.gang.id, partial(_start, scene, rules, each, plan.at)) for each in plan.starts),
    ]
    for gang, step in steps:
        try:
            step()
        except Exception as error:
            scene.facts.failed("gang", gang, error)


def nominate(scene: ControllerState, gang: str, placement: Placement | None) -> None:
    """Write on a gang's pods where they are going to run, or that they are not."""
    found = scene.gangs.founds.get(gang)
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


def stop(scene: ControllerState, wish: Stop, now: int) -> None:
    """Order a gang to leave that the engine counts as stopping, and say why."""
    attempt = scene.attempts.by_gang.get(wish.gang)
    if attempt is None or attempt.number != wish.attempt or attempt.stage is AttemptStage.LEAVING:
        return
    leave(scene, attempt, wish.cause, now)
    reason, action = (
        (names.BUDGET, "Suspending") if suspends(wish.cause) else (names.PREEMPTED, "Preempting")
    )
    note(scene, wish.gang, reason, action, sentence(wish.cause), warning=True)
    scene.gangs.touched.add(wish.gang)


def _resize(scene: ControllerState, rules: FeasibilityPlugin, resize: Resize, now: int) -> None:
    attempt = scene.attempts.by_gang.get(resize.gang.id)
    if attempt is None or attempt.number != resize.attempt:
        return
    gone = attempt.resize(resize.placement)
    drop(scene, attempt, gone, resize.cause or Cause(CauseKind.OTHER))
    tend(scene, rules, attempt, now)


def _start(scene: ControllerState, rules: FeasibilityPlugin, start: Start, now: int) -> None:
    gang = start.gang.id
    found = scene.gangs.founds.get(gang)
    attempt = Attempt(
        gang,
        start.attempt,
        scene.site_of(gang).name,
        {(pod.pod_set, pod.index): pod for pod in start.placement.pods},
        since=now,
        owner=found.owner if found else None,
    )
    scene.attempts.begin(attempt)
    scene.gangs.awaited.pop(gang, None)
    tend(scene, rules, attempt, now)
