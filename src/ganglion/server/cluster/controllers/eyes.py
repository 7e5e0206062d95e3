"""What a scheduler knows of its clusters, for the keepers of services and workspaces."""

from collections.abc import Collection, Mapping, Sequence

from ganglion.engine.upkeep.scale_down import to_release
from ganglion.server.cluster.activity.exporters import exporters
from ganglion.server.cluster.controllers.sight import ClusterSight
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.types.pod import Pod


def sight_of(scheduler: Scheduler, cluster: str) -> ClusterSight:
    """Look at one of a scheduler's clusters."""

    def known() -> list[Pod]:
        with scheduler.read() as controller:
            return list(controller.sites[cluster].pods.values())

    def pods(namespaces: Collection[str]) -> Mapping[str, Sequence[Pod]]:
        found: dict[str, list[Pod]] = {each: [] for each in namespaces}
        for each in known() if found else ():
            if each.metadata.namespace in found:
                found[each.metadata.namespace].append(each)
        return found

    def worst(among: Sequence[Pod], count: int) -> Sequence[str]:
        with scheduler.read() as controller:
            return _worst(controller.scene, among, count)

    def exporters_on(node: str) -> Sequence[str]:
        return exporters(each for each in known() if each.spec.node_name == node).get(node, ())

    return ClusterSight(pods, worst, exporters_on)


def _worst(scene: ControllerState, pods: Sequence[Pod], count: int) -> Sequence[str]:
    """Those that wait, then as the engine would have it, then others; the last that came first."""
    staying = [each for each in pods if not each.is_leaving]
    late = sorted(staying, key=lambda pod: pod.metadata.creation_timestamp, reverse=True)
    waiting = [each.metadata.uid for each in late if not each.spec.node_name]
    bound = [each.metadata.uid for each in late if each.spec.node_name]
    gangs: dict[str, list[str]] = {}
    for uid in bound:
        if uid in scene.attempts.seated:
            gangs.setdefault(scene.attempts.seated[uid], []).append(uid)
    released = to_release(scene.state, list(gangs), max(0, count - len(waiting)))
    ranked = [*waiting, *(uid for gang in released for uid in gangs[gang]), *bound]
    return list(dict.fromkeys(ranked))[:count]
