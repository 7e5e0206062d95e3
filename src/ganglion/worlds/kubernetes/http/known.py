"""What is known of a kind, and what a list or an event changes about it."""

from collections.abc import Mapping
from typing import Generic, Literal, Protocol, TypeVar

from msgspec import Struct

from ganglion.worlds.kubernetes.types.meta import Meta


class HasMeta(Protocol):
    """Any object of the API."""

    @property
    def metadata(self) -> Meta:
        """Its metadata."""


T = TypeVar("T", bound=HasMeta)


class ObjectChange(Struct, Generic[T], frozen=True):
    """One thing that happened.

    Attributes:
        kind: `put`: the object is new or changed. `gone`: it was deleted, or left the selection;
            `item` is the last that is known of it. `synced`: every listed object was delivered;
            comes after every list, with no item.
        item: the object.
    """

    kind: Literal["put", "gone", "synced"]
    item: T | None = None


class KnownObjects(Generic[T]):
    """Objects by UID, so that one of the same name that was made again is another."""

    def __init__(self) -> None:
        self._items: dict[str, T] = {}

    def __bool__(self) -> bool:
        return bool(self._items)

    def get(self, uid: str) -> T | None:
        """Return the object as last seen."""
        return self._items.get(uid)

    def replace(self, fresh: Mapping[str, T]) -> list[ObjectChange[T]]:
        """Take over a whole list; return what it changes: what is gone, then what is new."""
        old, self._items = self._items, dict(fresh)
        gone: list[ObjectChange[T]] = [
            ObjectChange("gone", item) for uid, item in old.items() if uid not in fresh
        ]
        put = (item for uid, item in fresh.items() if _differs(old.get(uid), item))
        return gone + [ObjectChange("put", item) for item in put]

    def put(self, item: T) -> list[ObjectChange[T]]:
        """Take over one object; return what that changes."""
        if not _differs(self._items.get(item.metadata.uid), item):
            return []
        self._items[item.metadata.uid] = item
        return [ObjectChange("put", item)]

    def drop(self, uid: str, last: T | None) -> list[ObjectChange[T]]:
        """Forget an object; return what that changes.

        Args:
            uid: of the object.
            last: how it was in the end; None = not known, then as it was last seen.
        """
        known = self._items.pop(uid, None)
        return [] if known is None else [ObjectChange("gone", last or known)]


def _differs(known: HasMeta | None, item: HasMeta) -> bool:
    return known is None or known.metadata.resource_version != item.metadata.resource_version
