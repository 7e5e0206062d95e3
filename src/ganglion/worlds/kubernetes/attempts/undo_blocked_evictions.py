"""Victims that a disruption budget keeps where they are: in the end they run on.

Budgets are looked at before victims are chosen, so this happens only when one was made, or used
up, in between, or the API server says no for another reason. The gang promised the place looks
for another one, where these are left alone for a while. Pods that have gone already are made anew
by their owner and come back to their places.
"""

from msgspec.structs import replace

from ganglion.model.events import GangEnded, GangPlaced, GangReserved, GangStarted, Outcome
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase
from ganglion.worlds.kubernetes.attempts.plan_to_orders import nominate
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt, AttemptStage
from ganglion.worlds.kubernetes.cluster_view.orders import Spare
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState

SPARED = 5
"""They are not asked again for this number of times as long as they were asked."""


def revive_blocked(scene: ControllerState, now: int) -> None:
    """Let those run on that were asked to leave for long enough."""
    # A gang that was spared may be asked again.
    scene.state.progress.changed(scene.evictions.expire(now))
    for gang, since in list(scene.evictions.blocked.items()):
        attempt = scene.attempts.by_gang.get(gang)
        if attempt is None or attempt.stage is not AttemptStage.LEAVING:
            del scene.evictions.blocked[gang]
        elif now - since >= scene.settings.blocked_ms and _is_stuck(scene, attempt):
            del scene.evictions.blocked[gang]
            _revive(scene, attempt, now)


def _is_stuck(scene: ControllerState, attempt: Attempt) -> bool:
    """Whether some of its pods stay, and none is still on its way."""
    pods = scene.sites[attempt.cluster].pods
    staying = [pods[uid] for uid in attempt.pods.values() if uid in pods]
    return bool(staying) and not any(pod.is_leaving for pod in staying)


def _revive(scene: ControllerState, attempt: Attempt, now: int) -> None:
    record, gang = scene.record(attempt.gang), attempt.gang
    if record is None or record.phase is not Phase.STOPPING or record.placement is None:
        return
    place, since, ran = record.placement, record.placed_at, attempt.running
    _break_promises(scene, place, now)
    scene.facts.apply(GangEnded(now, gang, attempt.number, Outcome.PREEMPTED, requeue=True))
    attempt.number += 1
    scene.facts.apply(GangPlaced(since, gang, attempt.number, replace(place)))
    attempt.running = ran and scene.facts.apply(GangStarted(since, gang, attempt.number))
    attempt.enter(AttemptStage.BOUND, now)
    attempt.cause = None
    attempt.vacant = dict.fromkeys(attempt.vacant, now)
    scene.evictions.spared[gang] = now + SPARED * scene.settings.blocked_ms
    scene.gangs.touched.add(gang)
    scene.orders.append(Spare(gang, tuple(scene.living(attempt))))


def _break_promises(scene: ControllerState, place: Placement, now: int) -> None:
    """Withdraw other gangs' nominations on the nodes where the pods stay."""
    nodes = {pod.node for pod in place.pods}
    for gang in list(scene.state.holdings.promised):
        promise = scene.state.gangs.records[gang].promise
        if promise and any(pod.node in nodes for pod in promise.pods):
            scene.facts.apply(GangReserved(now, gang, None))
            nominate(scene, gang, None)
