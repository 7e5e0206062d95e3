"""Why something waits, what would change it, and where it goes.

The classes of the model leave out what is as usual, to keep the ledger small; these say all.
"""

from msgspec import Struct

from ganglion.api.money.costs import WorkloadCost
from ganglion.model import placement, plan, reasons
from ganglion.model.reasons import Band, Chance, Raise, StartUnknown, Yielding

__all__ = [
    "AskedScheduler",
    "Band",
    "DisplacedView",
    "Displacement",
    "Explained",
    "HeldItem",
    "Placement",
    "PodPlacement",
    "Raise",
    "Reason",
    "StartPage",
    "StartUnknown",
    "StartView",
    "Suggestion",
    "Verdict",
    "WaitedFor",
    "Why",
    "Yielding",
]


class PodPlacement(placement.PodPlacement, frozen=True, omit_defaults=False):
    """One pod's place."""


class HeldItem(placement.HeldItem, frozen=True, omit_defaults=False):
    """What a node had of what pods load, when they were placed on it."""


class Placement(placement.Placement, frozen=True, omit_defaults=False):
    """A gang's place."""

    pods: tuple[PodPlacement, ...]
    held: tuple[HeldItem, ...] = ()


class Reason(reasons.Reason, frozen=True, omit_defaults=False):
    """Why something waits."""


class Suggestion(reasons.Suggestion, frozen=True, omit_defaults=False):
    """A change that was verified to start it."""


class ModelKept(Struct):
    """Whether a model lies on the machine of the server.

    Attributes:
        state: `cached`, `fetching`, `queued`, `failed`, `absent`; `local` = of `file://`, where
            nothing is fetched; `off` = the folder for models cannot be used, or not by its
            programs.
        bytes: that are there.
        of: that it has; 0 = not known yet.
        trouble: why it is not there; empty = nothing is wrong.
    """

    state: str
    bytes: int = 0
    of: int = 0
    trouble: str = ""


class ModelUse(Struct):
    """The model that a workload got when it was submitted, or updated.

    Attributes:
        reference: as its file names it.
        uri: with the version in place of what may move.
        version: number, commit, tag or version of an object; empty = it has none.
        digest: of its content, or of what the registry knows it by.
    """

    reference: str
    uri: str
    version: str = ""
    digest: str = ""


class DisplacedView(Struct, frozen=True):
    """A gang that would have to yield to another.

    Attributes:
        gang: its id.
        workload: id of its workload.
        name: of the workload.
        queue: its queue.
        user: whose it is.
        fate: what would become of it: `requeued` = it is stopped and waits again, `ended` = it is
            stopped for good, as its retries do not allow another start, `moved` = it is stopped and
            goes on elsewhere at once, `shrunk` = it goes on with fewer pods, `waits` = it loses the
            place that it was promised, while nothing of it runs.
        gpu_milli: thousandths of GPUs that it would give up.
        lost_gpu_ms: work since its last checkpoint, in GPU-ms; None = unknown, as it neither
            reports checkpoints nor has a contract about them.
        most_gpu_ms: the same; where that is unknown all since it started, which is the most.
        most_micro: what `most_gpu_ms` was charged, in millionths of a unit of the currency;
            None = a part of it has no price.
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
    most_micro: int | None = None


class Displacement(Struct, frozen=True):
    """Whom a gang would displace, and what is lost by it; the sums are over all of them.

    Attributes:
        items: those that the caller may see.
        others: how many more there are.
        gpu_milli: thousandths of GPUs that they would give up.
        lost_gpu_ms: work that would be lost, as far as it is known, in GPU-ms.
        unknown: of how many it is unknown.
        most_gpu_ms: work that would be lost at most.
        most_micro: what that was charged, in millionths of a unit of the currency; None = a part of
            it has no price.
        currency: code of the currency; empty = there are no prices.
    """

    items: tuple[DisplacedView, ...] = ()
    others: int = 0
    gpu_milli: int = 0
    lost_gpu_ms: int = 0
    unknown: int = 0
    most_gpu_ms: int = 0
    most_micro: int | None = None
    currency: str = ""


class Verdict(plan.Verdict, frozen=True, omit_defaults=False):
    """What would happen to the first gang of a workload submitted now.

    Attributes:
        gangs: how many gangs the workload has: trials of a sweep, replicas of a service.
        snapshot: number of the newest event when it was asked; of a scheduler of clusters the time
            of its last turn in ms. 0 = not known.
        plan: hash of the workload and of what would happen to it; a submission that names it
            is taken only where the same would happen still. Empty = it cannot be named.
        cost: what the workload costs at most; None = no price is set.
        model: that it would get; None = it names none.
        displaced: gangs that would yield to it, in `stops` too, or when it takes over.
        takeover_ms: when it would start in the place of others, once they have saved their work, if
            nothing else happens until then; 0 = it does not wait for that.
        start: when it is expected to start, for one that would wait, as `why` says it once it is
            submitted; None = unknown.
        start_unknown: why that is unknown: `never` = it could never start as things are, `blocked`
            = what it waits for is not room, `guesses` = it hangs on gangs that have neither a time
            limit nor finished runs like them, `no_end` = no expected end of a running gang makes
            room for it, `large` = too many gangs are known to find out. None = it is known, or
            it would start at once.
        guesses: ids of such gangs, the first few.
    """

    snapshot: int = 0
    gangs: int = 1
    plan: str = ""
    placement: Placement | None = None
    reason: Reason | None = None
    suggestions: tuple[Suggestion, ...] = ()
    cost: WorkloadCost | None = None
    model: ModelUse | None = None
    displaced: Displacement | None = None
    takeover_ms: int = 0
    start: Band | None = None
    start_unknown: StartUnknown | None = None
    guesses: tuple[str, ...] = ()


class WaitedFor(Struct, frozen=True):
    """One kind of reason for which a gang waited before one of its attempts, or waits.

    Attributes:
        attempt: the number of that attempt; of many the first ones are added up.
        reason: token of the reason; `unknown` = it was not found out, or not kept.
        total_ms: for how long in all; of a gang they add up to the time that it waited.
        times: in how many periods.
        until: end of the last of them, in ms.
    """

    attempt: int
    reason: str
    total_ms: int
    times: int
    until: int


class Explained(reasons.Explanation, frozen=True, kw_only=True, omit_defaults=False):
    """Why one gang waits.

    Attributes:
        chance: whether it meets its deadline; None = it has none.
        preemptions, lost_gpu_ms: attempts stopped for others, and GPU time that was lost by it.
        text: the sentence that sums it up.
        waited: for what it has waited, the first first.
        held: what its nodes had already of what it loads, where it has a place.
    """

    reason: Reason | None = None
    suggestions: tuple[Suggestion, ...] = ()
    chance: Chance | None = None
    preemptions: int = 0
    lost_gpu_ms: int = 0
    text: str = ""
    waited: tuple[WaitedFor, ...] = ()
    held: tuple[HeldItem, ...] = ()


class AskedScheduler(Struct):
    """Where it comes from what is said of work in a cluster.

    Attributes:
        cluster: its name.
        at: time in ms of the state that it follows from, by the clock of the scheduler.
        answered: whether the scheduler was asked and answered; else it is what it delivered last.
        trouble: why nothing newer came; empty = it answered.
        hint: what to do about that; empty = nothing is known.
        pods: names of the pods of the gang, which a change in the cluster is made to; empty = there
            are more than a few, or they are not known.
    """

    cluster: str
    at: int
    answered: bool
    trouble: str = ""
    hint: str = ""
    pods: tuple[str, ...] = ()


class Why(Struct):
    """Why a workload waits.

    Attributes:
        gangs: how many gangs it has.
        explanations: of each of them, or of the one that was asked about.
        asked: of work that lives in a cluster, where that comes from; None = it is work of the
            server itself, or has ended.
    """

    workload: str
    explanations: tuple[Explained, ...] = ()
    gangs: int = 1
    asked: AskedScheduler | None = None


class StartView(Struct, frozen=True):
    """When one gang that waits is expected to start.

    Attributes:
        gang: its id.
        at: time in ms of the state that this was computed from; of work in a cluster that of the
            last record of its scheduler.
        start: None = unknown.
        guesses: as of `Explained`: gangs that make it unknown.
    """

    gang: str
    at: int
    start: Band | None = None
    guesses: tuple[str, ...] = ()


class StartPage(Struct):
    """When some gangs are expected to start.

    Attributes:
        items: of those that wait and that the caller may see, in the order asked for.
    """

    items: tuple[StartView, ...] = ()
