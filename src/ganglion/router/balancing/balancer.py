"""One service's replicas and the queue of its requests. No sockets, no clock: time is given."""

from collections import deque
from collections.abc import Callable
from random import Random

from ganglion.router.balancing.counters import Counters, RequestOutcome
from ganglion.router.balancing.least_loaded import RequestPreferences, choose
from ganglion.router.balancing.stats import ReplicaStats, ServiceStats
from ganglion.router.balancing.table import ReplicaEndpoint, RoutedService, RoutingState


class ReplicaState:
    """State of a replica in the router.

    Args:
        endpoint: what the table says of it.
    """

    def __init__(self, endpoint: ReplicaEndpoint) -> None:
        self.endpoint = endpoint
        self.up = endpoint.state == RoutingState.READY
        self.gone = False
        self.running = self.done = self.failed = self.strikes = 0
        self.apart_since: int | None = None

    @property
    def name(self) -> str:
        """Its name in the table."""
        return self.endpoint.replica

    @property
    def models(self) -> tuple[str, ...]:
        """Models that it answers fastest."""
        return self.endpoint.models

    @property
    def open(self) -> bool:
        """Whether it may be sent requests."""
        return self.up and not self.gone and self.endpoint.state != RoutingState.DRAINING


class Ticket:
    """A request that waits.

    Args:
        wish: what it would like.
        at: when it came, in ms.
        grant: called with the replica it gets; from then on that has one request more. None = there
            is none, and none will come.
    """

    def __init__(
        self, wish: RequestPreferences, at: int, grant: Callable[[ReplicaState | None], None]
    ) -> None:
        self.wish, self.at, self.grant = wish, at, grant


class Full(Exception):
    """The queue is full."""


class NoReplica(Exception):
    """No replica can serve the request now, and none is expected."""


class Balancer:
    """A service.

    Args:
        service: what the table says of it.
        now: the time, in ms.
        dice: chance.
        news: called at each change that a reader of stats may wait for.
    """

    def __init__(
        self, service: RoutedService, now: int, dice: Random, news: Callable[[], None]
    ) -> None:
        self.service = service
        self.counters = Counters()
        self.replicas: dict[str, ReplicaState] = {}
        self._leaving: list[ReplicaState] = []
        self._line: deque[Ticket] = deque()
        self._dice, self._news = dice, news
        self.follow(service, now)

    def follow(self, service: RoutedService, now: int) -> None:
        """Take over a new table; replicas that are gone from it finish what they have."""
        self.service = service
        before, self.replicas = self.replicas, {}
        for endpoint in service.endpoints:
            known = before.pop(endpoint.replica, None)
            if known and known.endpoint.address != endpoint.address:
                self._retire(known)
                known = None
            if known is None:
                known = ReplicaState(endpoint)
            known.up = known.up or (
                endpoint.state == RoutingState.READY and known.apart_since is None
            )
            known.endpoint = endpoint
            self.replicas[endpoint.replica] = known
        for replica in before.values():
            self._retire(replica)
        self._serve(now)

    def _retire(self, replica: ReplicaState) -> None:
        replica.gone = True
        if replica.running:
            self._leaving.append(replica)

    @property
    def idle(self) -> bool:
        """Whether nothing of it is left to do."""
        return not (self._line or self._leaving or self.counters.running.value)

    @property
    def _hopeless(self) -> bool:
        return not self.service.wakes and not self.service.endpoints

    @property
    def _asleep(self) -> bool:
        going = RoutingState.DRAINING
        return self.service.sleeps and all(e.state == going for e in self.service.endpoints)

    @property
    def served(self) -> bool:
        """Whether any replica may be sent requests."""
        return any(replica.open for replica in self.replicas.values())

    def ask(self, ticket: Ticket, now: int, *, again: bool = False) -> bool:
        """Grant the ticket immediately or put it into the queue; return whether it was granted.

        Args:
            ticket: the request.
            now: the time, in ms.
            again: it lost a replica that it had: it goes to the head of the queue.

        Raises:
            Full: too many wait.
            NoReplica: there are no replicas, and requests do not wait for the first one.
        """
        # No request waits beside a free replica, so none is overtaken here.
        able = self._able()
        if able:
            self._grant(ticket, choose(able, ticket.wish, self._dice), now)
            return True
        if self._hopeless or (self._asleep and not ticket.wish.opens):
            raise NoReplica
        if len(self._line) >= self.service.limits.queue and not again:
            raise Full
        if not self._line and not self.served:
            self._news()
        (self._line.appendleft if again else self._line.append)(ticket)
        self.counters.waiting.add(now, 1)
        return False

    def withdraw(self, ticket: Ticket, now: int) -> None:
        """Remove a ticket that was not granted from the queue."""
        self._line.remove(ticket)
        self.counters.waiting.add(now, -1)

    def give_back(self, replica: ReplicaState, now: int) -> None:
        """A granted request is over, with any result."""
        replica.running -= 1
        self.counters.running.add(now, -1)
        if not replica.running:
            self._emptied(replica)
        self._serve(now)

    def _emptied(self, replica: ReplicaState) -> None:
        if replica.gone:
            self._leaving.remove(replica)
        if replica.gone or replica.endpoint.state == RoutingState.DRAINING:
            self._news()

    def fail(self, replica: ReplicaState, now: int) -> None:
        """Send it no requests until it answers: it died, became silent or could not be reached."""
        replica.failed += 1
        replica.strikes += 1
        replica.apart_since = now
        if replica.up:
            replica.up = False
            self._news()

    def revive(self, replica: ReplicaState, now: int) -> None:
        """It answers."""
        replica.apart_since = None
        if not replica.up:
            replica.up = True
            self._news()
        self._serve(now)

    def _able(self) -> list[ReplicaState]:
        most = self.service.limits.per_replica
        return [r for r in self.replicas.values() if r.open and (not most or r.running < most)]

    def _serve(self, now: int) -> None:
        if self._asleep:
            self._send_away(now)
        while self._line:
            able = self._able()
            if not able and not self._hopeless:
                return
            ticket = self._line.popleft()
            self.counters.waiting.add(now, -1)
            if not able:
                ticket.grant(None)
                continue
            self._grant(ticket, choose(able, ticket.wish, self._dice), now)

    def _send_away(self, now: int) -> None:
        """Refuse all requests that open no page: they arrived before the service fell asleep."""
        for ticket in [each for each in self._line if not each.wish.opens]:
            self.withdraw(ticket, now)
            ticket.grant(None)

    def _grant(self, ticket: Ticket, replica: ReplicaState, now: int) -> None:
        replica.running += 1
        self.counters.running.add(now, 1)
        ticket.grant(replica)

    def began(self, now: int, took_ms: int) -> None:
        """Record how long after its request the first byte of an answer's body came."""
        self.counters.first.add(now, took_ms)
        self.counters.late += bool(self.service.late_ms) and took_ms > self.service.late_ms

    def retry_after_s(self, now: int) -> int:
        """Seconds after which to retry, from the present rate of requests that end; 1 .. 60."""
        ended = self.counters.whole.lately.quantiles(now)
        waiting, slots = len(self._line), max(1, self.counters.running.value)
        if not self.served or not ended.count:
            return 5
        return min(60, max(1, -(-waiting * ended.p50_ms // slots // 1000)))

    def stats(self, now: int, epoch: int) -> ServiceStats:
        """Return its stats; `epoch` + `now` is the time since 1970, in ms."""
        counters = self.counters
        ended = counters.ended
        return ServiceStats(
            name=self.service.name,
            waiting=counters.waiting.value,
            waiting_since_ms=epoch + min(t.at for t in self._line) if self._line else 0,
            running=counters.running.value,
            waiting_ms=counters.waiting.total_ms(now),
            running_ms=counters.running.total_ms(now),
            arrived=counters.arrived,
            done=ended[RequestOutcome.DONE],
            refused=ended[RequestOutcome.REFUSED],
            unserved=ended[RequestOutcome.UNSERVED],
            broken=ended[RequestOutcome.BROKEN],
            left=ended[RequestOutcome.LEFT],
            retried=counters.retried,
            late=counters.late,
            first=counters.first.lately.quantiles(now),
            whole=counters.whole.lately.quantiles(now),
            replicas=tuple(_told(each, now) for each in (*self.replicas.values(), *self._leaving)),
        )


def _told(replica: ReplicaState, now: int) -> ReplicaStats:
    since = replica.apart_since
    return ReplicaStats(
        replica=replica.name,
        ready=replica.open,
        running=replica.running,
        done=replica.done,
        failed=replica.failed,
        apart_ms=0 if since is None else max(1, now - since),
    )
