"""Why something waits, what would change it, and where it goes.

The classes of the model leave out what is as usual, to keep the ledger small; these say all.
"""

from msgspec import Struct

from ganglion.api.money.costs import WorkloadCost
from ganglion.model import placement, plan, reasons
from ganglion.model.reasons import Band, Chance, Raise

__all__ = [
    "AskedScheduler",
    "Band",
    "Explained",
    "HeldItem",
    "Placement",
    "PodPlacement",
    "Raise",
    "Reason",
    "StartPage",
    "StartView",
    "Suggestion",
    "Verdict",
    "WaitedFor",
    "Why",
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


class Verdict(plan.Verdict, frozen=True, omit_defaults=False):
    """What would happen to a workload submitted now.

    Attributes:
        snapshot: number of the newest event when it was asked; of a scheduler of clusters the time
            of its last turn in ms. 0 = not known.
        plan: hash of the workload and of what would happen to it; a submission that names it
            is taken only where the same would happen still. Empty = it cannot be named.
        cost: what it costs at most; None = no price is set.
        model: that it would get; None = it names none.
    """

    snapshot: int = 0
    plan: str = ""
    placement: Placement | None = None
    reason: Reason | None = None
    suggestions: tuple[Suggestion, ...] = ()
    cost: WorkloadCost | None = None
    model: ModelUse | None = None


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
