"""Finding submitted workloads again, and removing them."""

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from ganglion.model.errors import NotFound, StateError
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent, ForbiddenRequest
from ganglion.worlds.kubernetes.submit.manifests import marks
from ganglion.worlds.kubernetes.submit.objects import Main, SeenPod
from ganglion.worlds.kubernetes.submit.places import COMPANIONS, MAINS, collection, place
from ganglion.worlds.kubernetes.types.meta import Anything

TRIES = 3


class SeenWorkload(Struct, frozen=True):
    """A submitted workload as it lies in a cluster.

    Attributes:
        name: its name.
        mains: the objects that make its pods, by name.
        pods: its pods, by name.
    """

    name: str
    mains: tuple[Main, ...]
    pods: tuple[SeenPod, ...]


async def find(api: Api, namespace: str, name: str = "") -> tuple[SeenWorkload, ...]:
    """Submitted workloads of a namespace, by name.

    Args:
        api: the cluster.
        namespace: where to look.
        name: only the one of this name; empty = all.
    """
    selector = f"{marks.WORKLOAD}={name}" if name else marks.WORKLOAD
    params = {"labelSelector": selector}
    found = await asyncio.gather(
        *(api.list(collection(kind, namespace), Main, params=params) for kind in MAINS)
    )
    pods = await api.list(collection("Pod", namespace), SeenPod, params=params)
    # Objects in a list do not say of which kind they are.
    mains = [
        replace(main, kind=kind)
        for kind, listing in zip(MAINS, found, strict=True)
        for main in listing.items
    ]
    return _grouped(mains, pods.items)


def _grouped(mains: list[Main], pods: list[SeenPod]) -> tuple[SeenWorkload, ...]:
    by_name: dict[str, tuple[list[Main], list[SeenPod]]] = {}
    for main in sorted(mains, key=lambda each: (each.metadata.name, each.kind)):
        by_name.setdefault(main.metadata.labels[marks.WORKLOAD], ([], []))[0].append(main)
    for pod in sorted(pods, key=lambda each: each.metadata.name):
        known = by_name.get(pod.metadata.labels[marks.WORKLOAD])
        if known:
            known[1].append(pod)
    return tuple(SeenWorkload(name, tuple(m), tuple(p)) for name, (m, p) in sorted(by_name.items()))


async def remove(
    api: Api, namespace: str, name: str, *, index: int | None = None, force: bool = False
) -> None:
    """Delete a workload with everything that belongs to it.

    Args:
        api: the cluster.
        namespace: where it is.
        name: its name.
        index: only this gang; None = all of it.
        force: leave its processes no time; otherwise its name is taken until they have ended.

    Raises:
        NotFound: there is no such workload.
        StateError: its gangs cannot be removed one by one.
    """
    found = await find(api, namespace, name)
    if not found:
        raise NotFound(f"there is no workload {name!r} in {namespace}", "see `ganglion ps --all`")
    mains = found[0].mains if index is None else _of_gang(found[0], index)
    for main in mains:
        await _delete(api, namespace, main, force=force)
    if force:
        await _kill(api, namespace, name, index)
    if index is None and not any(marks.REQUEST in m.metadata.annotations for m in mains):
        await _sweep(api, namespace, name)


def _of_gang(seen: SeenWorkload, index: int) -> tuple[Main, ...]:
    chosen = tuple(m for m in seen.mains if m.metadata.labels.get(marks.GANG_INDEX) == str(index))
    if not chosen or len(chosen) == len(seen.mains):
        raise StateError(
            f"number {index} of {seen.name} cannot be stopped alone",
            f"stop all of it: ganglion cancel {seen.name}",
        )
    return chosen


async def _delete(api: Api, namespace: str, main: Main, *, force: bool) -> None:
    path = place(main.kind, namespace, main.metadata.name)
    how = "Background" if force else "Foreground"
    try:
        await api.delete(path, uid=main.metadata.uid, propagation=how, tries=TRIES)
    except Absent:
        return  # the owner it went with was deleted a moment ago


async def _kill(api: Api, namespace: str, name: str, index: int | None) -> None:
    selector = f"{marks.WORKLOAD}={name}"
    if index is not None:
        selector += f",{marks.GANG_INDEX}={index}"
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
    path, params = collection("Pod", namespace), {"labelSelector": selector}
    await api.call("DELETE", path, body, params=params, tries=TRIES)


async def _sweep(api: Api, namespace: str, name: str) -> None:
    """Remove what belongs to a workload that was applied by other means, without owners."""
    params = {"labelSelector": f"{marks.WORKLOAD}={name}"}
    for kind in COMPANIONS:
        try:
            listed = await api.list(collection(kind, namespace), Anything, params=params)
        except ForbiddenRequest:
            continue  # a user who may not read secrets cannot have applied one
        for each in listed.items:
            try:
                path = place(kind, namespace, each.metadata.name)
                await api.delete(path, uid=each.metadata.uid, tries=TRIES)
            except Absent:
                continue
