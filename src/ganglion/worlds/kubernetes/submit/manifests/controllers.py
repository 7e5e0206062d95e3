"""The objects that make pods: Job, StatefulSet, Deployment."""

from ganglion.lifecycle.expand import gang_count
from ganglion.model.workload import Kind, Retry, Workload
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.manifests import marks
from ganglion.worlds.kubernetes.submit.manifests.placing import topology_notes
from ganglion.worlds.kubernetes.submit.manifests.pod import Making, Manifest, notes_of, template
from ganglion.worlds.kubernetes.submit.manifests.shape import ControllerPods, ManifestGang
from ganglion.worlds.kubernetes.submit.objects import ranges

TTL_S = 7 * 24 * 3600
"""How long a Job that has ended, with its logs, stays."""
INTERRUPTIONS = frozenset({"preemption", "node_failure"})


def job(making: Making, gang: ManifestGang, crew: ControllerPods) -> Manifest:
    """An Indexed Job: the pods of a gang, or the trials of a sweep."""
    workload = making.workload
    held = {"suspend": True} if workload.held else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _meta(making, crew),
        "spec": {
            "completionMode": "Indexed",
            **(_of_trials(workload) if crew.alone else _of_gang(workload, gang, crew)),
            "podFailurePolicy": {"rules": _failure_rules(workload, crew)},
            # A pod that is being stopped has its devices and its name until it is gone.
            "podReplacementPolicy": "Failed",
            "ttlSecondsAfterFinished": TTL_S,
            **held,
            "template": template(making, gang, crew),
        },
    }


def _meta(making: Making, crew: ControllerPods) -> Manifest:
    index = {} if crew.alone else {marks.GANG_INDEX: str(crew.index)}
    labels = making.labels() | {names.POD_SET: crew.pods.name} | index
    notes = notes_of(making.workload) | topology_notes(making.workload.topology)
    if crew.alone and making.workload.parallel_min:
        notes[names.OWN_TRIALS] = ranges(range(making.workload.parallel_min))
    return making.meta(crew.name, annotations=notes) | {"labels": labels}


def _of_gang(workload: Workload, gang: ManifestGang, crew: ControllerPods) -> Manifest:
    pods = crew.pods.count
    own = workload.retry.limit if "failure" in workload.retry.on else 0
    # Elastic gangs may end with fewer pods than they have seats: the first pod decides.
    rules = {"rules": [{"succeededIndexes": "0", "succeededCount": 1}]}
    elastic = gang.least < gang.pods and not crew.first_pod
    return {
        "completions": pods,
        "parallelism": pods,
        # A gang fails with all of its pods, and each counts.
        "backoffLimit": own * pods,
        **({"successPolicy": rules} if elastic else {}),
    }


def _of_trials(workload: Workload) -> Manifest:
    count = gang_count(workload)
    own = workload.retry.limit if "failure" in workload.retry.on else 0
    return {
        "completions": count,
        "parallelism": min(workload.parallel or count, count),
        "backoffLimitPerIndex": own,
    }


def _failure_rules(workload: Workload, crew: ControllerPods) -> list[Manifest]:
    """What becomes of trials that are given up, and of pods that were interrupted."""
    given_up = {"type": names.GIVEN_UP, "status": "True"}
    early = [{"action": "FailIndex", "onPodConditions": [given_up]}] if workload.early_stop else []
    return [*early, _interrupted(workload.retry, crew)]


def _interrupted(retry: Retry, crew: ControllerPods) -> Manifest:
    """What becomes of pods that were stopped for others, or lost with their node."""
    again = INTERRUPTIONS & set(retry.on)
    condition = {"type": names.DISRUPTION_TARGET, "status": "True"}
    over = "FailIndex" if crew.alone else "FailJob"
    return {"action": "Ignore" if again else over, "onPodConditions": [condition]}


def stateful_set(making: Making, gang: ManifestGang, crew: ControllerPods) -> Manifest:
    """A StatefulSet: one replica of a service that spans several pods, or a workspace."""
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": _meta(making, crew),
        "spec": {
            "replicas": crew.pods.count,
            "serviceName": gang.domain,
            # One after the other would never be a whole gang.
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": _selector(making, crew)},
            "template": template(making, gang, crew),
        },
    }


def _selector(making: Making, crew: ControllerPods) -> dict[str, str]:
    found = {marks.WORKLOAD: making.workload.name, names.POD_SET: crew.pods.name}
    return found if crew.alone else found | {marks.GANG_INDEX: str(crew.index)}


def deployment(making: Making, gang: ManifestGang, crew: ControllerPods) -> Manifest:
    """A Deployment: replicas of one pod each."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _meta(making, crew),
        "spec": {
            "replicas": making.workload.replicas,
            # A new pod beside the old ones would wait for a GPU that the old ones hold.
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
            },
            "selector": {"matchLabels": _selector(making, crew)},
            "template": template(making, gang, crew),
        },
    }


def controller(making: Making, gang: ManifestGang, crew: ControllerPods) -> Manifest:
    """The object that makes the pods of a crew."""
    kind = making.workload.kind
    if kind is Kind.SERVICE and crew.alone:
        return deployment(making, gang, crew)
    make = stateful_set if kind in (Kind.SERVICE, Kind.WORKSPACE) else job
    return make(making, gang, crew)
