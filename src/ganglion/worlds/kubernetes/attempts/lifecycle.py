"""Attempts: pods take their seats, leave them, and in the end are all gone."""

from collections.abc import Iterable

from ganglion.model.causes import Cause, CauseKind, sentence, suspends
from ganglion.model.events import (
    GangEnded,
    GangResized,
    GangStarted,
    GangStopping,
    GangUpdated,
    Outcome,
    PodsLeft,
)
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase
from ganglion.worlds.causes import beneficiary_of
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.attempts import storage
from ganglion.worlds.kubernetes.attempts.admit import misfit
from ganglion.worlds.kubernetes.attempts.readiness import backoff_ms, follow
from ganglion.worlds.kubernetes.attempts.reseat import is_astray, reseat
from ganglion.worlds.kubernetes.attempts.saving import commit, with_loss
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt, AttemptStage
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.cluster_view.orders import (
    Bind,
    BindDone,
    BindPod,
    Evict,
    How,
)
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.feasibility.clauses import node_clauses
from ganglion.worlds.kubernetes.feasibility.rule import PodRule, obstacle
from ganglion.worlds.kubernetes.feasibility_plugin.plugin import FeasibilityPlugin
from ganglion.worlds.kubernetes.reasons.noting import note, spread_over
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang, Member

MOST_DOUBLINGS = 6


def tend(scene: ControllerState, rules: FeasibilityPlugin, attempt: Attempt, now: int) -> None:
    """Bring one attempt up to date with the pods that there are."""
    found = scene.gangs.founds.get(attempt.gang)
    if attempt.stage is not AttemptStage.LEAVING and is_astray(scene, attempt, found):
        why = reseat(scene, attempt, now)
        if why:
            take_apart(scene, rules, attempt, why, now)
            return
        _if_all_left(scene, attempt, now)
    if attempt.stage is AttemptStage.LEAVING:
        _evict(scene, attempt, found)
    else:
        if found:
            _follow_size(scene, attempt, found, now)
            _follow_turn(scene, attempt, found, now)
            why = _seat(scene, attempt, found, now)
            if why:
                take_apart(scene, rules, attempt, why, now)
                return
        _advance(scene, attempt, found, now)
    commit(scene, attempt, found, now)
    why = storage.trouble(scene, attempt, now) if attempt.stage is not AttemptStage.LEAVING else ""
    if why:
        take_apart(scene, rules, attempt, f"could not be bound: {why}", now)
        return
    why = follow(scene, attempt, found, now)
    if why:
        note(scene, attempt.gang, names.NOT_READY, "Requeueing", why, warning=True)
        take_apart(scene, rules, attempt, why, now)
        return
    if _is_over(scene, attempt, found, now):
        end(scene, rules, attempt, now)


def lost(scene: ControllerState, attempt: Attempt, uid: str, ended: str, now: int) -> None:
    """A pod of an attempt is gone, or over."""
    attempt.vacate(uid, ended, now)
    scene.disclaim(attempt, uid)
    _if_all_left(scene, attempt, now)


def answered(
    scene: ControllerState, rules: FeasibilityPlugin, attempt: Attempt, done: BindDone, now: int
) -> None:
    """What became of bindings."""
    worst = ""
    for uid, (how, message) in done.pods.items():
        attempt.asked.discard(uid)
        if how is How.BOUND or uid in attempt.bound:  # seen bound, whatever the answer says
            if uid in scene.attempts.seated:
                attempt.bound.add(uid)
            continue
        attempt.release(uid)
        scene.disclaim(attempt, uid)
        scene.sites[attempt.cluster].reconsider(uid)
        if how not in (How.GONE, How.GATED):
            worst = message or how.value
    if worst and attempt.stage is not AttemptStage.LEAVING:
        take_apart(scene, rules, attempt, f"could not be bound: {worst}", now)
    else:
        tend(scene, rules, attempt, now)


def take_apart(
    scene: ControllerState, rules: FeasibilityPlugin, attempt: Attempt, why: str, now: int
) -> None:
    """A gang that cannot be started whole leaves again."""
    cause = Cause(CauseKind.START_FAILED, text=why)
    scene.facts.apply(GangStopping(now, attempt.gang, attempt.number, cause))
    leave(scene, attempt, cause, now)
    if _is_over(scene, attempt, scene.gangs.founds.get(attempt.gang), now):
        end(scene, rules, attempt, now)


def leave(scene: ControllerState, attempt: Attempt, cause: Cause, now: int) -> None:
    """Order all pods of an attempt to leave."""
    attempt.enter(AttemptStage.LEAVING, now)
    attempt.cause = cause
    attempt.evicted.clear()
    found = scene.gangs.founds.get(attempt.gang)
    attempt.owner = found.owner if found else attempt.owner
    _evict(scene, attempt, found)


def _evict(scene: ControllerState, attempt: Attempt, found: FoundGang | None) -> None:
    """Order pods to leave that were not yet: some are bound only while the others leave."""
    pods = tuple(each for each in scene.living(attempt) if each.uid not in attempt.evicted)
    if not pods or attempt.cause is None:
        return
    attempt.evicted.update(each.uid for each in pods)
    beneficiary = beneficiary_of(attempt.cause)
    # A pod that leaves without a beneficiary is to be made anew at once.
    owner = attempt.owner if attempt.owner and attempt.owner.suspend and beneficiary else None
    grace = found.checkpoint.grace_ms // 1000 if found and found.checkpoint else 0
    order = Evict(attempt.gang, attempt.number, pods, attempt.cause, beneficiary, owner, grace)
    scene.orders.append(order)


def drop(scene: ControllerState, attempt: Attempt, uids: Iterable[str], cause: Cause) -> None:
    """Order pods to leave that a gang goes on without."""
    site = scene.sites[attempt.cluster]
    gone = [uid for uid in uids if uid in site.pods]
    attempt.dropping.update(gone)
    pods = tuple(site.ref(site.pods[uid]) for uid in gone)
    if pods:
        order = Evict(attempt.gang, attempt.number, pods, cause, beneficiary_of(cause))
        scene.orders.append(order)


def end(scene: ControllerState, rules: FeasibilityPlugin, attempt: Attempt, now: int) -> None:
    """An attempt is over: nothing of it is there any more."""
    gang, found = attempt.gang, scene.gangs.founds.get(attempt.gang)
    for uid in list(attempt.pods.values()):
        scene.disclaim(attempt, uid)
        scene.sites[attempt.cluster].reconsider(uid)
    del scene.attempts.by_gang[gang]
    scene.evictions.blocked.pop(gang, None)
    outcome = _outcome(attempt)
    again = attempt.stage in (AttemptStage.LEAVING, AttemptStage.ASSEMBLING) and _comes_back(
        found, attempt
    )
    wait = _backoff(scene, attempt) if outcome is Outcome.START_FAILED else 0
    ended = GangEnded(
        now,
        gang,
        attempt.number,
        outcome,
        requeue=again,
        message=sentence(attempt.cause),
        not_before=now + wait if again and wait else 0,
    )
    scene.facts.apply(with_loss(scene, attempt, ended))
    record = scene.record(gang)
    if again and record and record.phase is not Phase.ENDED:
        scene.facts.apply(GangUpdated(now, gang, held=True))
        scene.gangs.awaited[gang] = now
    elif record and record.phase is Phase.ENDED:
        scene.state.gangs.forget(gang)
        scene.starts.unready.pop(gang, None)
        scene.starts.failures.pop(gang, None)
        rules.unlearn(gang)
    scene.gangs.touched.add(gang)


def _follow_size(scene: ControllerState, attempt: Attempt, found: FoundGang, now: int) -> None:
    """Another number of pods is wanted: vacant places go first, others are the engine's choice."""
    record = scene.record(attempt.gang)
    if record is None or record.phase not in (Phase.STARTING, Phase.RUNNING):
        return
    known = {each.name: each for each in record.gang.pod_sets}
    counts = {
        each.name: max(each.count, 1)
        for each in found.sets
        if each.name in known and known[each.name].count != max(each.count, 1)
    }
    if not counts or not scene.facts.apply(GangUpdated(now, attempt.gang, counts=counts)):
        return
    surplus = _vacant_surplus(attempt, counts)
    if not surplus or record.placement is None:
        return
    pods = tuple(p for p in record.placement.pods if (p.pod_set, p.index) not in surplus)
    place = Placement(pods, record.placement.level, record.placement.domain)
    scene.facts.apply(
        GangResized(now, attempt.gang, attempt.number, place, Cause(CauseKind.PODS_ENDED))
    )
    attempt.resize(place)
    _if_all_left(scene, attempt, now)


def _follow_turn(scene: ControllerState, attempt: Attempt, found: FoundGang, now: int) -> None:
    """A trial that was spare has its sweep's priority from now on, where its queue allows that."""
    record, site = scene.record(attempt.gang), scene.sites[attempt.cluster]
    if record and record.gang.spare and found.priority >= 0 and not misfit(scene, site, found):
        scene.facts.apply(GangUpdated(now, attempt.gang, priority=found.priority))


def _vacant_surplus(attempt: Attempt, counts: dict[str, int]) -> set[tuple[str, int]]:
    surplus: set[tuple[str, int]] = set()
    for name, count in counts.items():
        places = [each for each in attempt.places if each[0] == name]
        vacant = [each for each in places if each not in attempt.pods]
        surplus.update(vacant[: max(0, len(places) - count)])
    return surplus


def _seat(scene: ControllerState, attempt: Attempt, found: FoundGang, now: int) -> str:
    """Give every member that has none a seat, and bind those that can be.

    Returns:
        Why the gang cannot go on as it sits; empty = it can.
    """
    for member in found.members:
        uid = member.pod.metadata.uid
        if uid in scene.attempts.seated or member.pod.is_leaving:
            continue
        place = attempt.seat(member)
        if place is None:
            continue
        scene.claim(attempt, uid)
        if member.pod.spec.node_name:
            _came_bound(scene, attempt, member, place.node)
    if attempt.stage is AttemptStage.ASSEMBLING and attempt.is_filled(found):
        attempt.enter(AttemptStage.BINDING, now)
    if attempt.stage in (AttemptStage.BINDING, AttemptStage.BOUND):
        return _bind(scene, attempt, found, now)
    return ""


def _came_bound(scene: ControllerState, attempt: Attempt, member: Member, node: str) -> None:
    """A member that is already bound counts where it is."""
    uid = member.pod.metadata.uid
    if scene.sites[attempt.cluster].prefix + member.pod.spec.node_name == node:
        attempt.bound.add(uid)
    else:
        attempt.release(uid)
        scene.disclaim(attempt, uid)


def _bind(scene: ControllerState, attempt: Attempt, found: FoundGang, now: int) -> str:
    """Order members to be bound; returns as `_seat` does."""
    site = scene.sites[attempt.cluster]
    place_of = {uid: place for place, uid in attempt.pods.items()}
    todo = []
    for member in found.members:
        pod, uid = member.pod, member.pod.metadata.uid
        place = place_of.get(uid)
        if place is None or uid in attempt.bound or uid in attempt.asked or pod.is_leaving:
            continue
        seat = attempt.places[place]
        _, node = scene.site_of_node(seat.node)
        missed = _missed(site, pod, node)
        if missed:
            return missed
        gated = any(gate.name == site.instance.gate for gate in pod.spec.scheduling_gates)
        devices = seat.devices if _chooses(pod.metadata.annotations) else ()
        todo.append(BindPod(site.ref(pod), node, devices, gated))
    for each in todo:
        site.suppose(each.pod.uid, each.node)
    if storage.are_made(scene, attempt, todo, now) and todo:
        attempt.asked.update(each.pod.uid for each in todo)
        attempt.ordered = True
        scene.orders.append(Bind(attempt.gang, attempt.number, tuple(todo)))
    return ""


def _missed(site: ClusterView, pod: Pod, node: str) -> str:
    """Why a pod may not run where its place is; empty = it may.

    The place was found for the pods that there were then, or for a template. One that is made
    later may ask for other nodes, and its kubelet would turn it away.
    """
    clauses = node_clauses(pod)
    view = site.fleet.views.get(node) if clauses else None
    why = obstacle(PodRule(clauses), view.labels) if view else ""
    return f"pod {pod.key} may not run on node {node}, which was kept for it: {why}" if why else ""


def _chooses(annotations: dict[str, str]) -> bool:
    """Whether it is for us to say which devices a pod gets."""
    return names.GPU_FRACTION in annotations or names.GPU_MEMORY in annotations


def _advance(scene: ControllerState, attempt: Attempt, found: FoundGang | None, now: int) -> None:
    """Enter the next stage, if the pods are that far."""
    if attempt.stage is AttemptStage.BINDING and found and attempt.is_bound(found):
        attempt.enter(AttemptStage.BOUND, now)
        attempt.bound_at = attempt.bound_at or now
        scene.starts.failures.pop(attempt.gang, None)
        if attempt.ordered:  # one that was found running is no news
            nodes = [scene.site_of_node(attempt.places[e].node)[1] for e in attempt.pods]
            note(scene, attempt.gang, names.SCHEDULED, "Binding", spread_over(nodes))
    if attempt.stage is AttemptStage.BOUND and not attempt.running and _all_run(scene, attempt):
        attempt.running = True
        scene.facts.apply(GangStarted(now, attempt.gang, attempt.number))


def _all_run(scene: ControllerState, attempt: Attempt) -> bool:
    pods = scene.sites[attempt.cluster].pods
    return bool(attempt.pods) and all(
        uid in pods and pods[uid].status.phase == "Running" for uid in attempt.pods.values()
    )


def _is_over(scene: ControllerState, attempt: Attempt, found: FoundGang | None, now: int) -> bool:
    """Whether no pod of it is left, and none is going to take its place."""
    settings = scene.settings
    if attempt.stage is AttemptStage.LEAVING:
        return not attempt.asked and not any(uid in attempt.bound for uid in attempt.pods.values())
    if attempt.stage is AttemptStage.ASSEMBLING:
        return found is None or now - attempt.since >= settings.assemble_ms
    if attempt.pods or attempt.asked:
        return False
    if found is None or not attempt.vacant:
        return True
    if set(attempt.ends.values()) == {"Succeeded"}:
        return True
    return now - max(attempt.vacant.values()) >= settings.replace_ms


def _if_all_left(scene: ControllerState, attempt: Attempt, now: int) -> None:
    """Report to the engine when the last pod that a resized gang dropped is gone."""
    attempt.dropping &= scene.sites[attempt.cluster].pods.keys()
    record = scene.record(attempt.gang)
    if (
        record
        and record.leaving
        and not attempt.dropping
        and attempt.stage is not AttemptStage.LEAVING
    ):
        scene.facts.apply(PodsLeft(now, attempt.gang, attempt.number))


def _outcome(attempt: Attempt) -> Outcome:
    failed = attempt.cause is not None and attempt.cause.kind is CauseKind.START_FAILED
    if attempt.stage is AttemptStage.ASSEMBLING or failed:
        return Outcome.START_FAILED
    if attempt.stage is AttemptStage.LEAVING:
        return Outcome.SUSPENDED if suspends(attempt.cause) else Outcome.PREEMPTED
    ends = set(attempt.ends.values())
    if ends == {"Succeeded"}:
        return Outcome.SUCCEEDED
    return Outcome.FAILED if "Failed" in ends else Outcome.CANCELLED


def _comes_back(found: FoundGang | None, attempt: Attempt) -> bool:
    """Whether there are, or will be, pods for another try."""
    return bool(found and (found.owner or found.members)) or attempt.owner is not None


def _backoff(scene: ControllerState, attempt: Attempt) -> int:
    gang = attempt.gang
    if attempt.is_late:
        return backoff_ms(scene, gang)
    return scene.settings.backoff_ms << min(scene.starts.count(gang), MOST_DOUBLINGS)
