"""The answer to a question: the past replayed as it was, and with something changed."""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from ganglion.api.whatif.report import WhatIfReport, WhatIfStart
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.fork import fork
from ganglion.engine.state.snapshot import saved, state_of
from ganglion.extensions import load
from ganglion.model.events import Event
from ganglion.model.plan import Plan
from ganglion.model.policy import Policy
from ganglion.model.resources import counted
from ganglion.pricing.book import PriceBook
from ganglion.whatif.changes import WhatIfChange, prices_with, scenario_with
from ganglion.whatif.compare import Three, groups_of, movers, waits_of
from ganglion.whatif.fates import Fates
from ganglion.whatif.figures import Figures, Key, Measure, Own, measured
from ganglion.whatif.past import PastLimits, PastPeriod
from ganglion.worlds.simulated.run import FinishedRun, simulate
from ganglion.worlds.simulated.scenario import SimulatedScenario

Work = Callable[[], bytes]
Told = Callable[[int], None]
"""Called with how far a question is, in thousandths."""


class Compared(Struct, frozen=True):
    """What of a replay is compared: figures of groups, and waits of workloads."""

    groups: tuple[tuple[Key, Figures], ...]
    waits: dict[str, int]


def at_once(work: Work) -> Work:
    """Compute here and now what could be computed beside."""
    found = work()
    return lambda: found


def answered(
    past: PastPeriod,
    change: WhatIfChange,
    words: tuple[str, ...] = (),
    told: Told = lambda _: None,
    beside: Callable[[Work], Work] = at_once,
    own: Own = None,
) -> WhatIfReport:
    """Replay a past as it was, and with something changed.

    Args:
        past: the period; used up, as its figures are taken.
        change: what is otherwise.
        words: the same, for people.
        told: called with how far it is.
        beside: begins to compute something, and returns what waits for it: the replay of what was.
        own: queues that the user who asks may see: of others there are sums alone; None = all.

    Raises:
        GanglionError: the change does not fit the past, see `scenario_with`.
        OSError: what was computed beside is lost.
    """
    scenario, until = scenario_with(past, change), past.until
    same = change == WhatIfChange()

    def as_it_was() -> bytes:
        fates, _ = replayed(past, past.scenario, beginning(past.state), told if same else _silent)
        return msgspec.msgpack.encode(_compared(past, fates, PriceBook(list(past.rated)), own))

    if same:
        replay = changed = msgspec.msgpack.decode(as_it_was(), type=Compared)
        starts: tuple[WhatIfStart, ...] = ()
    else:
        other = beginning(past.state, change.policy)
        awaited = beside(as_it_was)
        fates, run = replayed(past, scenario, other, told)
        changed = _compared(past, fates, PriceBook(prices_with(past, change)), own)
        starts = tuple(_start(run, fates, gang.id) for gang in change.gangs)
        replay = msgspec.msgpack.decode(awaited(), type=Compared)
    book = PriceBook(list(past.rated))
    was = measured(past.fates, until, book, own)
    found = Three(was, dict(replay.groups), dict(changed.groups))
    moved = movers(past.fates, replay.waits, changed.waits, until, past.missing_ms, own)
    return WhatIfReport(
        past.since,
        until,
        words,
        len(past.fates.of),
        groups_of(found, _unknown(past)),
        moved.shorter,
        moved.longer,
        starts,
        assumptions(past.limits),
        book.currency,
        moved.others_shorter,
        moved.others_longer,
    )


def _unknown(past: PastPeriod) -> dict[Measure, int]:
    """By how much figures may be wrong, as records of the past are missing.

    What began or ended meanwhile is known as much too late, on all GPUs in the worst case.
    """
    missing = past.missing_ms
    if not missing:
        return {}
    most = missing * sum(len(node.devices) for node in past.scenario.nodes)
    found = dict.fromkeys((Measure.WAIT_P50, Measure.WAIT_P95), missing)
    found |= dict.fromkeys((Measure.LOST, Measure.HELD), most)
    return found | {Measure.FAIRNESS: 1000}


def _compared(past: PastPeriod, fates: Fates, prices: PriceBook, own: Own) -> Compared:
    groups = measured(fates, past.until, prices, own)
    return Compared(tuple(groups.items()), dict(waits_of(fates, past.until)))


def _silent(_permille: int) -> None:
    """How far a replay is that goes on beside another one is not said."""


def assumptions(limits: PastLimits) -> tuple[str, ...]:
    """What replays do not know, in words."""
    found = ["Users are assumed to submit the same jobs at the same times, whatever they wait."]
    if limits.open:
        found.append(
            f"{counted(limits.open, 'gang')} still ran at the end: such work runs on until the"
            " end of a replay."
        )
    if limits.guessed:
        found.append(
            f"{counted(limits.guessed, 'gang')} never ran: such work is taken to run as long as its"
            " time limit allows, or as half of its queue did."
        )
    if limits.retried:
        found.append(
            f"After {counted(limits.retried, 'failed attempt')} another one began: a replay counts"
            " the time of all attempts as work."
        )
    if limits.stopped:
        found.append(
            f"{counted(limits.stopped, 'attempt')} ended for others: in a replay, what a stop loses"
            " follows from the checkpoint contract, not from checkpoints that were reported."
        )
    if limits.damaged:
        found.append(
            f"The ledger has {counted(limits.damaged, 'event')} that cannot be taken in, see"
            " `ganglion ledger verify`: what such an event was about is missing here, or stays as"
            " it was before."
        )
    if limits.cluster:
        found += of_cluster(limits)
    elif limits.delivered:
        found.append(
            f"{limits.delivered} events of clusters are left out: only what this server placed is"
            " replayed. Name a cluster to ask about it: --cluster NAME"
        )
    return tuple(found)


def of_cluster(limits: PastLimits) -> list[str]:
    """What replays of a cluster do not know beside that, in words."""
    found = [
        f"Only what the scheduler of {limits.cluster} delivered is known: rules of nodes and pods"
        " that its records do not name (taints, affinity, volumes) are not replayed."
    ]
    if limits.gaps:
        records = sum(each.records for each in limits.gaps)
        some = f"{records}" if all(each.records for each in limits.gaps) else f"at least {records}"
        found.append(
            f"{some} records of the period are missing, in {len(limits.gaps)} gaps: jobs that came"
            " and went meanwhile are in no replay, and every error bar is as much wider as the"
            " gaps last. See: ganglion audit show --kind records_lost"
        )
    if limits.unseen:
        found.append(
            f"{limits.unseen} gangs ended while no scheduler looked: each is taken to have run"
            " until the next one did."
        )
    return found


def _start(run: FinishedRun, fates: Fates, gang: str) -> WhatIfStart:
    fate = fates.of[gang]
    has_place = fate.started is None and fate.placement is not None
    waits = fate.started is None and not has_place
    reason = run.state.gangs.reason(gang) if waits else None
    return WhatIfStart(
        fate.gang.name or fate.gang.workload,
        fate.gang.queue,
        fate.gang.submitted,
        fate.started,
        fate.placed if has_place else None,
        reason.message if reason else "",
    )


def beginning(state: ClusterState, policy: Policy | None = None) -> ClusterState:
    """A copy of a state, with the plugins of a policy that is to be in force.

    Raises:
        PluginError: the policy names a plugin that cannot be loaded.
    """
    return state_of(saved(fork(state)), load(policy or state.config.policy))


def replayed(
    past: PastPeriod, scenario: SimulatedScenario, state: ClusterState, told: Told
) -> tuple[Fates, FinishedRun]:
    """Let a period pass once more.

    Args:
        past: the period.
        scenario: of it, or of it with something changed.
        state: of `beginning`; used up.
        told: called with how far it is, by time and by jobs, in thousandths.
    """
    fates = Fates(past.state, past.since)

    def note(events: list[Event], plan: Plan) -> None:
        for event in (*events, *plan.decisions):
            fates.note(event)

    lasts = max(past.until - past.since, 1)

    def progress(done: int, total: int, passed: int) -> None:
        by_time = 1000 * min(passed, lasts) // lasts
        told((by_time + 1000 * done // max(total, 1)) // 2)

    run = simulate(scenario, state=state, observe=note, progress=progress)
    return fates, run
