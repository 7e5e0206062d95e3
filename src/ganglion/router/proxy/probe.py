"""Probes of replicas: of those that start, those that failed, and those that serve."""

import asyncio
from collections.abc import Iterable
from http import HTTPStatus

import aiohttp

from ganglion.router.balancing.balancer import Balancer, ReplicaState
from ganglion.router.balancing.registry import steady_ms
from ganglion.router.balancing.table import RoutingState, split_address
from ganglion.seams.clock import SYSTEM_CLOCK, Clock

FIRST_S, LAST_S = 0.02, 1.0
"""Shortest and longest pause between two attempts; pauses grow."""
GROWTH = 1.5
APART_S, LONGEST_APART_S = 0.05, 10.0
"""Pause after a failure of a replica, doubled each time until it answers."""
CHECK_S = 5.0
"""Pause between two probes of a replica that gets requests."""
PATIENCE = 3
"""Failed probes in a row that take a replica out: a busy one may be slow once."""


class Prober:
    """Probes replicas, each in its own task.

    Probe replicas that get no requests until they answer. Probe those that get requests every
    `check_s`, where their service has a health path.

    Args:
        session: makes the requests.
        check_s: pause between two probes of a healthy replica, in seconds.
        clock: for pauses, and for when a replica came or went.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        check_s: float = CHECK_S,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._session, self._check_s, self._clock = session, check_s, clock
        self._tasks: dict[ReplicaState, asyncio.Task[None]] = {}

    def watch(self, balancer: Balancer, replica: ReplicaState) -> None:
        """Begin to probe it, unless a probe runs or is not needed."""
        known = replica.up and not balancer.service.health
        if known or replica in self._tasks or not _wanted(replica):
            return
        task = asyncio.create_task(self._followed(balancer, replica))
        self._tasks[replica] = task
        task.add_done_callback(lambda _: self._tasks.pop(replica, None))

    def now_ms(self) -> int:
        """The time by which a router waits and measures."""
        return steady_ms(self._clock)

    async def reaches(self, balancers: Iterable[Balancer]) -> bool:
        """Whether any replica answers now."""
        replicas = ((owner, each) for owner in balancers for each in owner.replicas.values())
        return any(await asyncio.gather(*(self._answers(*each) for each in replicas)))

    async def close(self) -> None:
        """End all probes."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _followed(self, balancer: Balancer, replica: ReplicaState) -> None:
        while _wanted(replica):
            if not replica.up:
                await self._until_up(balancer, replica)
            elif balancer.service.health:
                await self._until_sick(balancer, replica)
            else:
                return

    async def _until_up(self, balancer: Balancer, replica: ReplicaState) -> None:
        await self._clock.pause(apart_s(replica.strikes))
        pause = FIRST_S
        while _wanted(replica) and not replica.up:
            if await self._answers(balancer, replica):
                balancer.revive(replica, self.now_ms())
                return
            await self._clock.pause(pause)
            pause = min(LAST_S, pause * GROWTH)

    async def _until_sick(self, balancer: Balancer, replica: ReplicaState) -> None:
        """Take a replica that is up out after several failed probes in a row."""
        wrong = 0
        while _wanted(replica) and replica.up and wrong < PATIENCE:
            await self._clock.pause(self._check_s)
            wrong = 0 if await self._answers(balancer, replica) else wrong + 1
        if wrong == PATIENCE and replica.up:
            balancer.fail(replica, self.now_ms())

    async def _answers(self, balancer: Balancer, replica: ReplicaState) -> bool:
        service, address = balancer.service, replica.endpoint.address
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
    """Seconds to pause after this number of failures in a row."""
    return min(LONGEST_APART_S, APART_S * 2 ** min(strikes - 1, 16)) if strikes else 0.0


def _wanted(replica: ReplicaState) -> bool:
    return not replica.gone and replica.endpoint.state != RoutingState.DRAINING


async def _connects(address: str) -> bool:
    _, writer = await asyncio.open_connection(*split_address(address))
    writer.close()
    return True
