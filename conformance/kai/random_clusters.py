"""Random clusters with the end that KAI reached: ours must settle, and is compared in figures."""

from conformance.kai import schema as kai
from conformance.kai.drive import Drive, History
from ganglion.model.errors import InvariantBroken
from ganglion.model.policy import Policy
from ganglion.model.resources import WHOLE, decimal
from ganglion.scenarios.model import Result, Scenario

AFTER = 5
"""Cycles after settling in which no job may be stopped any more."""


def outlast(scenario: Scenario, case: kai.Case, origin: kai.Final, policy: Policy) -> Result:
    """Run a random cluster.

    It passes when no invariant breaks, no job is stopped or started once it should have
    settled, and no job that may not be stopped is.
    """
    drive, history = Drive(case, policy), History()
    try:
        restless = play(drive, history, case.settle_within_cycles, AFTER)
    except InvariantBroken as error:
        return Result(scenario.id, "random", False, error.message)
    milli = drive.running_milli()
    problems = [f"still changes after {case.settle_within_cycles} cycles"] if restless else []
    problems += [f"{name} may not be stopped, but was" for name in _fixed(case, history)]
    return Result(
        scenario.id,
        "random",
        not problems,
        "; ".join(problems),
        figures={
            "busy_gpus_milli": milli,
            "busy_gpus_milli_origin": origin.end_gpus * WHOLE,
            "fewer_busy": milli < origin.end_gpus * WHOLE,
            "evictions": sum(map(len, history.evicted)),
            "evictions_origin": origin.evictions,
            "moves": sum(map(len, history.moved)),
        },
    )


def play(drive: Drive, history: History, settle: int, after: int) -> bool:
    """Run all cycles; returns whether anything still changed when it should not any more.

    Raises InvariantBroken.
    """
    restless = False
    for number in range(1, settle + after + 1):
        before = drive.sights()
        plan = drive.cycle()
        history.note(before, drive.sights())
        drive.between()
        if number > settle:
            restless |= bool(plan.starts or plan.stops or plan.resizes)
    return restless


def _fixed(case: kai.Case, history: History) -> list[str]:
    jobs = {each.name: each for each in case.jobs}
    stopped = [name for cycle in (*history.evicted, *history.moved) for name in cycle]
    return [
        name
        for name in dict.fromkeys(stopped)
        if jobs[name.rpartition("/")[0]].preemptible is False
    ]


def shortfall(milli: int, least: float) -> str:
    """What to say of fewer busy GPUs than wanted; empty = there are enough."""
    enough = milli >= round(least * WHOLE)
    return "" if enough else f"{decimal(milli)} GPUs are busy at the end, not {least:g}"
