"""No gang starves for want of time limits: a wide gang under a stream of narrow ones."""

from random import Random

import pytest
from msgspec.structs import replace

from benchmarks.common.drive import Stage, drive
from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.timeline.draining import starves
from ganglion.engine.timeline.reservation_table import Reservations
from ganglion.model import events as ev
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.workload import Checkpoint, Gang
from ganglion.specs.policy.presets import preset
from ganglion.worlds.simulated.job import SimJob
from tests.effort import sample
from tests.engine.build import gang, node

MINUTE = 60_000
WIDE_AT, STREAM = 60 * MINUTE, 480 * MINUTE
MEAN = 30 * MINUTE
GPUS = 16
PRESETS = ("default", "slurm-like")
"""Policies with reservations; `make soak` takes both."""


def _wait(policy: Policy, seed: int, *, narrow: bool, wide: bool) -> int:
    """Wait of a gang on all GPUs under one-GPU jobs at 105 % load.

    Args:
        policy: the engine's.
        seed: draws the jobs.
        narrow: whether the one-GPU jobs have time limits.
        wide: whether the gang has one.
    """
    rng, now, jobs = Random(seed), 0, list[SimJob]()
    while now < STREAM:
        runs = rng.randint(MINUTE, 2 * MEAN)
        limit = 2 * runs if narrow else 0
        jobs.append(SimJob(_job(f"narrow-{len(jobs)}", 1, 1, now, limit), runs))
        now += round(rng.expovariate(105 * GPUS / (100 * MEAN)))
    limit = 4 * MEAN if wide else 0
    jobs.append(SimJob(_job("wide", GPUS // 8, 8, WIDE_AT, limit), 2 * MEAN))
    jobs.sort(key=lambda job: job.gang.submitted)
    nodes = [node(f"n{number}") for number in range(GPUS // 8)]
    outcome = drive(Stage(nodes, [Queue("team")], jobs, policy))
    return next(each.wait for each in outcome.courses if each.job.gang.workload == "wide")


def _job(name: str, pods: int, gpus: int, at: int, limit: int) -> Gang:
    found = gang(name, pods, gpus, submitted=at, time_limit_ms=limit)
    return replace(found, user="ada", name=name.rstrip("0123456789"))


def _draining(name: str) -> Policy:
    policy = preset(name)
    return replace(policy, future=replace(policy.future, starving_permille=3000))


@pytest.mark.parametrize("name", [PRESETS[each] for each in sample(range(2), 2)])
def test_without_limits_a_wide_gang_waits_at_most_three_times_as_long(name: str) -> None:
    policy = _draining(name)
    with_limits = _wait(policy, 0, narrow=True, wide=True)
    assert _wait(policy, 0, narrow=False, wide=False) <= 3 * with_limits
    assert _wait(policy, 0, narrow=False, wide=True) <= 3 * with_limits


@pytest.mark.parametrize(
    ("name", "permille"), [("default", 0), ("kai", 0), ("kueue", 0), ("slurm-like", 3000)]
)
def test_places_are_drained_where_the_policy_says_so(name: str, permille: int) -> None:
    assert preset(name).future.starving_permille == permille


@pytest.mark.parametrize(("shares", "drains"), [(True, False), (False, True)])
def test_a_gang_that_those_in_its_way_yield_to_in_their_turn_has_no_place_drained(
    shares: bool, drains: bool
) -> None:
    contract = Checkpoint() if shares else None
    state = ClusterState(_draining("default"))
    cycle(state, [ev.QueueSet(0, Queue("team")), ev.NodeAdded(0, node("a"))], 0)
    before = [gang(f"run-{i}", gpus=4, expected_ms=90 * MINUTE) for i in range(2)]
    held = [replace(each, checkpoint=contract) for each in before]
    cycle(state, [ev.GangSubmitted(0, each) for each in held], 0)
    wide = replace(gang("wide", gpus=8), checkpoint=Checkpoint())
    cycle(state, [ev.GangSubmitted(0, wide)], 0)
    record, future = state.gangs.records["wide/0"], state.config.policy.future
    late = 4 * record.turn_ms

    assert starves(state, record, Reservations(state.timeline.kept), future, late) is drains


def test_a_drained_place_is_kept_until_it_is_free_and_only_limits_let_others_in() -> None:
    policy = preset("slurm-like")
    state = ClusterState(policy)
    cycle(state, [ev.QueueSet(0, Queue("team")), ev.NodeAdded(0, node("a"))], 0)
    before = [gang(f"run-{i}", gpus=4, expected_ms=90 * MINUTE) for i in range(2)]
    cycle(state, [ev.GangSubmitted(0, each) for each in before], 0)
    cycle(state, [ev.GangSubmitted(0, gang("wide", gpus=8))], 0)
    assert state.timeline.future.reservation("wide/0") is None
    turn = state.gangs.records["wide/0"].turn_ms
    late = 3 * turn
    cycle(state, [ev.GangSubmitted(late, gang("poke", gpus=7, submitted=late))], late)
    held = state.timeline.future.reservation("wide/0")
    assert held
    assert held.drains
    cycle(state, [ev.GangEnded(late + 1, "run-0/0", 1, ev.Outcome.SUCCEEDED)], late + 1)
    at = late + 2
    short = gang("short", gpus=1, submitted=at, time_limit_ms=MINUTE)
    guessed = gang("guessed", gpus=1, submitted=at, expected_ms=1)
    plan = cycle(state, [ev.GangSubmitted(at, each) for each in (guessed, short)], at)
    assert [each.gang.workload for each in plan.starts] == ["short"]
    overdue = held.start_ms
    plan = cycle(state, [], overdue)
    moved = state.timeline.future.reservation("wide/0")
    assert moved
    assert moved.start_ms > overdue
    assert moved.placement == held.placement
