"""Objects to read."""

from typing import Any

from ganglion.worlds.kubernetes.config.read import Configuration
from ganglion.worlds.kubernetes.config.verdicts import ObjectVerdict
from ganglion.worlds.kubernetes.types.meta import Anything, Meta


def queue(name: str, generation: int = 1, **spec: Any) -> Anything:
    return thing("Queue", name, generation, spec)


def policy(name: str = "default", generation: int = 1, **spec: Any) -> Anything:
    return thing("Policy", name, generation, spec)


def thing(kind: str, name: str, generation: int, spec: dict[str, Any]) -> Anything:
    meta = Meta(name=name, uid=f"uid-{name}", generation=generation)
    return Anything("ganglion.dev/v1alpha1", kind, meta, spec)


def with_kept(item: Anything, generation: int, **spec: Any) -> Anything:
    """The object whose status says that an earlier spec counts."""
    kept = {"inForce": {"generation": generation, "spec": spec}}
    return Anything(item.api_version, item.kind, item.metadata, item.spec, kept)


def verdict(found: Configuration, name: str, kind: str = "Queue") -> ObjectVerdict:
    return next(each for each in found.verdicts if (each.kind, each.name) == (kind, name))


def names(found: Configuration) -> list[str]:
    return [each.name for each in found.queues]
