"""How services scale, workspaces sleep, sweeps search and cron schedules repeat, as data."""

from enum import StrEnum

from msgspec import Struct


class Signal(StrEnum):
    """What a service can be scaled by."""

    REQUESTS = "requests"
    """Waiting and running ones."""
    WAITING = "waiting"
    RUNNING = "running"
    KV_CACHE = "kv_cache"
    """Share of the cache of keys and values that is used."""
    TOKENS = "tokens"
    """Generated per second."""
    TTFT = "ttft"
    """Time to the first token: its p90, in seconds."""
    ITL = "itl"
    """Time between two tokens: its p90, in seconds."""
    LATENCY = "latency"
    """Time of whole requests: its p90, in seconds."""
    QUERY = "query"
    """The result of a query to Prometheus."""


class Target(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one replica should have of a signal.

    Attributes:
        signal: the signal.
        milli: thousandths of the signal's unit: requests, share, tokens per second, seconds,
            or what the query counts.
    """

    signal: Signal = Signal.REQUESTS
    milli: int = 1_000


class Pace(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How fast replicas may come or go: the larger of the two, within any `per_ms`.

    Attributes:
        count: replicas.
        percent: of the replicas there were at the beginning.
        per_ms: within this time; 0 = as fast as can be.
    """

    count: int = 0
    percent: int = 0
    per_ms: int = 0


class Hint(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Load that is known beforehand: the floor is higher from each date on, for a while.

    Attributes:
        cron: five fields.
        for_ms: how long each time.
        floor: the floor meanwhile.
        zone: time zone of the cron expression.
    """

    cron: str
    for_ms: int
    floor: int
    zone: str = "UTC"


class Standby(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Replicas that sleep on capacity which is lent meanwhile.

    Attributes:
        replicas: how many.
        notice_ms: how long a borrower has to save and leave once a replica is woken.
    """

    replicas: int = 1
    notice_ms: int = 60_000


class Scaling(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How many replicas a service has.

    Attributes:
        floor: fewest replicas; 0 = it may sleep altogether.
        ceiling: most replicas.
        targets: the signal that wants most replicas decides.
        source: `router`, `metrics` (the replicas' own /metrics), or the URL of a Prometheus.
        query: of the signal `query`, and where the others are to be asked of a Prometheus.
        path: where replicas serve their metrics.
        window_ms: load is averaged over this time...
        panic_window_ms: ...and over this, where the latter asks for
        panic_milli: this many thousandths of the ready replicas; nothing goes down then.
        up: most that come at a time.
        down: most that go at a time.
        hold_down_ms: only what was too many for so long goes; with `start_within_ms` what is too
            many fades, and a fifth of it is left after so long.
        idle_ms: with floor 0, the last replica goes after this time without a request.
        cold_start_ms: from decision to the first answer; 0 = it is learnt.
        start_within_ms: requests should be begun within this time; 0 = not given.
        start_milli: thousandths of them that should.
        hints: load that is known beforehand.
        drain_ms: how long a replica may finish its requests before it is stopped.
        standby: replicas that sleep; None = none.
        affinity: header of requests that names the model they want, for replicas that have it
            loaded already; empty = none.
    """

    floor: int = 1
    ceiling: int = 1
    targets: tuple[Target, ...] = (Target(),)
    source: str = "router"
    query: str = ""
    path: str = "/metrics"
    window_ms: int = 60_000
    panic_window_ms: int = 6_000
    panic_milli: int = 2_000
    up: Pace = Pace(4, 100, 15_000)
    down: Pace = Pace(0, 50, 60_000)
    hold_down_ms: int = 300_000
    idle_ms: int = 600_000
    cold_start_ms: int = 0
    start_within_ms: int = 0
    start_milli: int = 995
    hints: tuple[Hint, ...] = ()
    drain_ms: int = 30_000
    standby: Standby | None = None
    affinity: str = ""


class Hours(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Working hours of a week.

    Attributes:
        days: 0 = Monday .. 6 = Sunday.
        start_min: minutes after midnight.
        end_min: minutes after midnight, later than `start_min`.
        zone: time zone.
    """

    days: tuple[int, ...] = (0, 1, 2, 3, 4)
    start_min: int = 8 * 60
    end_min: int = 20 * 60
    zone: str = "UTC"


class Idle(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a workspace is found idle.

    Attributes:
        warn_ms: how long before it is suspended its user is warned.
        gpu_milli: a GPU busy for fewer thousandths of the time does nothing.
        bytes_per_s: the same for what moves over PCIe, in both directions.
        hours: outside of them it is suspended once idle for `warn_ms`; None = they do not matter.
        hook: shell line that saves what is to be saved, run in the workspace before it goes.
    """

    warn_ms: int = 300_000
    gpu_milli: int = 10
    bytes_per_s: int = 100_000
    hours: Hours | None = None
    hook: str = ""


class Access(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who reaches a service or workspace beside its owner.

    Attributes:
        anyone: whether users need not identify themselves.
        users: names of users of the machine.
        groups: names of groups of the machine, all of whose members may.
        keys: whether the key of the workload lets its holders in.
    """

    anyone: bool = False
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    keys: bool = True


class Search(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Trials drawn from all combinations, without replacement.

    Attributes:
        trials: how many.
        seed: the same seed draws the same trials.
    """

    trials: int
    seed: int = 0


class EarlyStop(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Asynchronous successive halving.

    Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020.

    Attributes:
        metric: the name under which trials report it.
        maximise: whether more is better.
        first: step of the first rung.
        factor: rungs are this factor apart, and one in `factor` goes on at each.
    """

    metric: str
    maximise: bool = False
    first: int = 1
    factor: int = 3


class Overlap(StrEnum):
    """What happens when the one before has not ended as the next one is due."""

    FORBID = "forbid"
    ALLOW = "allow"
    REPLACE = "replace"


class Schedule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A workload that is submitted again and again.

    Attributes:
        cron: five fields.
        zone: time zone of the expression.
        overlap: what happens to one that is still there.
        keep_ms: a date that was missed for longer is left out; 0 = it is made up for at once.
    """

    cron: str
    zone: str = "UTC"
    overlap: Overlap = Overlap.FORBID
    keep_ms: int = 0


WAITING = "waiting"
"""What notices of long waits are called."""
LONG_WAIT_MS = 3_600_000
"""How long a workload waits before its user is notified of that, where nothing else is said."""


class Notify(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Whom to notify of what happens to a workload.

    Attributes:
        on: what users are notified of: `end`, `failure`, `start`, `preemption`, `budget`,
            `waiting`.
        mail: addresses.
        command: shell line that the server runs as its own user, if its owner allows that.
        webhook: URLs that are sent JSON; `secret:NAME` names one that is kept as a secret.
        signing_key: `secret:NAME` of the key that signs what they are sent; empty = unsigned.
        waiting_ms: how long it waits before that is notified, with `waiting` in `on`.
    """

    on: tuple[str, ...] = ("end",)
    mail: tuple[str, ...] = ()
    command: str = ""
    webhook: tuple[str, ...] = ()
    signing_key: str = ""
    waiting_ms: int = LONG_WAIT_MS
