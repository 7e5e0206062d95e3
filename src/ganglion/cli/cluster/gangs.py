"""One gang of a cluster as commands show it, from what the cluster itself says."""

from ganglion.api.reasons import Placement, PodPlacement, Reason
from ganglion.api.workloads import GangView
from ganglion.cli.cluster.seats import ClusterGang
from ganglion.model.causes import Cause, CauseKind, Standing, sentence
from ganglion.model.reasons import Remedy, Token
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.manifests import marks
from ganglion.worlds.kubernetes.submit.objects import SeenPod, given_up, ms, seat_of
from ganglion.worlds.kubernetes.submit.sleeping import sleeps

INTERRUPTED = "its submit was interrupted: give the same command again, or cancel it"
SUSPENDED = "it is suspended"
NO_PODS = "its pods have not been made yet"
DEADLINE = "DeadlineExceeded"


def gang_view(workload: str, crowd: ClusterGang) -> GangView:
    """One gang.

    Args:
        workload: name of its workload.
        crowd: what is there of it.
    """
    phase = phase_of(crowd)
    present = crowd.present()
    bound = [pod for pod in present if pod.spec.node_name]
    starts = [ms(pod.status.start_time) for pod in bound if pod.status.start_time]
    return GangView(
        id=f"{workload}/{crowd.index}",
        index=crowd.index,
        phase=phase,
        attempt=int(bool(bound)),
        ranks=crowd.wanted,
        placement=_placement(bound),
        reason=reason_of(crowd) if phase in ("pending", "reserved") else None,
        outcome=_outcome(crowd),
        exit_code=_exit_code(crowd),
        message=_message(crowd, phase),
        restarts=len(crowd.pods) - len(present),
        submitted=ms(crowd.mains[0].metadata.creation_timestamp) or 0,
        started=min((s for s in starts if s), default=None) if phase != "pending" else None,
        ended=_ended(crowd) if phase == "ended" else None,
        endpoint=_endpoint(crowd, present) if phase == "running" else "",
    )


def phase_of(crowd: ClusterGang) -> str:
    """Its phase, as `model.plan.Phase` names it."""
    if crowd.ended() is not None:
        return "ended"
    if any(main.metadata.deletion_timestamp for main in crowd.mains):
        return "stopping"
    present = [pod for pod in crowd.present() if not pod.metadata.deletion_timestamp]
    running = sum(pod.status.phase in ("Running", "Succeeded") for pod in present)
    if running >= crowd.least and crowd.least:
        return "running"
    if any(pod.spec.node_name for pod in present):
        return "starting"
    return "reserved" if any(pod.status.nominated_node_name for pod in present) else "pending"


def reason_of(crowd: ClusterGang) -> Reason | None:
    """Why it waits, as far as its objects say it."""
    main = crowd.mains[0]
    if marks.RELEASE in main.metadata.annotations:
        return Reason(Token.HELD, INTERRUPTED, remedy=Remedy.CHANGE)
    if main.spec.suspend or sleeps(main):
        return Reason(Token.HELD, sleeps(main) or SUSPENDED, remedy=Remedy.CHANGE)
    said = [pod.condition("PodScheduled") for pod in crowd.present()]
    found = next((each for each in said if each and each.status == "False"), None)
    if found is None:
        waits = crowd.pods and "no scheduler has said anything about it yet"
        return Reason(Token.ORDER, waits or NO_PODS)
    head, colon, rest = found.message.partition(": ")
    if colon and head in set(Token):
        return Reason(Token(head), rest)
    if found.reason == "SchedulingGated":
        return Reason(Token.HELD, found.message or "its pods are gated")
    return Reason(Token.CAPACITY, found.message or found.reason)


def _placement(bound: list[SeenPod]) -> Placement | None:
    if not bound:
        return None
    return Placement(pods=tuple(_place(pod) for pod in bound))


def _place(pod: SeenPod) -> PodPlacement:
    notes = pod.metadata.annotations
    devices = notes.get(names.DEVICES, "")
    return PodPlacement(
        pod_set=pod.metadata.labels.get(names.POD_SET, "main"),
        index=seat_of(pod.metadata) or 0,
        node=pod.spec.node_name,
        devices=tuple(int(each) for each in devices.split(",") if each.isdecimal()),
    )


def _outcome(crowd: ClusterGang) -> str | None:
    well = crowd.ended()
    if well is None:
        return None
    if not well and standing_of(crowd):
        return "stopped_early"
    return "succeeded" if well else "timed_out" if _late(crowd) else "failed"


def standing_of(crowd: ClusterGang) -> Standing | None:
    """How a trial that was given up compared with others; None = it is no such trial."""
    return given_up(crowd.mains[0]).get(crowd.index) if crowd.alone else None


def _late(crowd: ClusterGang) -> bool:
    failed = (main.is_so("Failed") for main in crowd.mains)
    over = any(each.reason == DEADLINE for each in failed if each)
    return over or any(pod.status.reason == DEADLINE for pod in crowd.pods)


def _worst(crowd: ClusterGang) -> SeenPod | None:
    """The pod that failed first."""
    failed = [pod for pod in crowd.pods if pod.end and pod.end.exit_code]
    return min(failed, key=lambda pod: (_finished(pod), pod.metadata.name), default=None)


def _finished(pod: SeenPod) -> str:
    return pod.end.finished_at if pod.end else ""


def _exit_code(crowd: ClusterGang) -> int | None:
    well, worst = crowd.ended(), _worst(crowd)
    if well is None:
        return None
    return 0 if well else worst.end.exit_code if worst and worst.end else None


def _message(crowd: ClusterGang, phase: str) -> str:
    if phase == "ended" and not crowd.ended():
        return _story(crowd)
    for pod in crowd.present() if phase in ("starting", "running") else ():
        waiting = (each.state.waiting for each in pod.status.container_statuses)
        found = next((each for each in waiting if each and each.message), None)
        if found:
            return f"{pod.metadata.name}: {found.reason}: {found.message}"
    return ""


def _story(crowd: ClusterGang) -> str:
    """How it failed, for a person."""
    standing = standing_of(crowd)
    if standing:
        return sentence(Cause(CauseKind.GIVEN_UP, standing=standing))
    worst = _worst(crowd)
    if worst and worst.end and not _late(crowd):
        last = f": {worst.end.message.strip()}" if worst.end.message else ""
        return f"{worst.metadata.name} ended with exit code {worst.end.exit_code}{last}"
    failed = next((found for main in crowd.mains if (found := main.is_so("Failed"))), None)
    return failed.message if failed else "it failed"


def _ended(crowd: ClusterGang) -> int | None:
    stamps = [pod.end.finished_at for pod in crowd.pods if pod.end]
    for main in crowd.mains if not crowd.alone else ():
        failed = main.is_so("Failed")
        stamps.append(main.status.completion_time or (failed and failed.last_transition_time) or "")
    return max((found for stamp in stamps if (found := ms(stamp))), default=None)


def _endpoint(crowd: ClusterGang, present: list[SeenPod]) -> str:
    """Where the first pod listens inside the cluster."""
    ports = [
        port["containerPort"]
        for container in crowd.mains[0].spec.template.spec.containers
        for port in container.get("ports", ())
    ]
    return f"{present[0].status.pod_ip}:{ports[0]}" if ports and present[0].status.pod_ip else ""
