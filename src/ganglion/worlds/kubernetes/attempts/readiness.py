"""Gangs that never become ready give their place back.

The clock runs from the binding. A gang counts as ready once all of its pods were ready together
for a minute: a container that crashes again and again is ready for moments. One that is not in
time leaves, waits, and is tried again; what kept it is reported. A node is blamed only if the
same gang becomes ready elsewhere, or a second one of another namespace fails on it as well.
"""

from collections.abc import Iterator

from ganglion.model.workload import Kind
from ganglion.specs.grammar.times.durations import print_duration
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt, AttemptStage
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.controller_state.failed_starts import Unready
from ganglion.worlds.kubernetes.types.pod import ContainerStatus, Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang

STEADY_MS = 60_000
"""How long all pods have to be ready together."""
MOST_DOUBLINGS = 6
SUSPECT_MS = 3_600_000
"""How long a node is remembered on which a gang did not become ready."""

_STARTING = frozenset(("ContainerCreating", "PodInitializing"))


def within_ms(scene: ControllerState, found: FoundGang) -> int:
    """How long a gang has to become ready, in ms; 0 = no limit.

    The policy's time is for gangs of several pods that an owner makes anew. Services load models
    and workspaces are waited for by people: they have a time only where they name one.
    """
    if found.ready_within_ms is not None:
        return found.ready_within_ms
    several = sum(each.count for each in found.sets) > 1
    usual = found.kind not in (Kind.SERVICE, Kind.WORKSPACE)
    return (
        scene.state.config.policy.failures.ready_within_ms
        if several and usual and found.owner
        else 0
    )


def next_look(scene: ControllerState, attempt: Attempt) -> int | None:
    """When the time alone makes a difference, in ms; None = it does not."""
    found = scene.gangs.founds.get(attempt.gang)
    if attempt.stage is not AttemptStage.BOUND or attempt.steady or found is None:
        return None
    if attempt.ready_since:
        return attempt.ready_since + STEADY_MS
    limit = within_ms(scene, found)
    return attempt.bound_at + limit if limit else None


def follow(scene: ControllerState, attempt: Attempt, found: FoundGang | None, now: int) -> str:
    """See whether a bound gang is ready.

    Returns:
        Why it is to leave; empty = it stays.
    """
    if attempt.stage is not AttemptStage.BOUND or attempt.steady or found is None:
        return ""
    waiting = list(_not_ready(scene, attempt))
    if attempt.ready_since and now - attempt.ready_since >= STEADY_MS:
        attempt.steady = True
        _ready(scene, attempt, now)
        return ""
    attempt.ready_since = 0 if waiting else attempt.ready_since or now
    limit = within_ms(scene, found)
    if not waiting or not limit or now - attempt.bound_at < limit:
        return ""
    why = f"not ready within {print_duration(limit)}: {_told(waiting)}"
    _failed(scene, attempt, found, waiting, why, now)
    return why


def is_ready(pod: Pod) -> bool:
    """Whether a pod says that it is ready."""
    ready = pod.condition("Ready")
    return ready is not None and ready.status == "True"


def backoff_ms(scene: ControllerState, gang: str) -> int:
    """How long a gang that was not ready in time waits before the next try."""
    times = scene.starts.unready[gang].times
    return scene.settings.unready_ms << min(times - 1, MOST_DOUBLINGS)


def _not_ready(scene: ControllerState, attempt: Attempt) -> Iterator[Pod]:
    pods = scene.sites[attempt.cluster].pods
    for uid in attempt.pods.values():
        if uid in pods and not is_ready(pods[uid]):
            yield pods[uid]


def _told(waiting: list[Pod]) -> str:
    """Which container keeps a gang waiting, and why; the worst reason first."""
    told = [_of_pod(pod) for pod in waiting]
    first = next((each for each in told if each[0]), told[0])
    more = f" (and {len(waiting) - 1} more pods)" if len(waiting) > 1 else ""
    return first[1] + more


def _of_pod(pod: Pod) -> tuple[bool, str]:
    """Whether a pod says why it is not ready, and what."""
    status = pod.status
    for each in (*status.init_container_statuses, *status.container_statuses):
        why = _of_container(each)
        if why:
            return True, f"container {each.name} of pod {pod.metadata.name}: {why}"
    ready = pod.condition("Ready")
    why = ready.message or ready.reason if ready else f"its phase is {status.phase}"
    return False, f"pod {pod.metadata.name}: {why}"


def _of_container(status: ContainerStatus) -> str:
    waits, ended = status.state.waiting, status.last_state.terminated
    if waits and waits.reason and waits.reason not in _STARTING:
        told = ": ".join(filter(None, (waits.reason, waits.message)))
        code = f" (exit code {ended.exit_code})" if ended else ""
        return told + code
    over = status.state.terminated
    if over and over.exit_code:
        return f"{over.reason or 'ended'} (exit code {over.exit_code})"
    return ""


def _failed(
    scene: ControllerState,
    attempt: Attempt,
    found: FoundGang,
    waiting: list[Pod],
    why: str,
    now: int,
) -> None:
    known = scene.starts.unready.get(attempt.gang)
    nodes = {each.spec.node_name for each in waiting}
    whole = {each.node for each in attempt.places.values()}
    # Where all nodes of several fail alike, none of them is the cause.
    suspects = nodes if len(whole) == 1 or len(nodes) < len(whole) else set[str]()
    before = known.nodes if known else frozenset[str]()
    times = known.times + 1 if known else 1
    attempt.is_late = True
    scene.starts.unready[attempt.gang] = Unready(times, why, before | suspects, now + SUSPECT_MS)
    prefix = scene.sites[attempt.cluster].prefix
    for node in sorted(suspects):
        if scene.starts.suspect(prefix + node, found.namespace, now, SUSPECT_MS):
            why = "gangs of two namespaces were not ready on it"
            _blame(scene, attempt.cluster, node, why, now)


def _ready(scene: ControllerState, attempt: Attempt, now: int) -> None:
    """A gang that was not ready before is: the nodes of before are to blame."""
    known = scene.starts.unready.pop(attempt.gang, None)
    prefix = scene.sites[attempt.cluster].prefix
    here = {each.node.removeprefix(prefix) for each in attempt.places.values()}
    for node in sorted(known.nodes - here) if known else ():
        why = f"{attempt.gang} was not ready on it and is ready elsewhere"
        _blame(scene, attempt.cluster, node, why, now)


def _blame(scene: ControllerState, cluster: str, node: str, why: str, now: int) -> None:
    site = scene.sites[cluster]
    scene.quarantine.shut(site.prefix + node, why, now)
    site.changed_nodes.add(node)
    scene.tell_quarantine(site, node, now)
