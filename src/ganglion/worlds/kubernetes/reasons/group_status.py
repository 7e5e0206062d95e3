"""What Kubernetes' own PodGroups say of themselves, as kube-scheduler would have them say it.

One condition: True from the time that the pods of the gang have nodes, and for ever after; False
with `Unschedulable` while it waits, with `SchedulerError` if it is refused. None is written while
pods are missing.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ganglion.worlds.kubernetes.cluster_view.orders import Describe
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.pod_groups.upstream import COMPOSITE, is_basic
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.times import seconds
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang
from ganglion.worlds.kubernetes.workload_kinds.kinds import KINDS, path_of
from ganglion.worlds.kubernetes.workload_kinds.owners import ident

PER_TURN = 200
"""Started gangs looked at in one turn."""

AGAIN_MS = 10_000
"""Time after which what was written and is not seen is written again."""

LONGEST = 4096
"""Characters of a message; longer ones are cut."""

_NAMES: Mapping[str, str] = {
    "scheduling.k8s.io/v1alpha2": "PodGroupScheduled",
}
"""Version -> its condition of a PodGroup, where it is not `PodGroupInitiallyScheduled`."""

Said = tuple[str, str, str]
"""Status, reason and message."""


class _Written(Struct, frozen=True):
    """The gang for which a group was written, its version before, and when, in ms."""

    gang: str
    version: str
    at: int


class GroupTeller:
    """Remembers what it ordered to be written."""

    def __init__(self) -> None:
        self._started: dict[str, None] = {}
        self._written: dict[str, _Written] = {}

    def heed(self, scene: ControllerState, gang: str) -> None:
        """Something happened to a gang: it may have its nodes now."""
        found = scene.gangs.founds.get(gang)
        if found and found.groups and _has_nodes(found):
            self._started[gang] = None
        else:
            self._started.pop(gang, None)

    def tell(self, scene: ControllerState, now: int) -> None:
        """Order the next groups of gangs that have their nodes to say so."""
        for gang in list(self._started)[:PER_TURN]:
            try:
                is_untold = self.look(scene, gang, "", now)
            except Exception as error:
                scene.facts.failed("gang", gang, error)
                is_untold = False
            if not is_untold:
                del self._started[gang]

    def forget(self, scene: ControllerState) -> None:
        """Forget gangs that are gone."""
        for uid in [uid for uid, at in self._written.items() if at.gang not in scene.gangs.founds]:
            del self._written[uid]

    def look(self, scene: ControllerState, gang: str, why: str, now: int) -> bool:
        """Order the groups of a gang to be written; whether any says something else by now.

        Args:
            scene: everything that is known.
            gang: which.
            why: what keeps it waiting; empty = nothing, or that is not known.
            now: time in ms.
        """
        found = scene.gangs.founds.get(gang)
        if found is None:
            return False
        told = [self._describe(scene, gang, found, each, why, now) for each in found.groups]
        return any(told)

    def _describe(
        self,
        scene: ControllerState,
        gang: str,
        found: FoundGang,
        thing: Anything,
        why: str,
        now: int,
    ) -> bool:
        said, known = _wanted(found, thing, why), _condition(thing)
        if said is None or _stands(known, said):
            return False
        uid, version = thing.metadata.uid, thing.metadata.resource_version
        last = self._written.get(uid)
        if last is not None:
            if last.version == version and now - last.at < AGAIN_MS:
                return True  # what was written for this version is on its way here
            if _is_alike(known, said) and now - last.at < scene.settings.retell_ms:
                return False
        self._written[uid] = _Written(gang, version, now)
        scene.orders.append(_order(scene.site_of(gang).name, thing, known, said, now))
        return True


def _has_nodes(found: FoundGang) -> bool:
    bound = sum(bool(each.pod.spec.node_name) for each in found.members)
    return 0 < bound >= sum(each.least for each in found.sets)


def _wanted(found: FoundGang, thing: Anything, why: str) -> Said | None:
    """What the condition of a group should be; None = whatever it is."""
    if found.refused:
        return "False", "SchedulerError", found.refused[:LONGEST]
    if _has_nodes(found):
        return "True", "Scheduled", ""
    if found.lacking or not why:
        return None
    if found.groups == (thing,) and is_basic(thing):
        # Its pods start one by one: the first of them that waits speaks for it.
        name = found.members[0].pod.metadata.name
        others = _condition(thing).get("message", "")
        if others and not others.startswith(f"pod {name}: "):
            return None
        why = f"pod {name}: {why}"
    return "False", "Unschedulable", why[:LONGEST]


def _type(thing: Anything) -> str:
    otherwise = f"{thing.kind}InitiallyScheduled"
    return otherwise if thing.kind == COMPOSITE else _NAMES.get(thing.api_version, otherwise)


def _conditions(thing: Anything) -> list[dict[str, Any]]:
    found = thing.status.get("conditions")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _condition(thing: Anything) -> dict[str, Any]:
    name = _type(thing)
    return next((each for each in _conditions(thing) if each.get("type") == name), {})


def _stands(known: Mapping[str, Any], said: Said) -> bool:
    """Whether nothing is to be changed: True is never taken back."""
    if known.get("status") == "True":
        return True
    return (known.get("status"), known.get("reason"), known.get("message")) == said


def _is_alike(known: Mapping[str, Any], said: Said) -> bool:
    """Whether only numbers in the message differ."""
    status, reason, message = said
    if (known.get("status"), known.get("reason")) != (status, reason):
        return False
    return str(known.get("message")).partition(":")[0] == message.partition(":")[0]


def _order(
    cluster: str, thing: Anything, known: Mapping[str, Any], said: Said, now: int
) -> Describe:
    status, reason, message = said
    since = known.get("lastTransitionTime") if known.get("status") == status else None
    condition = {
        "type": _type(thing),
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": thing.metadata.generation,
        "lastTransitionTime": since or seconds(now),
    }
    others = [each for each in _conditions(thing) if each.get("type") != condition["type"]]
    meta = thing.metadata
    plural = KINDS[ident(thing)].plural
    path = path_of(thing.api_version, plural, meta.namespace, meta.name)
    return Describe(cluster, path, meta.resource_version, {"conditions": [*others, condition]})
