"""One request in the router: it waits for a replica, gets one, loses it, is counted."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TypeVar

from msgspec import structs

from ganglion.router.balancing.balancer import Balancer, Full, NoReplica, ReplicaState, Ticket
from ganglion.router.balancing.counters import RequestOutcome
from ganglion.router.balancing.least_loaded import RequestPreferences
from ganglion.router.proxy.answers import RouterResponse
from ganglion.router.proxy.probe import Prober

T = TypeVar("T")


class Visit:
    """A request, from its arrival to its end.

    Args:
        desk: the service it is for.
        wish: what it would like.
        prober: finds out when replicas that failed answer again.
    """

    def __init__(self, balancer: Balancer, wish: RequestPreferences, prober: Prober) -> None:
        self._balancer, self._wish, self._prober = balancer, wish, prober
        self._came = self._prober.now_ms()
        self._deadline = self._came + balancer.service.limits.hold_ms
        self._begun = False
        self.tries = 0
        balancer.counters.arrived += 1

    @asynccontextmanager
    async def seat(self) -> AsyncIterator[ReplicaState]:
        """Hold a replica while the context lasts.

        Raises:
            Refusal: there is none within the time that requests wait.
        """
        replica = await self._seated()
        try:
            yield replica
        finally:
            self._balancer.give_back(replica, self._prober.now_ms())

    async def served(self, tried: Callable[[ReplicaState], Awaitable[T | None]]) -> T:
        """Return the answer of one replica, or of the next one where a second try is safe.

        Args:
            tried: sends the request to a replica; None = another one may be tried.

        Raises:
            Refusal: no replica could answer.
        """
        try:
            while True:
                async with self.seat() as replica:
                    answer = await tried(replica)
                if answer is not None:
                    return answer
        except asyncio.CancelledError:
            self.end(RequestOutcome.LEFT)
            raise

    async def _seated(self) -> ReplicaState:
        granted: asyncio.Future[ReplicaState | None] = asyncio.get_running_loop().create_future()
        ticket = Ticket(self._wish, self._came, granted.set_result)
        self.tries += 1
        if self.tries > 1:
            self._balancer.counters.retried += 1
        try:
            self._balancer.ask(ticket, self._prober.now_ms(), again=self.tries > 1)
        except Full:
            raise self._full() from None
        except NoReplica:
            raise self._unserved() from None
        replica = granted.result() if granted.done() else await self._waited(ticket, granted)
        if replica is None:
            raise self._unserved()
        return replica

    async def _waited(
        self, ticket: Ticket, granted: "asyncio.Future[ReplicaState | None]"
    ) -> ReplicaState | None:
        left_s = max(0, self._deadline - self._prober.now_ms()) / 1000
        try:
            await asyncio.wait([granted], timeout=left_s)
        except asyncio.CancelledError:
            self._let_go(ticket, granted)
            raise
        if not granted.done():
            self._balancer.withdraw(ticket, self._prober.now_ms())
            return None
        return granted.result()

    def _let_go(self, ticket: Ticket, granted: "asyncio.Future[ReplicaState | None]") -> None:
        """The caller left while it waited, or just as it was granted a replica."""
        if not granted.done():
            self._balancer.withdraw(ticket, self._prober.now_ms())
            return
        replica = granted.result()
        if replica:
            self._balancer.give_back(replica, self._prober.now_ms())

    def _full(self) -> RouterResponse:
        self.end(RequestOutcome.REFUSED)
        name, limit = self._balancer.service.name, self._balancer.service.limits.queue
        return RouterResponse(
            HTTPStatus.TOO_MANY_REQUESTS,
            "router.full",
            f"{limit} requests wait for {name} already",
            "retry later, as Retry-After says",
            self._balancer.retry_after_s(self._prober.now_ms()),
        )

    def _unserved(self) -> RouterResponse:
        self.end(RequestOutcome.UNSERVED)
        name = self._balancer.service.name
        busy = self._balancer.served
        return RouterResponse(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "router.busy" if busy else "router.unserved",
            f"every replica of {name} was busy" if busy else f"{name} has no replica that is ready",
            f"see `ganglion describe {name}`",
            self._balancer.retry_after_s(self._prober.now_ms()),
        )

    def failed(self, replica: ReplicaState) -> None:
        """The replica died, fell silent or could not be reached."""
        self._wish = structs.replace(self._wish, tried=(*self._wish.tried, replica.name))
        self._balancer.fail(replica, self._prober.now_ms())
        self._prober.watch(self._balancer, replica)

    def began(self) -> None:
        """The first byte of the answer's body is there."""
        if not self._begun:
            self._begun = True
            now = self._prober.now_ms()
            self._balancer.began(now, now - self._came)

    def answered(self, replica: ReplicaState) -> None:
        """The replica answered to the end."""
        replica.done += 1
        replica.strikes = 0
        self.end(RequestOutcome.DONE)

    def end(self, outcome: RequestOutcome) -> None:
        """It is over."""
        counters, now = self._balancer.counters, self._prober.now_ms()
        counters.ended[outcome] += 1
        if outcome == RequestOutcome.DONE:
            counters.whole.add(now, now - self._came)
