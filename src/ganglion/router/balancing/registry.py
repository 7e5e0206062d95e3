"""All services of a router: the table in force, replicas to probe, stats."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from random import Random

from msgspec.structs import replace

from ganglion.router.balancing.balancer import Balancer, ReplicaState
from ganglion.router.balancing.stats import Stats
from ganglion.router.balancing.table import RoutingTable
from ganglion.seams.clock import Clock
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.transport.hosts import Hosts


def steady_ms(clock: Clock) -> int:
    """The time by which a router waits and measures: the steady clock, in ms."""
    return int(clock.monotonic() * 1_000)


class ServiceRegistry:
    """The balancer of every service, by name.

    Args:
        watch: called with every replica of every table, so that it can be probed.
        dice: chance of the balancers.
        effects: clock, and chance for the name of this run.
    """

    def __init__(
        self,
        watch: Callable[[Balancer, ReplicaState], None],
        dice: Random | None = None,
        effects: Effects = SYSTEM,
    ) -> None:
        self._clock = effects.clock
        self.balancers: dict[str, Balancer] = {}
        self.hosts, self.session_cookie = Hosts(), ""
        self._closed: dict[str, Balancer] = {}
        self._watch, self._dice = watch, dice or Random(effects.randomness.token_bytes(16))
        self._boot, self._version, self._news = effects.randomness.token_hex(8), 0, 0
        self._epoch = self._clock.now_ms() - steady_ms(self._clock)
        self._told, self._fed = asyncio.Event(), asyncio.Event()

    def apply(self, table: RoutingTable) -> None:
        """Put a table in force; ignore one that is older than the present one."""
        if table.version < self._version:
            return
        self._version = table.version
        self.hosts, self.session_cookie = Hosts(table.hosts), table.session_cookie
        self._fed.set()
        now = steady_ms(self._clock)
        before, self.balancers = self.balancers | self._closed, {}
        for service in table.services:
            balancer = before.pop(service.name, None)
            if balancer is None:
                balancer = Balancer(service, now, self._dice, self._note)
            else:
                balancer.follow(service, now)
            self.balancers[service.name] = balancer
            for replica in balancer.replicas.values():
                self._watch(balancer, replica)
        for balancer in before.values():
            balancer.follow(replace(balancer.service, endpoints=(), wakes=False), now)
        self._closed = {
            balancer.service.name: balancer for balancer in before.values() if not balancer.idle
        }
        self._note()

    def _note(self) -> None:
        self._news += 1
        self._told.set()
        self._told = asyncio.Event()

    async def fed(self, wait_ms: int) -> None:
        """Return when there is a table, or after the given time."""
        if not self._fed.is_set():
            await _at_most(self._fed, wait_ms)

    @property
    def news(self) -> int:
        """See `Stats.news`."""
        return self._news

    async def news_beyond(self, seen: int, wait_ms: int) -> None:
        """Return when there is news beyond `seen`, or after the given time."""
        if self._news == seen:
            await _at_most(self._told, wait_ms)

    def stats(self) -> Stats:
        """Return the stats."""
        now = steady_ms(self._clock)
        return Stats(
            boot=self._boot,
            version=self._version,
            news=self._news,
            at_ms=self._epoch + now,
            services=tuple(balancer.stats(now, self._epoch) for balancer in self.all()),
        )

    def all(self) -> Iterator[Balancer]:
        """Every service that is routed, and those no longer routed that still have requests."""
        yield from self.balancers.values()
        yield from (balancer for balancer in self._closed.values() if not balancer.idle)


async def _at_most(event: asyncio.Event, wait_ms: int) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(wait_ms / 1000):
            await event.wait()
