"""No gang waits for a limit or quota while stopping gangs that it may stop would start it."""

import os
from random import Random

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import GangStarted
from ganglion.model.plan import Plan
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, GpuRequest, PodRequest
from tests.effort import examples
from tests.engine.build import gang, node, state_of, submit
from tests.engine.limits import HOUR, drawn, gpus, play, systematic, would_start

DRAWN = int(os.environ.get("GANGLION_LIMIT_SCENES") or examples(70))
"""Random scenes for each policy."""


@pytest.mark.parametrize("policy", ["default", "kai"])
def test_no_gang_waits_under_one_bound_while_a_permitted_stop_would_start_it(policy: str) -> None:
    for scene in systematic():
        state, now = play(scene, policy)
        assert would_start(state, now) == {}, scene


@pytest.mark.parametrize("policy", ["default", "kai", "kueue"])
def test_no_gang_waits_under_drawn_bounds_while_a_permitted_stop_would_start_it(
    policy: str,
) -> None:
    for seed in range(DRAWN):
        state, now = play(drawn(Random(seed), policy), policy)
        assert would_start(state, now) == {}, f"seed {seed}"


def runs(state: ClusterState, *gangs: object, now: int = 1) -> None:
    plan = submit(state, *gangs, now=now)  # type: ignore[arg-type]
    cycle(state, [GangStarted(now, each.gang.id, each.attempt) for each in plan.starts], now)


def stopped(plan: Plan) -> list[str]:
    return sorted(each.gang.partition("/")[0] for each in plan.stops)


def test_a_lower_class_leaves_for_the_limit_of_its_queue_although_there_is_room() -> None:
    state = state_of(node("n", 4), queues=(Queue("team", limit=gpus(3)),))
    runs(state, gang("low", priority=20))

    plan = submit(state, gang("high", gpus=3, priority=90), now=HOUR)

    assert stopped(plan) == ["low"]


def test_a_leaf_within_quota_reclaims_from_a_sibling_under_the_limit_of_their_department() -> None:
    queues = (
        Queue("department", limit=gpus(4)),
        Queue("owner", "department", quota=gpus(2)),
        Queue("borrower", "department"),
    )
    state = state_of(node("n", 8), queues=queues)
    runs(state, *(gang(f"b{i}", queue="borrower", submitted=i) for i in range(4)))

    plan = submit(state, gang("mine", gpus=2, queue="owner", submitted=9), now=HOUR)

    assert len(plan.stops) == 2
    assert {str(each.cause) for each in plan.stops} == {"reclaimed for mine/0"}


def test_only_gangs_of_the_same_user_leave_for_the_limit_of_a_user() -> None:
    state = state_of(node("n", 8), queues=(Queue("team", user_limit=gpus(2)),))
    runs(state, gang("hers", priority=20, user="ada"), gang("his", priority=10, user="bob"))

    plan = submit(state, gang("x", gpus=2, priority=90, user="ada"), now=HOUR)

    assert stopped(plan) == ["hers"]


def test_the_cheapest_gangs_under_a_limit_leave_and_no_more_than_it_takes() -> None:
    state = state_of(node("n", 8), node("m", 8), queues=(Queue("team", limit=gpus(6)),))
    runs(state, gang("long", gpus=2, priority=20))
    runs(state, gang("short", gpus=2, priority=20), now=HOUR)
    runs(state, gang("tiny", gpus=1, priority=20), now=HOUR)

    plan = submit(state, gang("x", gpus=3, priority=90), now=2 * HOUR)

    assert stopped(plan) == ["short"]


def test_victims_for_room_and_for_a_limit_are_found_together() -> None:
    queues = (Queue("team", "org", limit=gpus(4)), Queue("other", "org"))
    state = state_of(node("n", 8), queues=(Queue("org"), *queues))
    runs(state, gang("low", gpus=2, priority=20))
    runs(state, gang("beside", gpus=5, queue="other", priority=20, preemptible=False))

    plan = submit(state, gang("x", gpus=3, priority=90), now=HOUR)

    assert stopped(plan) == ["low"]


def test_surplus_pods_leave_before_whole_gangs_for_a_limit() -> None:
    state = state_of(node("n", 8), queues=(Queue("team", limit=gpus(6)),))
    runs(state, gang("elastic", pods=6, gpus=1, priority=20, pod={"min_count": 2}))

    plan = submit(state, gang("x", gpus=3, priority=90), now=HOUR)

    assert plan.stops == []
    (resize,) = plan.resizes
    assert len(resize.placement.pods) == 3


def test_limits_of_cpus_and_of_a_flavor_are_reasons_to_stop_as_well() -> None:
    cpus = {"*": Amount(cpu_milli=8_000)}
    state = state_of(node("n", 8), queues=(Queue("team", limit=cpus),))
    runs(state, gang("low", gpus=0, cpu=6_000, priority=20))
    assert stopped(submit(state, gang("x", gpus=0, cpu=4_000, priority=90), now=HOUR)) == ["low"]

    h100 = {"H100": Amount(gpu_milli=2_000)}
    state = state_of(node("n", 8), node("t", 8, "T4"), queues=(Queue("team", limit=h100),))
    runs(state, gang("low", gpus=2, priority=20, request=only("H100", 2)))
    plan = submit(state, gang("x", priority=90, request=only("H100", 1)), now=HOUR)
    assert stopped(plan) == ["low"]


def only(kind: str, count: int) -> PodRequest:
    return PodRequest(gpu=GpuRequest(count, types=(kind,)))
