"""What would have happened in a period of the past, had something been otherwise."""

from msgspec import Struct, field

from ganglion.api.page import Page


class WhatIfFigure(Struct):
    """One figure of a group, three times.

    Attributes:
        past: what really came of it.
        replay: of a replay in which nothing is changed.
        changed: of the same replay with the change.
        bar: the error bar, the distance of `replay` from `past`.
        visible: whether the difference of `changed` from `replay` is larger than the bar.
    """

    past: int
    replay: int
    changed: int
    bar: int
    visible: bool


class WhatIfGroup(Struct):
    """Figures of one group of jobs.

    Attributes:
        by: `all`, `queue`, `size` (GPUs of a job), `class` (kind of workload), or `others`: all
            jobs of queues that the user who asks may not see.
        name: of the group; empty = all jobs, or all of others.
        jobs: jobs whose wait is one of the period.
        waiting: of these, those that still wait at its end, with the change.
        figures: by name: `wait_p50_ms`, `wait_p95_ms`, `lost_gpu_ms`, `held_gpu_ms`,
            `fairness_permille` (of all jobs: Jain's index of the queues' slowdowns) and
            `spend_micro` (where there are prices).
    """

    by: str
    name: str
    jobs: int
    waiting: int
    figures: dict[str, WhatIfFigure] = field(default_factory=dict)


class WhatIfMover(Struct):
    """A workload that would have waited longer or shorter.

    Attributes:
        workload, name, queue, user: whose wait it is.
        replay_ms, changed_ms: how long it waits in either replay.
        bar_ms: below this, a difference says nothing.
    """

    workload: str
    name: str
    queue: str
    user: str
    replay_ms: int
    changed_ms: int
    bar_ms: int


class WhatIfStart(Struct):
    """When a job that was not submitted would have started.

    Attributes:
        name, queue: of the job.
        submitted: when it would have been submitted, in ms.
        started: when it would have started, in ms; None = not by the end of the period.
        starting: since when it would be starting at the end, in ms; None = it would not.
        message: why it would still wait; empty = it would not.
    """

    name: str
    queue: str
    submitted: int
    started: int | None = None
    starting: int | None = None
    message: str = ""


class WhatIfReport(Struct):
    """What came of it.

    Attributes:
        since, until: the period, in ms.
        changes: what was otherwise, in words.
        jobs: gangs of the period.
        groups: all, then queues, sizes and classes.
        winners, losers: those whose wait changes most, of queues that the user who asks may see.
        others_shorter, others_longer: how many workloads of other queues would wait less, and
            longer.
        starts: of jobs that were not submitted.
        assumptions: what the replays do not know, in words.
        currency: of what is spent; empty = there are no prices.
    """

    since: int
    until: int
    changes: tuple[str, ...] = ()
    jobs: int = 0
    groups: tuple[WhatIfGroup, ...] = ()
    winners: tuple[WhatIfMover, ...] = ()
    losers: tuple[WhatIfMover, ...] = ()
    starts: tuple[WhatIfStart, ...] = ()
    assumptions: tuple[str, ...] = ()
    currency: str = ""
    others_shorter: int = 0
    others_longer: int = 0


class WhatIf(Struct):
    """One question, and how far its answer is.

    Attributes:
        id: of the question.
        at: when it was asked, in ms.
        user: by whom.
        state: `waiting`, `running`, `done` or `failed`.
        done_permille: how far it is.
        message: what went wrong; empty = nothing did.
        report: the answer; None = there is none yet, or it was asked in a list.
        url: its page in the portal, with `/` as first letter where that is at the server's own
            address; empty = no portal is served.
    """

    id: str
    at: int
    user: str
    state: str
    done_permille: int = 0
    message: str = ""
    changes: tuple[str, ...] = ()
    report: WhatIfReport | None = None
    url: str = ""


class WhatIfPage(Page):
    """Questions, the newest first, without their answers."""

    items: tuple[WhatIf, ...] = ()
