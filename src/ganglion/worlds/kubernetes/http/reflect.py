"""A copy of all objects of a kind that follows the cluster and loses no deletion.

The whole is listed once; a watch reports changes from the version of that list on. Every
event and every bookmark carries a version, so after a broken connection, a silent one, or a
stream that the server ended because we were slow, the watch goes on where it was. Only when the
server has forgotten that version is everything listed again and compared with what is known.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from ganglion.model.errors import GanglionError
from ganglion.worlds.kubernetes.http.client import SILENCE_S, Api
from ganglion.worlds.kubernetes.http.errors import (
    Absent,
    ApiError,
    ApiUnavailable,
    Gone,
    InvalidRequest,
    error_of_event,
    pause_s,
)
from ganglion.worlds.kubernetes.http.known import HasMeta, KnownObjects, ObjectChange
from ganglion.worlds.kubernetes.http.listing import UnreadableObject
from ganglion.worlds.kubernetes.http.session import Params

__all__ = ["HasMeta", "ObjectChange", "Reflector"]

LONGEST_PAUSE_S = 5.0
ABSENT_PAUSE_S = 30.0
"""How often it is looked whether a kind that the cluster lacks has been installed."""

ABSENT_TRIES = 5
"""Answers that there is no such kind, in a row, before its objects are taken for deleted."""

_WATCH_S = (300, 600)
"""How long the server is asked to keep a watch; a random time between, so that they spread."""

_TOO_LARGE = "ResourceVersionTooLarge"
"""The version is from before the cluster's state was restored from a copy."""


T = TypeVar("T", bound=HasMeta)


class _Event(Struct):
    type: str
    object: msgspec.Raw


class _Mark(Struct, frozen=True, rename="camel"):
    uid: str = ""
    name: str = ""
    resource_version: str = ""


class _Marked(Struct):
    metadata: _Mark = _Mark()


_event = msgspec.json.Decoder(_Event)
_marked = msgspec.json.Decoder(_Marked)


class Reflector(Generic[T]):
    """Follows one path.

    Args:
        api: the cluster.
        path: of a collection, as `/api/v1/pods`.
        kind: struct of its objects.
        sink: gets the changes in order, all that one read of the socket brought at once. It is
            called in the event loop and should be quick. Objects are distinguished by UID: one of
            the same name that was deleted and made again is `gone`, then `put`.
        params: selectors, as `{"labelSelector": "a=b"}`.
        on_trouble: gets every failure; the reflector goes on trying whatever it is.
        silence_s: silence after which the connection is taken for dead, in seconds.
        limit: objects in one page of a list.
        find: returns, before every list, its present path from the former one.

    Attributes:
        synced: everything was listed at least once.
        trouble: the last failure; None since the last answer of the server.
        heard: when the server last answered, by the monotonic clock; 0 = never.
        unreadable: objects that are there but have a form that is not known, by UID, and why:
            what was known of them before stays, new ones are not delivered.
        version: of the last list, event or bookmark.
    """

    def __init__(
        self,
        api: Api,
        path: str,
        kind: type[T],
        sink: Callable[[list[ObjectChange[T]]], None],
        *,
        params: Params | None = None,
        on_trouble: Callable[[GanglionError], None] | None = None,
        silence_s: float = SILENCE_S,
        limit: int = 500,
        find: Callable[[str], Awaitable[str]] | None = None,
    ) -> None:
        self._api, self._path, self._sink = api, path, sink
        self._find = find
        self._kind, self._decoder = kind, msgspec.json.Decoder(kind)
        self._params: Mapping[str, str | int | bool] = params or {}
        self._on_trouble, self._silence_s, self._limit = on_trouble, silence_s, limit
        self._known: KnownObjects[T] = KnownObjects()
        self.version = ""
        self._lines = self._failures = self._absences = 0
        self.synced = False
        self.trouble: GanglionError | None = None
        self.heard = 0.0
        self.unreadable: dict[str, str] = {}

    @property
    def path(self) -> str:
        """The path that is asked for now."""
        return self._path

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            before = self._lines
            try:
                await self._follow()
            except GanglionError as error:
                self._failed(error)
            else:
                if self._lines > before:
                    continue  # ended in good order: the next event need not wait
            self._failures += 1
            await self._api.effects.clock.pause(self._pause_s())

    async def _follow(self) -> None:
        if not self.version:
            if self._find is not None:
                self._path = await self._find(self._path)
            await self._list()
        await self._watch()

    def _failed(self, error: GanglionError) -> None:
        if _needs_list(error):
            self.version = ""
        if isinstance(error, Absent):
            self._lacking()
        self._tell(error)

    def _tell(self, error: GanglionError) -> None:
        self.trouble = error
        if self._on_trouble:
            self._on_trouble(error)

    def _pause_s(self) -> float:
        longest = ABSENT_PAUSE_S if isinstance(self.trouble, Absent) else LONGEST_PAUSE_S
        error = self.trouble if isinstance(self.trouble, ApiError) else None
        return pause_s(self._failures - 1, error, longest, self._api.effects.randomness)

    def _lacking(self) -> None:
        """No such kind: none to wait for, but none is deleted because of one odd answer."""
        self._absences += 1
        news = self._absences >= ABSENT_TRIES if self._known else not self.synced
        if news:
            self._compare({})

    def _hear(self) -> None:
        self.heard, self.trouble = self._api.effects.clock.monotonic(), None

    async def _list(self) -> None:
        kept: dict[str, T] = {}
        self.unreadable.clear()
        listing = await self._api.list(
            self._path,
            self._kind,
            params=self._params,
            limit=self._limit,
            unreadable=lambda found: self._keep(found, kept),
            page=self._ahead,
        )
        self._hear()
        self._absences = 0
        fresh = {item.metadata.uid: item for item in listing.items}
        self._compare(fresh | kept)
        self.version = listing.version

    def _ahead(self, items: list[T]) -> None:
        """Deliver the first list page by page, so that others can begin with what is there."""
        changes = [] if self.synced else [each for item in items for each in self._known.put(item)]
        if changes:
            self._sink(changes)

    def _keep(self, found: UnreadableObject, kept: dict[str, T]) -> None:
        """An object that cannot be read is not deleted: what was known of it stays."""
        mark = _marked.decode(found.raw).metadata
        if (item := self._known.get(mark.uid)) is not None:
            kept[mark.uid] = item
        self._cannot_read(mark, found.error)

    def _cannot_read(self, mark: _Mark, error: Exception) -> None:
        message = f"{self._path}: {mark.name} cannot be read: {error}"
        self.unreadable[mark.uid] = message
        self._tell(ApiUnavailable(message))

    def _compare(self, fresh: dict[str, T]) -> None:
        changes = self._known.replace(fresh)
        self.synced = True
        self._sink([*changes, ObjectChange("synced")])

    async def _watch(self) -> None:
        query: Params = {
            **self._params,
            "watch": True,
            "allowWatchBookmarks": True,
            "resourceVersion": self.version,
            "timeoutSeconds": round(self._api.effects.randomness.uniform(*_WATCH_S)),
        }
        batches = self._api.batches(self._path, query, silence_s=self._silence_s)
        async with aclosing(batches):
            async for lines in batches:
                self._hear()
                self._take(lines)
                if lines:
                    self._lines += len(lines)
                    self._failures = 0  # a list alone proves little: each watch may fail

    def _take(self, lines: list[bytes]) -> None:
        changes: list[ObjectChange[T]] = []
        try:
            for line in lines:
                self._read(line, changes)
        finally:
            # What came before an error event has happened all the same.
            if changes:
                self._sink(changes)

    def _read(self, line: bytes, changes: list[ObjectChange[T]]) -> None:
        event = self._decoded_event(line)
        if event.type == "ERROR":
            raise error_of_event(f"watch {self._path}", event.object)
        if event.type == "BOOKMARK":
            self.version = _marked.decode(event.object).metadata.resource_version
        else:
            changes += self._object(event)

    def _decoded_event(self, line: bytes) -> _Event:
        try:
            return _event.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ApiUnavailable(f"watch {self._path}: not an event: {error}") from None

    def _object(self, event: _Event) -> list[ObjectChange[T]]:
        mark = _marked.decode(event.object).metadata
        self.version = mark.resource_version
        self.unreadable.pop(mark.uid, None)
        item = self._item(event.object, mark, event.type)
        if event.type == "DELETED":
            return self._known.drop(mark.uid, item)
        return self._known.put(item) if item is not None else []

    def _item(self, raw: msgspec.Raw, mark: _Mark, type_: str) -> T | None:
        try:
            return self._decoder.decode(raw)
        except msgspec.ValidationError as error:
            if type_ != "DELETED":
                self._cannot_read(mark, error)
            return None


def _needs_list(error: GanglionError) -> bool:
    """Whether no watch can go on from the version we have."""
    if isinstance(error, Gone | InvalidRequest | Absent):
        return True
    return isinstance(error, ApiError) and error.caused_by(_TOO_LARGE)
