"""Owners that were suspended while their pods left go on once the pods are gone."""

from ganglion.worlds.kubernetes.brain.attempt import Stage
from ganglion.worlds.kubernetes.brain.orders import Unsuspend
from ganglion.worlds.kubernetes.brain.scene import Scene
from ganglion.worlds.kubernetes.brain.site import Site
from ganglion.worlds.kubernetes.gangs.found import Owner
from ganglion.worlds.kubernetes.gangs.kinds import KINDS, ident_of, path_of
from ganglion.worlds.kubernetes.objects.meta import Anything, OwnerReference

AGAIN_MS = 10_000


def resume_owners(scene: Scene, now: int) -> None:
    """Order every owner that we have suspended to go on, unless its pods are still to leave."""
    if not any(site.suspended for site in scene.sites.values()):
        scene.resumed.clear()
        return
    leaving = {
        each.owner.uid
        for each in scene.attempts.values()
        if each.stage is Stage.LEAVING and each.owner
    }
    for site in scene.sites.values():
        for uid, thing in site.suspended.items():
            told = scene.resumed.get(uid)
            if uid in leaving or (told is not None and now - told < AGAIN_MS):
                continue
            scene.resumed[uid] = now
            _resume(scene, site, thing)


def _resume(scene: Scene, site: Site, thing: Anything) -> None:
    meta = thing.metadata
    reference = OwnerReference(thing.api_version, thing.kind, meta.name, meta.uid, True)
    resource = KINDS.get(ident_of(reference))
    if resource is None:
        return
    owner = Owner(
        thing.api_version,
        thing.kind,
        meta.namespace,
        meta.name,
        meta.uid,
        path_of(thing.api_version, resource.plural, meta.namespace, meta.name),
        resource.suspend,
        True,
    )
    scene.orders.append(Unsuspend(f"{site.prefix}{meta.namespace}/{meta.name}", site.name, owner))
