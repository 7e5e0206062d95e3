"""Why a gang waits: a closed, ordered vocabulary, and the evidence."""

from enum import StrEnum

from msgspec import Struct, field


class Token(StrEnum):
    """The one dominant reason of a wait, the most structural first."""

    HELD = "held"
    DEPENDENCY = "dependency"
    BUDGET = "budget"
    QUOTA = "quota"
    CONSTRAINT = "constraint"
    TOPOLOGY = "topology"
    CAPACITY = "capacity"
    POLICY = "policy"
    DRAINING = "draining"
    ORDER = "order"


class Remedy(StrEnum):
    """Who can end the wait."""

    WAIT = "wait"
    CHANGE = "change the request"
    ADMIN = "ask an administrator"


class Reason(Struct, frozen=True, omit_defaults=True):
    """Why a gang does not run now.

    Attributes:
        token: the dominant reason.
        message: one plain sentence with the numbers that were read.
        never: True when no future of the present fleet and queues could start it.
        evidence: the numbers by name, as `free_milli`, `pods_fitting`; `_milli` marks thousandths.
        remedy: who can end the wait.
    """

    token: Token
    message: str
    never: bool = False
    evidence: dict[str, int] = field(default_factory=dict)
    remedy: Remedy = Remedy.WAIT


class Yielding(StrEnum):
    """What becomes of a gang that has to yield to another."""

    REQUEUED = "requeued"
    """It is stopped, and waits again."""
    ENDED = "ended"
    """It is stopped for good: its retries do not allow that it starts again."""
    MOVED = "moved"
    """It is stopped, and goes on elsewhere at once."""
    SHRUNK = "shrunk"
    """It goes on with fewer pods."""
    WAITS = "waits"
    """It loses the place that it was promised; nothing of it runs."""


class Displaced(Struct, frozen=True, omit_defaults=True):
    """A gang that would have to yield to another.

    Attributes:
        gang: its id.
        workload: id of its workload.
        name: of the workload.
        queue: its queue.
        user: whose it is.
        fate: what would become of it.
        gpu_milli: thousandths of GPUs that it would give up.
        lost_gpu_ms: work since its last checkpoint, in GPU-ms; None = unknown, as it neither
            reports checkpoints nor has a contract about them.
        most_gpu_ms: the same; where that is unknown all since it started, which is the most.
        cost: what `most_gpu_ms` was charged, in thousandths of GPUs times ms times millionths for
            a GPU-hour; None = a part of it has no price.
    """

    gang: str
    workload: str
    name: str
    queue: str
    user: str
    fate: Yielding
    gpu_milli: int = 0
    lost_gpu_ms: int | None = 0
    most_gpu_ms: int = 0
    cost: int | None = None


class StartUnknown(StrEnum):
    """Why it is unknown when a gang would start."""

    NEVER = "never"
    """It could never start as things are."""
    BLOCKED = "blocked"
    """What it waits for is not room."""
    GUESSES = "guesses"
    """It hangs on gangs that have neither a time limit nor finished runs like them."""
    NO_END = "no_end"
    """No expected end of a running gang makes room for it."""
    LARGE = "large"
    """More gangs are known than are copied to find out."""


class Suggestion(Struct, frozen=True, omit_defaults=True):
    """A change that was verified to start the gang.

    Attributes:
        change: what to change, as a person would do it.
        level: level of the one domain that would then hold the gang; empty = the fleet.
        stops: ids of gangs that would be stopped or moved for it.
        awaits: ids of running gangs whose end would start it; empty for all other changes.
        priority: the one that it should have; None = as it is.
        queue: that it should be in; empty = as it is.
        time_limit_ms: its run time at most; 0 = as it is.
        pods: how many it should ask for; 0 = as it is.
        gpus: how many each of its pods should ask for; 0 = as it is.
    """

    change: str
    level: str = ""
    stops: tuple[str, ...] = ()
    awaits: tuple[str, ...] = ()
    priority: int | None = None
    queue: str = ""
    time_limit_ms: int = 0
    pods: int = 0
    gpus: int = 0


class Band(Struct, frozen=True):
    """When a gang is expected to start, in ms.

    Attributes:
        p50: as likely before as after.
        p90: nine times in ten it has started by then.
    """

    p50: int
    p90: int


class Chance(StrEnum):
    """Whether a deadline will be met, by start band and run time."""

    LIKELY = "likely"
    """Nine of ten such gangs end in time."""
    EVEN = "even"
    """Half of them do, and fewer than nine of ten."""
    UNLIKELY = "unlikely"
    """Fewer than half do."""
    UNKNOWN = "unknown"


def chance_of(deadline_ms: int, end: Band | None) -> Chance:
    """The chance to meet a deadline, from when the gang is expected to end; None = unknown."""
    if end is None:
        return Chance.UNKNOWN
    if end.p90 <= deadline_ms:
        return Chance.LIKELY
    return Chance.EVEN if end.p50 <= deadline_ms else Chance.UNLIKELY


class Raise(Struct, frozen=True):
    """One step by which waiting raises a priority: when, in ms, and to which."""

    at: int
    to: int
    before: int = 0


class Explanation(Struct, frozen=True, omit_defaults=True):
    """Everything known about one gang's wait.

    Attributes:
        gang: its id.
        phase: its phase now.
        reason: dominant reason; None when it does not wait.
        histogram: obstacle -> number of nodes on which it is the first one met.
        ahead: ids of gangs that go before it, the first few.
        ahead_count: how many go before it in all.
        position: its place in the order of everything that waits, from 1; 0 = not waiting.
        holders: ids of gangs that hold what it needs; others may be ahead of it for that.
        holder_count: how many those are in all.
        start: when it is expected to start; None = unknown.
        guesses: ids of gangs, the first few, that the start hangs on and that have neither a
            time limit nor finished runs like them.
        reserved_ms: when its reservation begins; 0 = it holds none.
        suggestions: up to three verified changes.
        closed: node -> why it takes nothing new, of those that it could use, the first few.
        deadline_ms: when it should have ended; 0 = no matter when.
        end: when it is expected to end, for gangs with a deadline; None = unknown.
        raised: steps by which waiting raised its priority so far.
        next_raise: the next such step; None = there is none.
    """

    gang: str
    phase: str
    reason: Reason | None = None
    histogram: dict[str, int] = field(default_factory=dict)
    ahead: tuple[str, ...] = ()
    ahead_count: int = 0
    position: int = 0
    suggestions: tuple[Suggestion, ...] = ()
    holders: tuple[str, ...] = ()
    holder_count: int = 0
    start: Band | None = None
    reserved_ms: int = 0
    guesses: tuple[str, ...] = ()
    closed: dict[str, str] = field(default_factory=dict)
    deadline_ms: int = 0
    end: Band | None = None
    raised: tuple[Raise, ...] = ()
    next_raise: Raise | None = None
