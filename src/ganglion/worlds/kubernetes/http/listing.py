"""Answers as structs, and lists that come in pages."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from ganglion.worlds.kubernetes.http.errors import ApiUnavailable, Gone
from ganglion.worlds.kubernetes.http.session import Params

T = TypeVar("T")

_PAGED_TRIES = 3
"""Lists in pages that a compaction cut short before the whole is asked for at once."""


class ObjectList(Struct, Generic[T]):
    """All objects of a kind at one moment.

    Attributes:
        items: the objects, in the server's order.
        version: of the whole list; a watch from here misses nothing.
    """

    items: list[T]
    version: str


class UnreadableObject(Struct, frozen=True):
    """An object in a list that is not of the form expected."""

    raw: msgspec.Raw
    error: ApiUnavailable


class _ListMeta(Struct, rename={"version": "resourceVersion", "more": "continue"}):
    version: str = ""
    more: str = ""


class _Page(Struct, Generic[T]):
    metadata: _ListMeta
    items: list[T] | None = None


Ask = Callable[[Params], Awaitable[bytes]]
Left = Callable[[UnreadableObject], None]


class ListDecoders:
    """Decoders of all kinds that were asked for."""

    def __init__(self) -> None:
        self._decoders: dict[object, msgspec.json.Decoder[object]] = {}

    def read(self, path: str, raw: bytes | msgspec.Raw, kind: type[T]) -> T:
        """Return an answer as a struct.

        Raises:
            Broken: it has another form; names the path and the field.
        """
        decoder = self._decoders.get(kind)
        if decoder is None:
            decoder = self._decoders[kind] = msgspec.json.Decoder(kind)
        try:
            return decoder.decode(raw)  # type: ignore[return-value]  # it is the decoder of `kind`
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ApiUnavailable(f"{path}: unexpected answer: {error}") from error

    async def listing(
        self,
        path: str,
        kind: type[T],
        ask: Ask,
        params: Params,
        limit: int,
        left: Left | None = None,
        page: Callable[[list[T]], None] = lambda _items: None,
    ) -> ObjectList[T]:
        """Return all pages as one list.

        Args:
            path: for messages.
            kind: struct of one object.
            ask: gets one page for a query.
            params: selectors.
            limit: objects in one page; 0 = all at once.
            left: gets the objects that do not fit `kind`; None = they fail the whole.
            page: gets the objects of every page as it comes; those of a list that had to be
                begun again come again.
        """

        def read(raw: bytes) -> _Page[T]:
            found = self._page(path, kind, left, raw)
            page(found.items or [])
            return found

        for _ in range(_PAGED_TRIES if limit else 0):
            try:
                return await _pages(ask, read, {**params, "limit": limit})
            except Gone:
                continue  # the pages that are left belong to a version that is forgotten
        return await _pages(ask, read, params)

    def _page(self, path: str, kind: type[T], left: Left | None, raw: bytes) -> _Page[T]:
        try:
            return self.read(path, raw, _Page[kind])  # type: ignore[valid-type]  # known at run time
        except ApiUnavailable:
            if left is None:
                raise
        each = self.read(path, raw, _Page[msgspec.Raw])
        items = (self._one(path, item, kind, left) for item in each.items or ())
        return _Page(each.metadata, [item for item in items if item is not None])

    def _one(self, path: str, raw: msgspec.Raw, kind: type[T], left: Left) -> T | None:
        try:
            return self.read(path, raw, kind)
        except ApiUnavailable as error:
            left(UnreadableObject(raw, error))
            return None


async def _pages(ask: Ask, read: Callable[[bytes], _Page[T]], params: Params) -> ObjectList[T]:
    found: ObjectList[T] = ObjectList([], "")
    query = dict(params)
    while True:
        page = read(await ask(query))
        found.items += page.items or ()
        if not page.metadata.more:
            found.version = page.metadata.version
            return found
        query["continue"] = page.metadata.more
