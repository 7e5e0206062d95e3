"""Looks objects up for gangs, and remembers what was looked for."""

from collections.abc import Callable

from ganglion.worlds.kubernetes.types.meta import Anything, Meta, OwnerReference
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_kinds.kinds import POD, ident_of
from ganglion.worlds.kubernetes.workload_kinds.owners import (
    Chain,
    Lookup,
    WantedOwner,
    climb,
    wanted,
)

Need = str | tuple[str, str]
"""A UID, or (namespace, name) of what is only known by name."""


def needs_met_by(thing: Anything) -> tuple[Need, Need]:
    """What an object answers."""
    meta = thing.metadata
    return meta.uid, (meta.namespace, meta.name)


class GangSources:
    """One go at understanding a gang.

    Args:
        owners: looks up objects other than pods.
        pods: UID -> metadata of pods that are there, as leaders own the pods of their workers.

    Attributes:
        needs: what was looked up.
        missing: what was not found.
    """

    def __init__(self, owners: Lookup, pods: Callable[[str], Meta | None]) -> None:
        self._owners = owners
        self._pods = pods
        self._chains: dict[str, Chain] = {}
        self.needs: set[Need] = set()
        self.missing: set[WantedOwner] = set()

    def chain(self, pod: Pod) -> Chain:
        """The makers of a pod."""
        ref = pod.metadata.controller
        key = ref.uid if ref else ""
        if key not in self._chains:
            chain = climb(pod.metadata, self.look)
            self._chains[key] = chain
            self.missing.update(filter(None, [chain.missing]))
        return self._chains[key]

    def described(self, ref: OwnerReference | None, namespace: str) -> Anything | None:
        """An object that is known by its name only."""
        thing = self.look(ref, namespace) if ref else None
        if ref and thing is None:
            self.missing.add(wanted(ref, namespace))
        if thing is None or ref is None or thing.kind:
            return thing
        return Anything(ref.api_version, ref.kind, thing.metadata, thing.spec, thing.status)

    def look(self, ref: OwnerReference, namespace: str) -> Anything | None:
        """What a reference points to; None = not known."""
        self.needs.add(ref.uid or (namespace, ref.name))
        if ident_of(ref) == POD and (meta := self._pods(ref.uid)) is not None:
            return Anything("v1", "Pod", meta)
        return self._owners(ref, namespace)
