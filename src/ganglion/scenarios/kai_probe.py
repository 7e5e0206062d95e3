"""Outcomes to beat: scenarios in which KAI ends poorly.

What a file names as better must be reached. Where it names nothing, no more tasks may be
stopped and no fewer GPUs be busy than with KAI; where it says in prose that the first in line
must not starve, that is tried with an endless stream of small jobs.
"""

from collections.abc import Iterator
from itertools import chain

from ganglion.model.events import GangEnded, Outcome
from ganglion.model.plan import Phase
from ganglion.model.policy import Policy
from ganglion.scenarios import kai_schema as kai
from ganglion.scenarios.kai_drive import Drive, History
from ganglion.scenarios.kai_random import AFTER, play, shortfall
from ganglion.scenarios.model import Result, Scenario

HOUR = 3_600_000
LASTS = 2
"""Hours that every job of the stream runs."""

PATIENCE = 72
"""Hours in which the first in line must have started."""


def beat(scenario: Scenario, case: kai.Case, policy: Policy) -> Result:
    """Run a probe."""
    drive, history = Drive(case, policy), History()
    restless = play(drive, history, case.settle_within_cycles, AFTER)
    problems = ["it never settles"] if restless else []
    better = case.better or kai.Better()
    if better.note and better == kai.Better(note=better.note):
        problems += _starves(case, policy)
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


def _starves(case: kai.Case, policy: Policy) -> Iterator[str]:
    """Whether small jobs that come for ever keep the first in line waiting for ever.

    Every hour a copy of the youngest waiting job is submitted; whatever runs ends after two.
    """
    drive = Drive(case, policy)
    waiting = [each for each in case.jobs if all(t.state == "pending" for t in each.tasks)]
    first = min(waiting, key=lambda each: (-each.priority, -each.age_minutes)).name
    last = min(waiting, key=lambda each: each.age_minutes).name
    for hour in range(PATIENCE):
        drive.cycle()
        if drive.state.records[first].phase in (Phase.STARTING, Phase.RUNNING):
            return
        drive.between()
        drive.now += HOUR
        _flow(drive, last, hour)
    yield f"{first} did not start in {PATIENCE} hours of small jobs"


def _flow(drive: Drive, last: str, hour: int) -> None:
    """The work of an hour ends, and another small job comes."""
    records, now = drive.state.records, drive.now
    for gang, record in list(records.items()):
        if record.phase is Phase.RUNNING and now - record.started >= LASTS * HOUR:
            drive.state.apply(GangEnded(now, gang, record.attempt, Outcome.SUCCEEDED))
    drive.submit_like(last, f"{last}-{hour}")


def _list(names: list[str]) -> str:
    return ", ".join(names) or "nobody"
