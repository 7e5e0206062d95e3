"""Outcomes to beat: scenarios in which KAI ends poorly.

What a file names as better must be reached. Where it names nothing, no more tasks may be
stopped and no fewer GPUs be busy than with KAI; where it says in prose that the first in line
must not starve, that is tried with endless streams of small jobs: of jobs that say how long
they run, and of jobs that do not.
"""

from collections.abc import Iterator
from itertools import chain

from conformance.kai import schema as kai
from conformance.kai.drive import Drive, History
from conformance.kai.random_clusters import AFTER, play, shortfall
from ganglion.model.events import GangEnded, GangUpdated, Outcome
from ganglion.model.plan import Phase
from ganglion.model.policy import Policy
from ganglion.scenarios.model import Result, Scenario

HOUR = 3_600_000
LASTS = 2
"""Rounds that every job of the stream runs."""

MOST = 72
"""Rounds in which the first in line must have started."""


def beat(scenario: Scenario, case: kai.Case, policy: Policy) -> Result:
    """Run a probe."""
    drive, history = Drive(case, policy), History()
    restless = play(drive, history, case.settle_within_cycles, AFTER)
    problems = ["it never settles"] if restless else []
    better = case.better or kai.Better()
    if better.note and better == kai.Better(note=better.note):
        problems += [
            problem
            for unit, limited in ((HOUR, True), (24 * HOUR, False))
            for problem in _starves(case, policy, unit, limited=limited)
        ]
    elif case.better:
        problems += _falls_short(better, drive, history)
    elif case.kai_observed:
        problems += _is_worse(case.kai_observed, drive, history)
    return Result(scenario.id, scenario.tier, not problems, "; ".join(problems))


def _falls_short(better: kai.Better, drive: Drive, history: History) -> Iterator[str]:
    for word, wanted, found in (
        ("evicted", better.evicted, history.evicted),
        ("moved", better.moved, history.moved),
    ):
        names = sorted(chain.from_iterable(found))
        if wanted is not None and names != sorted(wanted):
            yield f"{word}: {_list(names)}, not {_list(sorted(wanted))}"
    if better.end_running_gpus is not None:
        problem = shortfall(drive.running_milli(), better.end_running_gpus)
        if problem:
            yield problem


def _is_worse(origin: kai.Observed, drive: Drive, history: History) -> Iterator[str]:
    stopped = sum(map(len, (*history.evicted, *history.moved)))
    most = len(origin.evicted) + len(origin.moved)
    if stopped > most:
        yield f"{stopped} tasks were stopped, more than {most}"
    problem = shortfall(drive.running_milli(), origin.end_running_gpus)
    if problem:
        yield problem


def _starves(case: kai.Case, policy: Policy, unit: int, *, limited: bool) -> Iterator[str]:
    """Whether small jobs that come for ever keep the first in line waiting for ever.

    Every round a copy of the youngest waiting job is submitted; whatever runs ends after two.

    Args:
        case: the scenario.
        policy: how to decide.
        unit: how long a round is, in ms.
        limited: whether jobs say how long they run.
    """
    drive = Drive(case, policy)
    if limited:
        for gang in drive.state.gangs.records:
            drive.state.apply(GangUpdated(drive.now, gang, time_limit_ms=LASTS * unit))
    waiting = [each for each in case.jobs if all(t.state == "pending" for t in each.tasks)]
    first = min(waiting, key=lambda each: (-each.priority, -each.age_minutes)).name
    last = min(waiting, key=lambda each: each.age_minutes).name
    for number in range(MOST):
        drive.cycle()
        if drive.state.gangs.records[first].phase in (Phase.STARTING, Phase.RUNNING):
            return
        drive.between()
        drive.now += unit
        _flow(drive, last, number, unit)
    known = "that" if limited else "that do not"
    yield f"{first} did not start in {MOST} rounds of small jobs {known} say how long they run"


def _flow(drive: Drive, last: str, number: int, unit: int) -> None:
    """The work of a round ends, and another small job comes."""
    records, now = drive.state.gangs.records, drive.now
    for gang, record in list(records.items()):
        if record.phase is Phase.RUNNING and now - record.started >= LASTS * unit:
            drive.state.apply(GangEnded(now, gang, record.attempt, Outcome.SUCCEEDED))
    drive.submit_like(last, f"{last}-{number}")


def _list(names: list[str]) -> str:
    return ", ".join(names) or "nobody"
