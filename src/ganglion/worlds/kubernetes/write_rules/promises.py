"""Nominations that are written piece by piece: those of a node before any pod leaves it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Promises(Generic[T]):
    """Nominations of gangs that are still to be written.

    Args:
        write: writes where pods are going to run: (pod, node) each.
    """

    def __init__(self, write: Callable[[Sequence[tuple[T, str]]], Awaitable[None]]) -> None:
        self._write = write
        self._left: dict[str, dict[str, list[tuple[T, str]]]] = {}
        self._tasks: dict[str, dict[str, asyncio.Future[None]]] = {}

    def put(self, gang: str, places: Iterable[tuple[T, str]]) -> None:
        """A gang gets places; `keep` and `settle` write them."""
        left = self._left.setdefault(gang, {})
        for each in places:
            left.setdefault(each[1], []).append(each)

    async def keep(self, gang: str, nodes: Sequence[str]) -> None:
        """Nominate a gang's places on nodes; returns when they are written.

        What is taken back, which has the node "", comes before.
        """
        tasks = self._tasks.setdefault(gang, {})
        for node in ("", *nodes):
            places = self._left.get(gang, {}).pop(node, None)
            if places:
                tasks[node] = asyncio.ensure_future(self._write(places))
        await self._wait([tasks[node] for node in ("", *nodes) if node in tasks])

    async def settle(self, gang: str) -> None:
        """Nominate all of a gang's places; returns when they are written."""
        await self.keep(gang, list(self._left.get(gang, ())))
        await self._wait(list(self._tasks.get(gang, {}).values()))
        self._left.pop(gang, None)
        self._tasks.pop(gang, None)

    async def _wait(self, tasks: Sequence["asyncio.Future[None]"]) -> None:
        # The task that waits may be cancelled, as a victim that is spared; the write goes on.
        for task in tasks:
            await asyncio.shield(task)
