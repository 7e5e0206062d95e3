"""Carrying out steps on one cluster."""

from collections.abc import Sequence

from msgspec import Struct

from ganglion.worlds.kubernetes.act.bind import bind_gangs
from ganglion.worlds.kubernetes.act.calls import PACE, Job, Pace, work_off
from ganglion.worlds.kubernetes.act.conditions import clear_victim, mark_victim
from ganglion.worlds.kubernetes.act.evict import Evictions, unbind
from ganglion.worlds.kubernetes.act.nominate import nominate, unnominate
from ganglion.worlds.kubernetes.act.outcome import Outcome, Verdict
from ganglion.worlds.kubernetes.act.owners import resume_owner, suspend_owner
from ganglion.worlds.kubernetes.act.steps import (
    Await,
    Bind,
    Evict,
    Mark,
    Nominate,
    Phase,
    Spare,
    Step,
    Suspend,
    TakeApart,
    Unsuspend,
    Withdraw,
)
from ganglion.worlds.kubernetes.api.client import Api

Outcomes = dict[str, Outcome]
"""UID of a pod, or of an owner -> what became of the write to it."""


class Progress(Struct, frozen=True):
    """How far phases were carried out.

    Attributes:
        left: phases still to come; the first of them failed, or waits for pods to leave.
        outcomes: of the last phase that was tried.
        failed: whether a write of it did not succeed; what is left may be tried again, or what
            was written be taken back.
    """

    left: tuple[Phase, ...]
    outcomes: Outcomes
    failed: bool = False


async def perform(api: Api, steps: Sequence[Step], pace: Pace = PACE) -> Outcomes:
    """Carry out steps that do not depend on each other.

    Steps without a write (Await, Place) are left to the caller.
    """
    evictions, outcomes = Evictions(api, pace), Outcomes()

    def job(rank: int, step: Step) -> Job:
        async def run() -> tuple[Job, ...]:
            outcomes.update(await _write(api, step, pace, evictions))
            return ()

        return Job((rank,), run)

    binds = [step.orders for step in steps if isinstance(step, Bind)]
    rest = [job(rank, step) for rank, step in enumerate(steps) if not isinstance(step, Bind)]
    await work_off(rest, min(pace.at_once, len(rest)))
    return outcomes | await bind_gangs(api, binds, pace)


async def carry_out(api: Api, phases: Sequence[Phase], pace: Pace = PACE) -> Progress:
    """Carry out phases one after the other, up to the first that fails or has to wait."""
    outcomes: Outcomes = {}
    for index, phase in enumerate(phases):
        if any(isinstance(step, Await) for step in phase):
            return Progress(tuple(phases[index:]), outcomes)
        outcomes = await perform(api, phase, pace)
        if not all(succeeded(step, outcomes) for step in phase):
            return Progress(tuple(phases[index:]), outcomes, failed=True)
    return Progress((), outcomes)


def succeeded(step: Step, outcomes: Outcomes) -> bool:
    """Tell whether the next phase may follow as far as this step is concerned.

    A victim that is gone needs no more telling; a pod that is gone can be promised nothing.
    """
    match step:
        case Nominate():
            return outcomes[step.pod.uid].holds
        case Bind():
            return all(outcomes[order.uid].is_bound for order in step.orders)
        case Mark() | Spare() | Withdraw() | Evict():
            return _settled(outcomes[step.pod.uid])
        case Suspend() | Unsuspend():
            return _settled(outcomes[step.owner.uid])
        case TakeApart():
            return all(_settled(outcomes[pod.uid]) for pod in step.pods)
    return True


def _settled(outcome: Outcome) -> bool:
    return outcome.holds or outcome.verdict is Verdict.GONE


async def _write(api: Api, step: Step, pace: Pace, evictions: Evictions) -> Outcomes:
    match step:
        case Suspend():
            outcome = await suspend_owner(api, step.owner, step.beneficiary, pace)
            return {step.owner.uid: outcome}
        case Unsuspend():
            return {step.owner.uid: await resume_owner(api, step.owner, pace)}
        case TakeApart():
            return await unbind(api, step.pods, step.message, pace)
        case Evict():
            return {step.pod.uid: await evictions.evict(step.pod, step.grace_s)}
    return await _say(api, step, pace)


async def _say(api: Api, step: Step, pace: Pace) -> Outcomes:
    """Write what is only said on pods."""
    match step:
        case Nominate():
            return await nominate(api, [(step.pod, step.node)], pace)
        case Withdraw():
            return await unnominate(api, [step.pod], pace)
        case Mark():
            return {step.pod.uid: await mark_victim(api, step.pod, step.beneficiary, pace)}
        case Spare():
            return {step.pod.uid: await clear_victim(api, step.pod, pace)}
    return {}
