"""A workload into objects of Kubernetes."""

from collections.abc import Mapping

import msgspec

from ganglion.model.credentials import is_credential, redacted
from ganglion.model.workload import Workload
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.manifests import marks
from ganglion.worlds.kubernetes.submit.manifests.checks import check
from ganglion.worlds.kubernetes.submit.manifests.companions import companions
from ganglion.worlds.kubernetes.submit.manifests.controllers import controller
from ganglion.worlds.kubernetes.submit.manifests.pod import Making, Manifest
from ganglion.worlds.kubernetes.submit.manifests.shape import gangs


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


def secrets_of(workload: Workload) -> frozenset[str]:
    """Variables that go into a Secret: those named as secrets, and what looks like a credential."""
    env = workload.run.env
    found = {name for name, value in env.items() if is_credential(name, value)}
    return frozenset(found & env.keys() | {*workload.run.secrets})


def _without(document: Mapping[str, object], secrets: frozenset[str]) -> dict[str, object]:
    """The document with names in place of values that are secret."""
    shown = redacted(document)
    env, named = document.get("env"), document.get("secrets")
    if isinstance(env, Mapping):
        shown["env"] = {name: value for name, value in env.items() if name not in secrets}
        moved = dict.fromkeys(name for name in env if name in secrets)
        if moved:
            shown["secrets"] = dict.fromkeys(named if isinstance(named, Mapping) else ()) | moved
    return shown
