"""Finds out whether a replica answers that is starting, or that failed."""

import asyncio
from http import HTTPStatus

import aiohttp

from ganglion.router.desk import Desk, Replica
from ganglion.router.switch import now_ms
from ganglion.router.table import State, split_address

FIRST_S, LAST_S = 0.02, 1.0
"""Pauses between two attempts grow from the first to the last."""
GROWTH = 1.5
APART_S, LONGEST_APART_S = 0.05, 10.0
"""One that failed is left alone for a while, twice as long each time, until it has answered."""


class Prober:
    """Asks those that do not get requests until they answer, each in its own task.

    Args:
        session: makes the requests.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._tasks: dict[Replica, asyncio.Task[None]] = {}

    def watch(self, desk: Desk, replica: Replica) -> None:
        """Ask it until it answers, unless that is being done or it is up."""
        if replica.up or replica.gone or replica in self._tasks:
            return
        task = asyncio.create_task(self._until_up(desk, replica))
        self._tasks[replica] = task
        task.add_done_callback(lambda _: self._tasks.pop(replica, None))

    async def close(self) -> None:
        """Ask nobody any more."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _until_up(self, desk: Desk, replica: Replica) -> None:
        await asyncio.sleep(apart_s(replica.strikes))
        pause = FIRST_S
        while not replica.gone and replica.endpoint.state != State.DRAINING:
            if replica.up:
                return
            if await self._answers(desk, replica):
                desk.revive(replica, now_ms())
                return
            await asyncio.sleep(pause)
            pause = min(LAST_S, pause * GROWTH)

    async def _answers(self, desk: Desk, replica: Replica) -> bool:
        service, address = desk.service, replica.endpoint.address
        patience_s = max(0.05, service.limits.connect_ms / 1000)
        try:
            async with asyncio.timeout(patience_s):
                if service.health:
                    return await self._healthy(f"http://{address}{service.health}")
                return await _connects(address)
        except (OSError, aiohttp.ClientError, TimeoutError):
            return False

    async def _healthy(self, url: str) -> bool:
        async with self._session.get(url, allow_redirects=False) as found:
            return HTTPStatus.OK <= found.status < HTTPStatus.MULTIPLE_CHOICES


def apart_s(strikes: int) -> float:
    """How long one that failed so often in a row is left alone, in seconds."""
    return min(LONGEST_APART_S, APART_S * 2 ** min(strikes - 1, 16)) if strikes else 0.0


async def _connects(address: str) -> bool:
    _, writer = await asyncio.open_connection(*split_address(address))
    writer.close()
    return True
