"""Other places for pods that kubelets did not admit, so that none is sent there for ever."""

from ganglion.engine.repair import elsewhere
from ganglion.model.events import GangResized
from ganglion.worlds.kubernetes.brain.attempt import Attempt
from ganglion.worlds.kubernetes.brain.scene import Scene


def reseat(scene: Scene, attempt: Attempt, now: int) -> str:
    """Give places on other nodes to refused pods, or to whoever is made in their stead.

    A node that refused once may have been busy; only one that is shut for it is avoided. Where
    no pod of the gang sits anywhere, all of it is placed anew.

    Returns:
        Why the gang cannot go on as it sits; empty = it can.
    """
    if not attempt.pods:
        nodes = {attempt.places[each].node for each in attempt.refused}
        return f"refused by {', '.join(sorted(nodes))}"
    record = scene.record(attempt.gang)
    if record is None or record.placement is None:
        return ""
    lost = tuple(
        pod
        for pod in record.placement.pods
        if (pod.pod_set, pod.index) in attempt.refused and scene.quarantine.reason(pod.node, now)
    )
    if not lost:
        return ""
    cause = f"refused by {', '.join(sorted({pod.node for pod in lost}))}"
    place = elsewhere(scene.state, record, lost)
    if place is None:
        return f"{cause}, and there is no other place for those pods alone"
    scene.apply(GangResized(now, attempt.gang, attempt.number, place, cause))
    attempt.resize(place)
    return ""
