"""Requests to an API server: JSON in, narrow structs out, errors as exceptions."""

import builtins
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import TypeVar, overload

import msgspec

from ganglion.seams.effects import SYSTEM, Effects
from ganglion.worlds.kubernetes.http.errors import ApiError, pause_s, worth_repeating
from ganglion.worlds.kubernetes.http.listing import ListDecoders, ObjectList, UnreadableObject
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.http.session import JSON, ApiLine, Exchange, Params
from ganglion.worlds.kubernetes.http.tally import NONE, OK, RequestTally
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint

__all__ = ["READ_TRIES", "SILENCE_S", "Api", "Lines", "ObjectList", "Params"]

T = TypeVar("T")

READ_TRIES = 3
"""Reads may be repeated; this is how often they are, unless the caller says otherwise."""

SILENCE_S = 150.0
"""Watches are quiet for no longer than a bookmark takes, which is sent every 60 to 75 s."""

Lines = list[bytes]


class Api:
    """One cluster, within one event loop.

    Args:
        endpoint: which cluster, with which credentials.
        in_flight: requests at a time; more wait. Streams are not counted.
        timeout_s: longest time for one request, from sending it to the end of the answer.
        exchange: how the server is reached; None = over connections of our own.
        effects: the clock of pauses, how long they are, and what credentials and certificates are
            read with; also for what uses this client.

    Every method raises `ApiError`, and `EnvironmentFault` where credentials cannot be had. Paths
    are those of the API, as `/api/v1/namespaces/ns/pods/name`. Bodies are structs or plain data.

    Writes are sent once, unless the caller gives more `tries` because repeating them does no
    harm: then they are repeated after time-outs, lost connections, 5xx and 429.
    """

    def __init__(
        self,
        endpoint: ApiEndpoint,
        *,
        in_flight: int = 64,
        timeout_s: float = 10.0,
        exchange: Exchange | None = None,
        effects: Effects = SYSTEM,
    ) -> None:
        self.endpoint, self.effects = endpoint, effects
        self._line = exchange or ApiLine(endpoint, in_flight, timeout_s, effects)
        self._reading = ListDecoders()
        self.tally = RequestTally()

    async def get(
        self, path: str, kind: type[T], *, params: Params | None = None, tries: int = READ_TRIES
    ) -> T:
        """Return one object."""
        raw = await self.call("GET", path, params=params, tries=tries)
        return self._reading.read(path, raw, kind)

    async def list(
        self,
        path: str,
        kind: type[T],
        *,
        params: Params | None = None,
        limit: int = 500,
        unreadable: Callable[[UnreadableObject], None] | None = None,
        page: Callable[[builtins.list[T]], None] = lambda _items: None,
    ) -> ObjectList[T]:
        """Return all objects below a path.

        Args:
            path: of the collection.
            kind: struct of one object.
            params: selectors.
            limit: objects in one page; 0 = all at once.
            unreadable: gets every object that does not fit `kind`, which is then left out; None
                = one such object fails the whole list.
            page: gets the objects of every page as it comes, before the list is whole.
        """

        async def ask(query: Params) -> bytes:
            return await self.call("GET", path, params=query, tries=READ_TRIES)

        return await self._reading.listing(path, kind, ask, params or {}, limit, unreadable, page)

    @overload
    async def create(
        self, path: str, body: object, *, params: Params | None = None, tries: int = 1
    ) -> None: ...
    @overload
    async def create(
        self,
        path: str,
        body: object,
        kind: type[T],
        *,
        params: Params | None = None,
        tries: int = 1,
    ) -> T: ...
    async def create(
        self,
        path: str,
        body: object,
        kind: type[T] | None = None,
        *,
        params: Params | None = None,
        tries: int = 1,
    ) -> T | None:
        """Create an object, or use a sub-resource as `binding`; return what became of it."""
        raw = await self.call("POST", path, body, params=params, tries=tries)
        return self._reading.read(path, raw, kind) if kind else None

    @overload
    async def patch(
        self,
        path: str,
        body: object,
        form: Patch,
        *,
        manager: str = "",
        force: bool = False,
        params: Params | None = None,
        tries: int = 1,
    ) -> None: ...
    @overload
    async def patch(
        self,
        path: str,
        body: object,
        form: Patch,
        kind: type[T],
        *,
        manager: str = "",
        force: bool = False,
        params: Params | None = None,
        tries: int = 1,
    ) -> T: ...
    async def patch(
        self,
        path: str,
        body: object,
        form: Patch,
        kind: type[T] | None = None,
        *,
        manager: str = "",
        force: bool = False,
        params: Params | None = None,
        tries: int = 1,
    ) -> T | None:
        """Change a part of an object.

        Args:
            path: of the object, or of its status or scale.
            body: what to change, in the form given.
            form: how the body is meant.
            kind: type of the answer; None = the answer is thrown away.
            manager: the owner of the fields, as `ganglion`; needed for `Patch.APPLY`.
            force: take fields from other managers; only for `Patch.APPLY`.
            params: query.
            tries: how often it may be sent.
        """
        query: dict[str, str | int | bool] = dict(params or {})
        if manager:
            query["fieldManager"] = manager
        if force:
            query["force"] = True
        raw = await self.call("PATCH", path, body, content=form, params=query, tries=tries)
        return self._reading.read(path, raw, kind) if kind else None

    @overload
    async def replace(self, path: str, body: object, *, tries: int = 1) -> None: ...
    @overload
    async def replace(self, path: str, body: object, kind: type[T], *, tries: int = 1) -> T: ...
    async def replace(
        self, path: str, body: object, kind: type[T] | None = None, *, tries: int = 1
    ) -> T | None:
        """Put an object in the place of the version that its metadata names."""
        raw = await self.call("PUT", path, body, tries=tries)
        return self._reading.read(path, raw, kind) if kind else None

    async def delete(
        self,
        path: str,
        *,
        uid: str = "",
        grace: int | None = None,
        propagation: str = "",
        tries: int = 1,
    ) -> None:
        """Delete an object.

        Args:
            path: of the object.
            uid: only this one, not a later one of the same name (409 then); empty = any.
            grace: seconds it has to end; None = what it says itself.
            propagation: `Background`, `Foreground` or `Orphan`; empty = as the kind does.
            tries: how often it may be sent.
        """
        options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if propagation:
            options["propagationPolicy"] = propagation
        await self.call("DELETE", path, options, tries=tries)

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: str = JSON,
        params: Params | None = None,
        tries: int = 1,
    ) -> bytes:
        """Send any request and return the body of the answer as it is."""
        encoded = b"" if body is None else msgspec.json.encode(body)
        for attempt in range(tries):
            try:
                answer = await self._line.call(method, path, encoded, content, params)
                self.tally.add(method, path, OK)
                return answer
            except ApiError as error:
                self.tally.add(method, path, str(error.status or NONE))
                if attempt + 1 >= tries or not worth_repeating(error):
                    raise
                pause = pause_s(attempt, error, randomness=self.effects.randomness)
                await self.effects.clock.pause(pause)
        raise ValueError(f"tries has to be 1 or more, not {tries}")

    async def stream(
        self, path: str, params: Params | None = None, *, silence_s: float = SILENCE_S
    ) -> AsyncIterator[bytes]:
        """Yield an endless answer line by line, without line ends; see `batches`."""
        async with aclosing(self.batches(path, params, silence_s=silence_s)) as batches:
            async for batch in batches:
                for line in batch:
                    yield line

    async def batches(
        self, path: str, params: Params | None = None, *, silence_s: float = SILENCE_S
    ) -> AsyncGenerator[Lines, None]:
        """Yield an endless answer as lists of whole lines, one list for each read of the socket.

        The first list is empty: the server has accepted. Returns when the server ends the answer;
        a last line without its end is left out, unless the server ended in good order.

        Raises:
            ApiError: the request was refused; `Broken` when the connection is lost or the server
                is silent for longer than `silence_s`.
        """
        async with aclosing(self._line.pieces(path, params, silence_s)) as pieces:
            rest = b""
            async for piece in pieces:
                *lines, rest = (rest + piece).split(b"\n")
                if lines or not piece:
                    yield lines
        if rest:
            yield [rest]

    async def pieces(
        self, path: str, params: Params | None = None, *, silence_s: float = SILENCE_S
    ) -> AsyncGenerator[bytes, None]:
        """Yield an answer as it arrives, without a look at lines; the first piece is empty.

        Raises:
            ApiError: as `batches`.
        """
        async with aclosing(self._line.pieces(path, params, silence_s)) as pieces:
            async for piece in pieces:
                yield piece

    async def close(self) -> None:
        """Close all connections."""
        await self._line.close()
