"""Gangs that were found, brought to the engine's notice."""

from ganglion.model.errors import InputError
from ganglion.model.events import GangEnded, GangUpdated, Outcome
from ganglion.model.workload import Gang
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.cluster_view.gang_of import gang_of, submission
from ganglion.worlds.kubernetes.cluster_view.tenancy import home_queue, trespass, unguaranteed
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.feasibility.unsupported import needs_agent
from ganglion.worlds.kubernetes.feasibility_plugin.plugin import (
    FeasibilityPlugin,
    FeasibilityTurn,
)
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang

COMING_MS = 5_000
"""How long after the last pod others of its gang are expected: controllers make some a second."""

_DEFINING = (
    "queue",
    "user",
    "kind",
    "priority",
    "preemptible",
    "pod_sets",
    "topology",
    "constraints",
    "checkpoint",
    "name",
)
"""What makes a waiting gang another one."""


def admit(
    scene: ControllerState, feasible: FeasibilityTurn, site: ClusterView, gang_id: str, now: int
) -> None:
    """Bring one waiting gang up to date, or let the engine forget it."""
    found, record = scene.gangs.founds.get(gang_id), scene.record(gang_id)
    if found is None:
        scene.gangs.complaints.pop(gang_id, None)
        if record and gang_id not in scene.gangs.awaited:
            forget(scene, feasible.plugin, gang_id, now)
        return
    if found.members:
        scene.gangs.awaited.pop(gang_id, None)
    scene.facts.understood("gang", gang_id)
    if found.refused:
        scene.facts.set_apart("gang", gang_id, found.refused)
    lacks = "" if is_being_made(found, now) else found.lacking
    complaint = found.refused or _settled(found) or misfit(scene, site, found) or lacks
    try:
        gang = None if complaint else gang_for(scene, feasible, site, found, now)
        complaint = complaint or (beyond_guarantee(scene, gang) if gang else "")
    except Exception as error:
        complaint, gang = scene.facts.failed("gang", gang_id, error), None
    if complaint:
        scene.gangs.complaints[gang_id], gang = complaint, None
    else:
        scene.gangs.complaints.pop(gang_id, None)
    if gang is None:
        _hold(scene, gang_id, now)
    elif record is None:
        scene.facts.apply(submission(now, gang, found))
    elif any(getattr(record.gang, name) != getattr(gang, name) for name in _DEFINING):
        _withdraw(scene, gang_id, now)
        scene.facts.apply(submission(now, gang, found))
    elif record.gang.held:
        scene.facts.apply(GangUpdated(now, gang_id, held=False))


def is_being_made(found: FoundGang, now: int) -> bool:
    """Whether the owner of a gang is making its pods: it is looked for a place for them already.

    What has to leave for them leaves while they are made. None is bound before all are there, and
    the place is given back where they do not come.
    """
    return found.is_coming and found.got_pods(now, COMING_MS)


def _settled(found: FoundGang) -> str:
    """Why nothing is left to be placed; empty = something is.

    Pods that were bound before they could be understood stay where they are.
    """
    if found.members and all(each.pod.spec.node_name for each in found.members):
        return "its pods run where they are, and are counted as those of others"
    return ""


def forget(scene: ControllerState, rules: FeasibilityPlugin, gang_id: str, now: int) -> None:
    """A gang that waits is no more."""
    _withdraw(scene, gang_id, now)
    scene.starts.unready.pop(gang_id, None)
    rules.unlearn(gang_id)


def _withdraw(scene: ControllerState, gang_id: str, now: int) -> None:
    """Have the engine forget a gang that waits."""
    record = scene.record(gang_id)
    if record:
        scene.facts.apply(GangEnded(now, gang_id, record.attempt, Outcome.CANCELLED))
        scene.state.gangs.forget(gang_id)
    scene.gangs.awaited.pop(gang_id, None)
    scene.starts.failures.pop(gang_id, None)


def queue_of(scene: ControllerState, site: ClusterView, found: FoundGang) -> str:
    """The queue that a gang is charged to; empty = none is named anywhere."""
    labels = site.crowd.namespaces.get(found.namespace, {})
    return home_queue(found, labels, scene.settings.default_queue)


def misfit(scene: ControllerState, site: ClusterView, found: FoundGang) -> str:
    """What is wrong with a gang's queue; empty = nothing."""
    queue = queue_of(scene, site, found)
    if not queue:
        return f"it names no queue, and namespace {found.namespace} has none (label {names.QUEUE})"
    if queue not in scene.state.queues.by_name:
        return f"there is no queue {queue}"
    if not scene.state.queues.shares.is_leaf(queue):
        return f"queue {queue} has queues under it and takes no pods itself"
    labels = site.crowd.namespaces.get(found.namespace, {})
    return trespass(scene.tenancy, found, queue, labels)


def beyond_guarantee(scene: ControllerState, gang: Gang) -> str:
    """What of a gang its namespace has no right to; empty = nothing."""
    path = [scene.state.queues.by_name[name] for name in scene.state.queues.shares.path(gang.queue)]
    return unguaranteed(scene.tenancy, gang, path)


def gang_for(
    scene: ControllerState, feasible: FeasibilityTurn, site: ClusterView, found: FoundGang, now: int
) -> Gang:
    """The gang for the engine.

    Raises:
        GanglionError: what is wrong about its pods.
    """
    gang_id = site.prefix + found.key
    if not scene.settings.device_agent:
        why = next(filter(None, (needs_agent(each.request) for each in found.sets)), "")
        if why:
            raise InputError(why)
    feasible.learn(site, gang_id, found)
    record = scene.record(gang_id)
    submitted = record.gang.submitted if record else min(found.created_ms or now, now)
    gang = gang_of(
        found,
        site.types_of,
        site.asks.of,
        feasible.hints(gang_id),
        prefix=site.prefix,
        cluster=site.name,
        queue=queue_of(scene, site, found),
        user=found.creator if scene.settings.records_users else "",
        submitted=submitted,
    )
    site.images.want(gang.images)
    return gang


def _hold(scene: ControllerState, gang_id: str, now: int) -> None:
    """Keep a gang the engine knows in its place in line, but out of consideration."""
    record = scene.record(gang_id)
    if record and not record.gang.held:
        scene.facts.apply(GangUpdated(now, gang_id, held=True))
