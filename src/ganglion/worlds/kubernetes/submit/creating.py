"""Creating the objects of a workload: all or none, and once however often it is tried.

The first object is created asleep (a suspended Job, no replicas): its name says that the workload
exists, and that nothing of it runs yet. Everything else is owned by it, so that the cluster itself
removes the rest with it. When all is there, it is woken.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from ganglion.model import errors
from ganglion.model.errors import GanglionError, InputError, StateError
from ganglion.worlds.kubernetes.http import errors as api_errors
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent, ApiError, ApiUnavailable, InvalidRequest
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.submit.manifests import marks
from ganglion.worlds.kubernetes.submit.manifests.pod import Manifest
from ganglion.worlds.kubernetes.submit.places import MAINS, collection, place_of, title
from ganglion.worlds.kubernetes.types.meta import Anything

TRIES = 3
ASLEEP = "asleep"
"""Value of the annotation of a workload that is not complete yet."""


async def create(api: Api, manifests: Sequence[Manifest], *, key: str) -> None:
    """Create a workload, or finish what an interrupted attempt with the same key began.

    Args:
        api: the cluster.
        manifests: its objects, the main one first.
        key: idempotency key.

    Raises:
        Conflict: an object of one of these names exists already.
        InputError: the cluster finds an object wrong.
        StateError: the cluster does not allow it, as beyond a quota.
        ApiError: the cluster cannot be asked; what has been done is not known.
    """
    first, *others = manifests
    made = await _begin(api, first, key)
    try:
        for each in others:
            await _ensure(api, _owned(each, first, made.metadata.uid), made.metadata.uid)
    except (GanglionError, asyncio.CancelledError) as error:
        if not isinstance(error, ApiUnavailable):  # otherwise the same command finishes it
            await _undo(api, manifests, made.metadata.uid)
        raise
    await api.patch(place_of(first), _waking(first), Patch.MERGE, tries=TRIES)


async def is_there(api: Api, manifests: Sequence[Manifest]) -> bool:
    """Whether the main object of a workload exists, be it of another one. Raises ApiError."""
    try:
        await api.get(place_of(manifests[0]), Anything)
    except Absent:
        return False
    return True


async def rehearse(api: Api, manifests: Sequence[Manifest]) -> None:
    """Let the cluster check every object without keeping any.

    Raises:
        GanglionError: as `create` would.
    """
    for each in manifests:
        try:
            await api.create(_collection(each), each, params={"dryRun": "All"}, tries=TRIES)
        except ApiError as error:
            raise told(error, each) from error


async def _begin(api: Api, first: Manifest, key: str) -> Anything:
    """Create the main object, asleep, or find the one that this very submit made."""
    try:
        return await api.create(_collection(first), _asleep(first, key), Anything)
    except api_errors.ObjectConflict as error:
        found = await api.get(place_of(first), Anything)
        if key and found.metadata.annotations.get(marks.REQUEST) == key:
            return found
        raise told(error, first) from error
    except ApiError as error:
        raise told(error, first) from error


def _asleep(first: Manifest, key: str) -> Manifest:
    meta = first["metadata"]
    notes = meta.get("annotations", {}) | {marks.REQUEST: key, marks.RELEASE: ASLEEP}
    asleep = {"suspend": True} if first["kind"] == "Job" else {"replicas": 0}
    return {
        **first,
        "metadata": {**meta, "annotations": notes},
        "spec": {**first["spec"], **asleep},
    }


def _waking(first: Manifest) -> dict[str, Any]:
    """The merge patch that lets a workload begin."""
    spec = first["spec"]
    wanted = (
        {"suspend": spec.get("suspend", False)}
        if first["kind"] == "Job"
        else {"replicas": spec["replicas"]}
    )
    return {"metadata": {"annotations": {marks.RELEASE: None}}, "spec": wanted}


def _owned(each: Manifest, first: Manifest, uid: str) -> Manifest:
    meta = first["metadata"]
    owner = {"apiVersion": first["apiVersion"], "kind": first["kind"], "name": meta["name"]}
    # Pods of several controllers are one gang because the first answers for the others.
    answers = {"controller": True} if each["kind"] in MAINS else {}
    owners = [owner | {"uid": uid} | answers]
    return {**each, "metadata": {**each["metadata"], "ownerReferences": owners}}


async def _ensure(api: Api, manifest: Manifest, owner: str) -> None:
    """Create an object unless the same submit has already."""
    try:
        await api.create(_collection(manifest), manifest, tries=TRIES)
    except api_errors.ObjectConflict as error:
        found = await api.get(place_of(manifest), Anything)
        if not _belongs(found, owner):
            raise told(error, manifest) from error
    except ApiError as error:
        raise told(error, manifest) from error


def _belongs(found: Anything, owner: str) -> bool:
    return any(each.uid == owner for each in found.metadata.owner_references)


async def _undo(api: Api, manifests: Sequence[Manifest], owner: str) -> None:
    """Remove what was created; objects that belong to others stay."""
    first, *others = manifests
    for each in reversed(others):
        try:
            found = await api.get(place_of(each), Anything)
            if _belongs(found, owner):
                await _delete(api, each, found.metadata.uid)
        except Absent:
            continue
    await _delete(api, first, owner)


async def _delete(api: Api, manifest: Manifest, uid: str) -> None:
    await api.delete(place_of(manifest), uid=uid, propagation="Background", tries=TRIES)


def _collection(manifest: Manifest) -> str:
    return collection(manifest["kind"], manifest["metadata"]["namespace"])


def told(error: ApiError, manifest: Manifest) -> GanglionError:
    """What an answer of the API means for a person who submits.

    Answers that leave it open whether something was done are returned as they are.
    """
    meta = manifest["metadata"]
    said = error.said or error.message
    if isinstance(error, api_errors.ObjectConflict):
        name = meta["labels"][marks.WORKLOAD]
        return errors.Conflict(
            f"{title(manifest)} exists already",
            f"choose another name, or remove it first: ganglion cancel {name}",
        )
    if isinstance(error, InvalidRequest):
        return InputError(f"the cluster refuses {title(manifest)}: {said}", error.hint)
    if isinstance(error, Absent):
        hint = f"is there a namespace {meta['namespace']}?"
        return StateError(f"the cluster does not take {title(manifest)}: {said}", hint)
    if isinstance(error, api_errors.ForbiddenRequest):
        return StateError(f"the cluster does not allow {title(manifest)}: {said}", error.hint)
    return error
