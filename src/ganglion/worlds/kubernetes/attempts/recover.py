"""What a scheduler that was killed had begun, found again in the cluster itself.

Pods that are bound run where they are. A gang of which only a part is bound gets places for
the rest, or is taken apart. Pods that say where they are going to run hold a promise again,
together with the victims that were marked for it; marks without a beneficiary are removed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial as bind

from msgspec.structs import replace

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.timeline.nominations import condition_of, overfull
from ganglion.engine.topology.pod_shape import shapes_of
from ganglion.engine.upkeep.replace_pods import completed
from ganglion.model.causes import Cause, CauseKind, suspends
from ganglion.model.events import (
    GangEnded,
    GangPlaced,
    GangReserved,
    GangStarted,
    GangStopping,
    GangSubmitted,
    GangUpdated,
    Outcome,
)
from ganglion.model.fleet.node import Device
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.resources import WHOLE, GpuRequest
from ganglion.model.workload import Gang, PodSet
from ganglion.worlds.causes import cause_for
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.attempts.admit import admit, gang_for, queue_of
from ganglion.worlds.kubernetes.attempts.lifecycle import leave
from ganglion.worlds.kubernetes.attempts.readiness import is_ready
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt, AttemptStage
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.cluster_view.gang_of import request_of, submission
from ganglion.worlds.kubernetes.cluster_view.orders import Evict, Nominate, PodRef, Spare
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.feasibility_plugin.plugin import FeasibilityTurn
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.times import read_ms
from ganglion.worlds.kubernetes.types.victims import victim_of
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang, Member
from ganglion.worlds.kubernetes.write_rules.devices import recorded

BEGUN = "begun/"
"""Ids under which pods of incomplete gangs are counted while the scheduler starts."""

LEAVING = "leaving/"
"""Ids of pods that were on their way out when the scheduler started."""


def adopt(scene: ControllerState, feasible: FeasibilityTurn, now: int) -> None:
    """Take over a cluster as it is. Nodes and queues are known to the engine already.

    A gang that cannot be understood runs on: its pods count as those of others.
    """
    begun = [gang for gang in sorted(scene.gangs.founds) if _is_begun(scene.gangs.founds[gang])]
    partial: list[str] = []

    def each(gangs: Sequence[str], step: Callable[[str], object]) -> None:
        for gang in gangs:
            try:
                step(gang)
            except Exception as error:
                scene.facts.failed("gang", gang, error)

    def whole(gang: str) -> None:
        if not _adopt(scene, feasible, gang, now, whole=True):
            partial.append(gang)

    def rest(gang: str) -> None:
        _give_seats_back(scene, gang, now)
        _adopt(scene, feasible, gang, now, whole=False)

    # Places for the rest of a gang are looked for when all that is taken is known.
    each(begun, whole)
    each(partial, lambda gang: _keep_seats(scene, feasible, gang, now))
    for site in scene.sites.values():
        ours = site.instance.places
        leaving = [uid for uid, pod in site.pods.items() if pod.is_leaving and ours(pod)]
        given = [uid for uid in leaving if names.DEVICES in site.pods[uid].metadata.annotations]
        see_off = bind(_see_off, scene, site, now, {})
        each([*sorted(given), *sorted(set(leaving) - set(given))], see_off)
    wards = _wards(scene)
    each(sorted(scene.attempts.by_gang), lambda gang: _resume_victim(scene, gang, wards, now))
    each(sorted(wards), lambda gang: _promise_again(scene, feasible, gang, now))
    each(partial, rest)
    _spare_the_rest(scene)
    _disclaim_others(scene)


def claim_everything(scene: ControllerState) -> None:
    """Pods of ours that are bound do not count as foreign pods while nodes are described."""
    for site in scene.sites.values():
        for uid, pod in site.pods.items():
            if pod.spec.node_name and site.instance.places(pod):
                site.claim(uid)


def _disclaim_others(scene: ControllerState) -> None:
    """Whatever could not be adopted counts as a foreign pod."""
    for site in scene.sites.values():
        for uid, pod in site.pods.items():
            if (
                uid not in scene.attempts.seated
                and pod.spec.node_name
                and site.instance.places(pod)
            ):
                site.disclaim(uid)


def _is_begun(found: FoundGang) -> bool:
    return any(each.pod.spec.node_name for each in found.members)


def _adopt(
    scene: ControllerState, feasible: FeasibilityTurn, gang_id: str, now: int, *, whole: bool
) -> bool:
    """Bring a gang with bound pods to the engine as it sits.

    Returns:
        False when only one that is `whole` is wanted, and it is not.
    """
    site, found = scene.site_of(gang_id), scene.gangs.founds[gang_id]
    gang = gang_for(scene, feasible, site, found, now)
    seated = [each for each in found.members if each.pod.spec.node_name in site.nodes]
    if not seated:
        return True
    if whole and not _is_whole(gang, seated):
        # Without a queue it cannot be completed: its pods count as those of others.
        state = scene.state
        return gang.queue not in state.queues.by_name or not state.queues.shares.is_leaf(gang.queue)
    pods = _sitting(scene, site, gang, seated)
    place = Placement(tuple(pods)) if whole else _whole(scene, gang, pods)
    if place is None and not _has_begun(found, pods):
        refs = tuple(site.ref(each.pod) for each in seated)
        cause = Cause(CauseKind.START_FAILED, text="it was begun but not finished")
        scene.orders.append(Evict(gang_id, 0, refs, cause))
        return True
    submitted = submission(now, gang if place else _as_large_as(gang, pods), found)
    place = place or Placement(tuple(pods))
    since = _since(seated, now)
    if not scene.facts.take_over(submitted, GangPlaced(since, gang_id, 1, place)):
        return True  # its pods count as those of others
    if len(place.pods) < sum(each.count for each in gang.pod_sets):
        _ask_for_the_rest(scene, gang, now)
    attempt = Attempt(
        gang_id,
        1,
        site.name,
        {(pod.pod_set, pod.index): pod for pod in place.pods},
        stage=AttemptStage.BINDING,
        since=now,
        bound_at=since if whole else 0,
        steady=whole and all(is_ready(each.pod) for each in seated),
        running=_run(seated) and scene.facts.apply(GangStarted(since, gang_id, 1)),
        owner=found.owner,
    )
    scene.attempts.begin(attempt)
    for member, pod in zip(seated, pods, strict=True):
        attempt.take(member, (pod.pod_set, pod.index))
        scene.claim(attempt, member.pod.metadata.uid)
    scene.gangs.touched.add(gang_id)
    return True


def _ask_for_the_rest(scene: ControllerState, gang: Gang, now: int) -> None:
    """A gang that was brought in smaller than it is meant to be is to grow."""
    record = scene.record(gang.id)
    known = {each.name for each in record.gang.pod_sets} if record else set()
    counts = {each.name: each.count for each in gang.pod_sets if each.name in known}
    scene.facts.apply(GangUpdated(now, gang.id, counts=counts))


def _keep_seats(scene: ControllerState, feasible: FeasibilityTurn, gang_id: str, now: int) -> None:
    """Count the pods of a gang that sit, under another name, until its other places are found."""
    site, found = scene.site_of(gang_id), scene.gangs.founds[gang_id]
    gang = gang_for(scene, feasible, site, found, now)
    seated = [each for each in found.members if each.pod.spec.node_name in site.nodes]
    pods = _sitting(scene, site, gang, seated)
    keeper = replace(_as_large_as(gang, pods), id=BEGUN + gang_id, workload=BEGUN + gang_id)
    placed = GangPlaced(now, keeper.id, 1, Placement(tuple(pods)))
    scene.state.take_over(GangSubmitted(now, keeper), placed)


def _give_seats_back(scene: ControllerState, gang_id: str, now: int) -> None:
    if scene.record(BEGUN + gang_id) is None:
        return
    scene.state.apply(GangEnded(now, BEGUN + gang_id, 1, Outcome.CANCELLED))
    scene.state.gangs.forget(BEGUN + gang_id)


def _since(seated: Sequence[Member], now: int) -> int:
    """When the last of the pods came to its node, in ms; before now, so that it is not news."""
    times = [read_ms(each.pod.status.start_time) for each in seated]
    return min(max(times), now - 1)


def _run(seated: Sequence[Member]) -> bool:
    return all(each.pod.status.phase == "Running" for each in seated)


def _sitting(
    scene: ControllerState, site: ClusterView, gang: Gang, seated: Sequence[Member]
) -> list[PodPlacement]:
    """Where the engine counts pods that are bound, in its own numbering."""
    requests = {each.name: each.request.gpu for each in gang.pod_sets}
    counts: dict[str, int] = {}
    taken: dict[str, Counter[int]] = {}
    found = []
    for member in seated:
        number = counts.get(member.pod_set, 0)
        counts[member.pod_set] = number + 1
        node = site.prefix + member.pod.spec.node_name
        gpu = requests[member.pod_set]
        devices = _devices(scene, node, gpu, member.pod, taken.setdefault(node, Counter()))
        milli = _milli(scene, node, gpu, devices)
        found.append(PodPlacement(member.pod_set, number, node, devices, milli))
    return found


def _devices(
    scene: ControllerState, node: str, gpu: GpuRequest, pod: Pod, taken: Counter[int]
) -> tuple[int, ...]:
    """The devices a pod was given, or, where no annotation says, free ones."""
    known, condition = scene.state.fleet.tree.node(node).devices, condition_of(scene.state, node)
    wanted = [_milli_on(device, gpu) for device in known]
    free = [i for i, milli in enumerate(wanted) if condition.gpu[i] - taken[i] >= milli]
    devices = recorded(pod)
    if len(devices) != gpu.count or not set(devices).issubset(free):
        # Pods that were bound by hand, or a GPU that is gone, leave fewer than are asked for.
        order = sorted(free, key=lambda i: (i in condition.sick, -condition.gpu[i], i))
        devices = tuple(sorted(order[: gpu.count]))
    taken.update({i: wanted[i] for i in devices})
    return devices


def _milli(scene: ControllerState, node: str, gpu: GpuRequest, devices: tuple[int, ...]) -> int:
    if not devices:
        return 0
    return _milli_on(scene.state.fleet.tree.node(node).devices[devices[0]], gpu)


def _milli_on(device: Device, gpu: GpuRequest) -> int:
    """What a pod that runs takes of a device: all of it, where that is too small or unknown."""
    return min(WHOLE, gpu.milli_on(device.memory_mib))


def _is_whole(gang: Gang, pods: Sequence[Member] | Sequence[PodPlacement]) -> bool:
    """Whether every set has as many pods as it needs."""
    counts = Counter(pod.pod_set for pod in pods)
    return all(counts[each.name] >= each.least for each in gang.pod_sets)


def _whole(scene: ControllerState, gang: Gang, pods: list[PodPlacement]) -> Placement | None:
    """The place of the whole gang, if those that are missing have one."""
    if _is_whole(gang, pods):
        return Placement(tuple(pods))
    record = GangRecord(gang, shapes_of(gang, scene.state.config.plugins.filters), None)
    return completed(scene.state, record, tuple(pods))


def _has_begun(found: FoundGang, pods: Sequence[PodPlacement]) -> bool:
    """Whether all pods sit that have to be there before anything runs."""
    counts = Counter(pod.pod_set for pod in pods)
    return all(counts[each.name] >= min(each.least, each.upfront) for each in found.sets)


def _as_large_as(gang: Gang, pods: Sequence[PodPlacement]) -> Gang:
    """The gang as if it were no more than the pods that sit."""
    counts = Counter(pod.pod_set for pod in pods)
    sets = (
        replace(each, count=counts[each.name], min_count=0, slices=())
        for each in gang.pod_sets
        if counts[each.name]
    )
    return replace(gang, pod_sets=tuple(sets))


def _see_off(
    scene: ControllerState, site: ClusterView, now: int, taken: dict[str, Counter[int]], uid: str
) -> None:
    """A pod that is on its way out holds its place until it is gone, as a gang of its own.

    Devices that leave count as free for promises: `taken` has those of pods seen off before.
    """
    pod = site.pods[uid]
    gang_id = f"{site.prefix}{LEAVING}{uid}"
    queue = queue_of(scene, site, site.grouping.of_leaving(pod))
    queues, is_seated = scene.state.queues, uid in scene.attempts.seated
    is_chargeable = queue in queues.by_name and queues.shares.is_leaf(queue)
    if is_seated or not is_chargeable or pod.spec.node_name not in site.nodes:
        return
    pod_set = PodSet("main", 1, request=request_of(pod, site.asks.of(pod), site.types_of))
    gang = Gang(gang_id, gang_id, queue, pod_sets=(pod_set,), submitted=now)
    node = site.prefix + pod.spec.node_name
    devices = _devices(scene, node, pod_set.request.gpu, pod, taken.setdefault(node, Counter()))
    milli = _milli(scene, node, pod_set.request.gpu, devices)
    place = PodPlacement("main", 0, node, devices, milli)
    scene.facts.apply(GangSubmitted(now, gang))
    scene.facts.apply(GangPlaced(now, gang_id, 1, Placement((place,))))
    cause = cause_for(victim_of(pod) or "")
    scene.facts.apply(GangStopping(now, gang_id, 1, cause))
    places = {("main", 0): place}
    attempt = Attempt(gang_id, 1, site.name, places, stage=AttemptStage.LEAVING, cause=cause)
    attempt.take(Member(pod, "main", 0), ("main", 0))
    attempt.evicted.add(uid)
    scene.attempts.begin(attempt)
    scene.claim(attempt, uid)


def _wards(scene: ControllerState) -> set[str]:
    """Waiting gangs whose pods all say where they are going to run."""
    return {
        gang
        for gang, found in scene.gangs.founds.items()
        if gang not in scene.attempts.by_gang
        and found.members
        and not found.lacking
        and all(each.pod.status.nominated_node_name for each in found.members)
    }


def _resume_victim(scene: ControllerState, gang: str, wards: set[str], now: int) -> None:
    """Go on with a victim whose beneficiary still waits for it, or that leaves for a budget."""
    attempt = scene.attempts.by_gang[gang]
    site = scene.sites[attempt.cluster]
    marked = [site.pods[uid] for uid in attempt.pods.values() if victim_of(site.pods[uid])]
    beneficiary = _suspended_for(site, attempt) or (marked and victim_of(marked[0]))
    if not beneficiary or attempt.stage is AttemptStage.LEAVING:
        return
    cause = cause_for(beneficiary)
    if beneficiary in wards or suspends(cause):
        scene.facts.apply(GangStopping(now, gang, attempt.number, cause))
        leave(scene, attempt, cause, now)


def _spare_the_rest(scene: ControllerState) -> None:
    """Take the mark from every pod of ours that is not to leave, however it is counted."""
    evicted = {pod.uid for order in scene.orders if isinstance(order, Evict) for pod in order.pods}
    for site in scene.sites.values():
        spared: dict[str, list[PodRef]] = defaultdict(list)
        for uid, pod in site.pods.items():
            marked = victim_of(pod) and site.instance.places(pod)
            if marked and uid not in evicted and not (pod.is_leaving or pod.is_over):
                attempt = scene.attempts.of_pod(uid)
                spared[attempt.gang if attempt else f"{site.prefix}{pod.key}"].append(site.ref(pod))
        scene.orders += [Spare(gang, tuple(pods)) for gang, pods in sorted(spared.items())]


def _suspended_for(site: ClusterView, attempt: Attempt) -> str:
    """The gang for which we have suspended an attempt's owner; empty = we have not."""
    owner = attempt.owner
    thing = site.suspended.get(owner.uid) if owner and owner.suspended else None
    return thing.metadata.annotations[names.SUSPENDED_FOR] if thing else ""


def _promise_again(
    scene: ControllerState, feasible: FeasibilityTurn, gang_id: str, now: int
) -> None:
    """Give a gang the promise that its pods name, if it can be kept."""
    site, found = scene.site_of(gang_id), scene.gangs.founds[gang_id]
    admit(scene, feasible, site, gang_id, now)
    record = scene.record(gang_id)
    if record is None or record.gang.held:
        return
    nominated = [
        replace(each, pod=_as_if_bound(each.pod, each.pod.status.nominated_node_name))
        for each in found.members
    ]
    if all(each.pod.spec.node_name in site.nodes for each in nominated):
        pods = _sitting(scene, site, record.gang, nominated)
        place = _whole(scene, record.gang, pods) if _suit(scene, record.gang, pods) else None
        if place and scene.facts.apply(GangReserved(now, gang_id, place)):
            nodes = (pod.node for pod in place.pods)
            if not overfull(scene.state, nodes, extras=True):
                return
            scene.facts.apply(GangReserved(now, gang_id, None))
    nobody = tuple((site.ref(each.pod), "") for each in found.members)
    scene.orders.append(Nominate(gang_id, nobody))


def _suit(scene: ControllerState, gang: Gang, pods: Sequence[PodPlacement]) -> bool:
    """Whether pods get the devices that they ask for; their nodes may have others by now."""
    gpus = {each.name: each.request.gpu for each in gang.pod_sets}
    for pod in pods:
        gpu, known = gpus[pod.pod_set], scene.state.fleet.tree.node(pod.node).devices
        given = [known[index] for index in pod.devices]
        if len(given) != gpu.count or not all(gpu.takes(e.type, e.memory_mib) for e in given):
            return False
    return True


def _as_if_bound(pod: Pod, node: str) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=node))
