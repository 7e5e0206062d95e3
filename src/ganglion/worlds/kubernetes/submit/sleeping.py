"""Suspending workspaces of a cluster and resuming them, at the caller's request."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ganglion.model.errors import Conflict, NotFound
from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.submit.finding import SeenWorkload, find
from ganglion.worlds.kubernetes.submit.manifests import marks
from ganglion.worlds.kubernetes.submit.objects import Main
from ganglion.worlds.kubernetes.submit.places import collection, place
from ganglion.worlds.kubernetes.types.meta import Anything

SET = "StatefulSet"
PASSING = ("emptyDir", "ephemeral", "configMap", "secret", "projected", "downwardAPI")
"""Volumes whose files do not outlive their pod, or are none of its own."""


def sleeps(main: Main) -> str:
    """Why an object that is suspended is; empty = it is not."""
    return main.metadata.annotations.get(names.SLEEPS, "") if main.spec.replicas == 0 else ""


async def workspaces(api: Api, namespace: str, ref: str) -> SeenWorkload:
    """The workspace of a name, or of the only beginning of one; of any maker.

    Raises:
        NotFound: there is no such workload.
        Conflict: several fit, or it is no workspace.
    """
    params = {"labelSelector": f"{marks.KIND}={Kind.WORKSPACE}"}
    listed = await api.list(collection(SET, namespace), Main, params=params)
    by_name: dict[str, list[Main]] = {}
    for each in sorted(listed.items, key=lambda main: main.metadata.name):
        name = each.metadata.labels.get(marks.WORKLOAD, each.metadata.name)
        by_name.setdefault(name, []).append(replace(each, kind=SET))
    if ref in by_name:
        return SeenWorkload(ref, tuple(by_name[ref]), ())
    fitting = [name for name in by_name if ref and name.startswith(ref)]
    if len(fitting) > 1:
        message = f"{ref!r} fits several workspaces"
        raise Conflict(message, f"write more of the name: {', '.join(fitting)}")
    if fitting:
        return SeenWorkload(fitting[0], tuple(by_name[fitting[0]]), ())
    others = await find(api, namespace, ref)
    if others:
        kind = others[0].mains[0].metadata.labels.get(marks.KIND, "another kind")
        raise Conflict(f"{ref} is of kind {kind}: only workspaces are suspended")
    hint = "see `ganglion ps --all`, and --namespace"
    raise NotFound(f"there is no workspace {ref!r} in namespace {namespace}", hint)


async def loss(api: Api, namespace: str, seen: SeenWorkload) -> str:
    """What a workspace loses by being suspended, and what it keeps, for people.

    What its processes work on only the scheduler sees; which files stay follows from its volumes.
    """
    kept: set[str] = set()
    for main in seen.mains:
        found = await api.get(place(SET, namespace, main.metadata.name), Anything)
        claims = found.spec.get("volumeClaimTemplates", ())
        kept |= {each["metadata"]["name"] for each in claims}
        volumes = found.spec["template"]["spec"].get("volumes", ())
        kept |= {each["name"] for each in volumes if not any(kind in each for kind in PASSING)}
    files = f" and the files of {', '.join(sorted(kept))}" if kept else ""
    lost = "all other files" if kept else "all files"
    return (
        f"lost: all kernels and shells, what is in memory and GPU memory, {lost}; "
        f"kept: name, environment, address{files}"
    )


async def suspend(
    api: Api, namespace: str, seen: SeenWorkload, user: str, *, dry_run: bool
) -> None:
    """Leave a workspace without pods.

    Args:
        api: the cluster.
        namespace: where it is.
        seen: the workspace.
        user: on whose wish.
        dry_run: only let the cluster check whether that may be done.

    Raises:
        Conflict: it is suspended already.
    """
    if all(main.spec.replicas == 0 for main in seen.mains):
        why = sleeps(seen.mains[0])
        raise Conflict(f"{seen.name} {'is suspended' if why else 'has no replicas'} already", why)
    notes = {names.SLEEPS: f"suspended by {user}", names.IDLE_WARNING: None}
    for main in seen.mains:
        await _patch(api, namespace, main, notes, 0, dry_run=dry_run)


async def resume(api: Api, namespace: str, seen: SeenWorkload, counts: Mapping[str, int]) -> None:
    """Give a workspace its pods again.

    Args:
        api: the cluster.
        namespace: where it is.
        seen: the workspace.
        counts: name of an object -> how many pods it has; 1 by default.

    Raises:
        Conflict: it is not suspended.
    """
    asleep = [main for main in seen.mains if sleeps(main)]
    if not asleep:
        raise Conflict(f"{seen.name} is not suspended", "see: ganglion ps")
    notes = {names.SLEEPS: None, names.IDLE_WARNING: None}
    for main in asleep:
        count = counts.get(main.metadata.name, 1)
        await _patch(api, namespace, main, notes, count, dry_run=False)


def counts_of(manifests: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many pods the objects of a submitted workspace have while it is awake, by name."""
    sets = (each for each in manifests if each["kind"] == SET)
    return {each["metadata"]["name"]: each["spec"]["replicas"] for each in sets}


async def _patch(
    api: Api,
    namespace: str,
    main: Main,
    notes: Mapping[str, str | None],
    replicas: int,
    *,
    dry_run: bool,
) -> None:
    # With the UID another one of the same name is left alone.
    meta = {"uid": main.metadata.uid, "annotations": notes}
    body = {"metadata": meta, "spec": {"replicas": replicas}}
    params = {"dryRun": "All"} if dry_run else None
    path = place(SET, namespace, main.metadata.name)
    await api.patch(path, body, Patch.MERGE, params=params)
