"""Stats of the router about its services, for people and for autoscalers.

Gauges are as of `at_ms`. Counters only grow while `boot` stays the same; a reader that wants a
rate or a mean over time takes the difference of two readings.
"""

from msgspec import Struct


class Quantiles(Struct, frozen=True, omit_defaults=True):
    """Times of the requests that got there within the last minute, in ms; 0 without any.

    Attributes:
        count: how many.
        p50_ms, p90_ms, p99_ms: at most 5 % too high.
    """

    count: int = 0
    p50_ms: int = 0
    p90_ms: int = 0
    p99_ms: int = 0


class ReplicaStats(Struct, frozen=True, omit_defaults=True):
    """One replica.

    Attributes:
        replica: its name in the table.
        ready: whether it gets requests.
        running: its open requests and WebSockets; one that drains is done at 0.
        done: counter of requests it has answered, with any status.
        failed: counter of requests during which it died, became silent or could not be reached.
        apart_ms: remaining time without requests after a failure; 0 = none.
    """

    replica: str
    ready: bool = False
    running: int = 0
    done: int = 0
    failed: int = 0
    apart_ms: int = 0


class ServiceStats(Struct, frozen=True, omit_defaults=True):
    """One service.

    Attributes:
        name: its name in the table.
        waiting: requests that no replica has yet.
        waiting_since_ms: when the oldest of them came; 0 = none waits.
        running: requests that a replica has.
        waiting_ms, running_ms: counters of time spent so, summed over requests: their growth
            over the time between two readings is the mean number of requests.
        arrived: counter of requests.
        done: counter of those answered by a replica.
        refused: counter of 429.
        unserved: counter of 503 and 504.
        broken: counter of answers that broke off, and of 502.
        left: counter of callers that went away before the end.
        retried: counter of second and further tries.
        late: counter of answers whose body began later than the service's `late_ms`.
        first: times from a request's arrival to the first byte of its answer's body.
        whole: times from a request's arrival to the end of its answer.
        replicas: those in the table, and those no longer in it that still have requests.
    """

    name: str
    waiting: int = 0
    waiting_since_ms: int = 0
    running: int = 0
    waiting_ms: int = 0
    running_ms: int = 0
    arrived: int = 0
    done: int = 0
    refused: int = 0
    unserved: int = 0
    broken: int = 0
    left: int = 0
    retried: int = 0
    late: int = 0
    first: Quantiles = Quantiles()
    whole: Quantiles = Quantiles()
    replicas: tuple[ReplicaStats, ...] = ()


class Stats(Struct, frozen=True, omit_defaults=True):
    """All stats of the router.

    Attributes:
        boot: differs for every process of the router.
        version: of the table in force; 0 = none yet.
            news: grows at each change that a server may wait for: a first request waits
                where no replica can serve it, one became ready or failed, one that drains is done.
        at_ms: when this was, in ms since 1970.
        services: in the table's order.
    """

    boot: str = ""
    version: int = 0
    news: int = 0
    at_ms: int = 0
    services: tuple[ServiceStats, ...] = ()
