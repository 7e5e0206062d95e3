"""A workload into objects of Kubernetes."""

from collections.abc import Mapping

import msgspec

from ganglion.model.workload import Workload
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit import marks
from ganglion.worlds.kubernetes.submit.checks import check
from ganglion.worlds.kubernetes.submit.companions import companions
from ganglion.worlds.kubernetes.submit.controllers import controller
from ganglion.worlds.kubernetes.submit.pod import Making, Manifest
from ganglion.worlds.kubernetes.submit.shape import gangs


def compile_workload(
    workload: Workload,
    *,
    namespace: str,
    scheduler: str = names.SCHEDULER,
    secrets: frozenset[str] = frozenset(),
    document: Mapping[str, object] | None = None,
) -> tuple[Manifest, ...]:
    """Objects that run a workload in a cluster; the main one first.

    A train or batch is an Indexed Job with a headless service (a Job for each pod set, joined to
    one gang by label); a service a Deployment, or a StatefulSet for each replica of several pods;
    a workspace a StatefulSet; a sweep an Indexed Job, or a Job for each trial of several pods.

    Args:
        workload: what was submitted.
        namespace: where the objects go.
        scheduler: `schedulerName` of the pods; empty = the cluster's own.
        secrets: variables of the environment whose values are kept in a Secret.
        document: what was submitted, for people; written on the main object.

    Raises:
        FieldError: a key asks for what a cluster cannot do, or one that it needs is missing.
    """
    found = gangs(workload)
    check(workload, found)
    making = Making(workload, namespace, scheduler, secrets)
    mains = [controller(making, gang, crew) for gang in found for crew in gang.crews]
    if document is not None:
        shown = msgspec.json.encode(_without(document, making.secrets)).decode()
        mains[0]["metadata"]["annotations"][marks.DOCUMENT] = shown
    return (*mains, *companions(making, found))


def _without(document: Mapping[str, object], secrets: frozenset[str]) -> dict[str, object]:
    """The document with bare names in place of values that are secret."""
    env = document.get("env")
    if not isinstance(env, Mapping):
        return dict(document)
    shown = {name: None if name in secrets else value for name, value in env.items()}
    return {**document, "env": shown}
