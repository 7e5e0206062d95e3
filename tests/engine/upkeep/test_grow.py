"""Growth of elastic gangs: into what is idle, in the fair order, and for good."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import (
    Event,
    GangEnded,
    GangResized,
    GangStarted,
    GangSubmitted,
    Outcome,
    PodsLeft,
)
from ganglion.model.fleet.levels import Level
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Backfill, EvictionRules, Future, Policy, Repack
from ganglion.model.queue import Preemption, Queue, Victims
from ganglion.model.resources import Amount, GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet, Slice, Topology
from tests.effort import examples
from tests.engine.build import end, gang, node, state_of, submit

ANY = Future(backfill=Backfill.ANY, reservations=0)
POLICY = Policy(evict=EvictionRules(restart_ms=1000), future=ANY)
LATER = 1_000_000


def stretchy(name: str, least: int, most: int, **more: Any) -> Gang:
    pod = {"min_count": least} | more.pop("pod", {})
    return gang(name, pods=most, pod=pod, **more)


def size(state: ClusterState, name: str) -> int:
    placement = state.gangs.record(f"{name}/0").placement
    return len(placement.pods) if placement else 0


def running(state: ClusterState, now: int) -> Plan:
    """All orders to start or shrink are carried out."""
    events: list[Event] = []
    for name, each in state.gangs.records.items():
        if each.phase is Phase.STARTING:
            events.append(GangStarted(now, name, each.attempt))
        if each.leaving and each.phase in SETTLED:
            events.append(PodsLeft(now, name, each.attempt))
        if each.phase is Phase.STOPPING:
            events.append(GangEnded(now, name, each.attempt, Outcome.PREEMPTED, requeue=True))
    return cycle(state, events, now)


def test_two_that_arrive_together_share_what_there_is() -> None:
    state = state_of(node("n0", 8), policy=POLICY)
    plan = submit(state, stretchy("a", 1, 8), stretchy("b", 1, 8))
    assert (size(state, "a"), size(state, "b")) == (4, 4)
    assert {each.gang.workload: len(each.placement.pods) for each in plan.starts} == {
        "a": 4,
        "b": 4,
    }
    assert not plan.resizes, "what starts now starts at its size"


def test_everybodys_least_comes_before_anybodys_growth() -> None:
    state = state_of(node("n0", 8), policy=POLICY)
    submit(state, stretchy("a", 1, 8), gang("b", gpus=3), gang("c", gpus=3))
    assert [size(state, name) for name in "abc"] == [2, 1, 1]


def test_a_gang_grows_when_others_have_ended() -> None:
    state = state_of(node("n0", 8), policy=POLICY)
    submit(state, stretchy("a", 1, 8), gang("b", gpus=4))
    running(state, 2)
    assert size(state, "a") == 4
    plan = end(state, "b", now=LATER)
    assert [(each.gang.workload, len(each.placement.pods)) for each in plan.resizes] == [("a", 8)]
    assert [str(each.cause) for each in plan.resizes] == ["grown into idle GPUs"]


def test_no_gang_grows_where_the_policy_says_so() -> None:
    state = state_of(node("n0", 8), policy=replace(POLICY, elastic=False))
    submit(state, gang("b", gpus=4), stretchy("a", 1, 8))
    running(state, 2)
    assert not end(state, "b", now=LATER).resizes


def test_a_gang_that_was_just_resized_is_left_alone_for_a_while() -> None:
    state = state_of(node("n0", 8), policy=POLICY)
    submit(state, stretchy("a", 1, 8), gang("b", gpus=3), gang("c", gpus=3))
    running(state, 2)
    assert end(state, "b", now=5000).resizes
    assert not end(state, "c", now=5500).resizes
    assert state.next_wake() == 6000
    assert cycle(state, [], 6000).resizes
    assert size(state, "a") == 8


def test_growth_that_does_not_pay_is_left_out() -> None:
    policy = replace(POLICY, repack=Repack(horizon_ms=1000), evict=EvictionRules(restart_ms=800))
    state = state_of(node("n0", 8), policy=policy)
    submit(state, stretchy("a", 1, 8), gang("b", gpus=1))
    running(state, 2)
    assert size(state, "a") == 7
    assert not end(state, "b", now=LATER).resizes, "1 GPU for 1 s is less than 7 for 0.8 s"


def test_growth_stays_within_limits() -> None:
    queues = (Queue("team", limit={"*": Amount(gpu_milli=5000)}),)
    state = state_of(node("n0", 8), queues=queues, policy=POLICY)
    submit(state, stretchy("a", 1, 8), gang("b", gpus=8))
    assert size(state, "a") == 5


def test_growth_stays_in_the_rack_that_is_required() -> None:
    nodes = [node(f"n{i}", 2, rack=f"r{i // 2}") for i in range(4)]
    state = state_of(*nodes, policy=POLICY)
    rack = Topology(required=Level.RACK)
    submit(state, stretchy("a", 2, 8, topology=rack), stretchy("b", 2, 8, topology=rack))
    assert (size(state, "a"), size(state, "b")) == (4, 4)
    state.validate()


def test_pods_that_must_keep_apart_still_do_when_they_are_more() -> None:
    state = state_of(*(node(f"n{i}", 2) for i in range(3)), policy=POLICY)
    apart = Topology(forbidden=Level.NODE)
    submit(state, stretchy("a", 1, 5, topology=apart), stretchy("b", 1, 5, topology=apart))
    assert (size(state, "a"), size(state, "b")) == (3, 3)
    state.validate()


def test_slices_come_as_a_whole() -> None:
    pod = {"slices": (Slice(2, required=Level.NODE),)}
    state = state_of(node("n0", 3), node("n1", 3), policy=POLICY)
    submit(state, stretchy("a", 2, 6, pod=pod), gang("b", gpus=3))
    assert size(state, "a") == 2
    running(state, 2)
    end(state, "b", now=LATER)
    assert size(state, "a") == 4
    state.validate()


def test_a_gang_keeps_to_the_kind_of_gpu_it_started_on() -> None:
    state = state_of(node("n0", 2), node("n1", 4, kind="T4"), policy=POLICY)
    either = PodRequest(gpu=GpuRequest(1, types=("H100", "T4")))
    submit(state, stretchy("a", 1, 6, request=either), stretchy("b", 1, 6, request=either))
    for name in ("a", "b"):
        placement = state.gangs.record(f"{name}/0").placement
        assert placement
        assert len({pod.node for pod in placement.pods}) == 1


def test_sets_of_a_gang_grow_evenly() -> None:
    request = PodRequest(gpu=GpuRequest(1))
    sets = tuple(PodSet(name, 4, 1, request) for name in ("head", "tail"))
    state = state_of(node("n0", 6), policy=POLICY)
    submit(state, gang("a", pod_sets=sets), gang("b", gpus=8))
    placement = state.gangs.record("a/0").placement
    assert placement
    assert [pod.pod_set for pod in placement.pods].count("head") == 3


def test_nobody_grows_into_what_a_waiting_queue_could_take_back() -> None:
    queues = tuple(Queue(name, quota={"*": Amount(gpu_milli=4000)}) for name in ("red", "blue"))
    state = state_of(node("n0", 4), node("n1", 4), queues=queues, policy=POLICY)
    apart = Topology(forbidden=Level.NODE)
    submit(state, gang("fixed", pods=2, queue="red", preemptible=False, topology=apart))
    running(state, 2)
    submit(state, gang("want", gpus=4, queue="blue"), now=3)
    submit(state, stretchy("a", 1, 8, queue="red"), now=4)
    assert size(state, "a") == 2, "as much as red deserves"
    submit(state, gang("other", gpus=1, queue="red"), now=5)
    assert state.gangs.record("want/0").phase is Phase.PENDING


def test_surplus_moves_from_a_queue_over_its_share_to_one_below() -> None:
    queues = tuple(Queue(name, quota={"*": Amount(gpu_milli=2000)}) for name in ("red", "blue"))
    state = state_of(node("n0", 4), queues=queues, policy=POLICY)
    submit(state, stretchy("a", 1, 4, queue="red"))
    running(state, 2)
    assert size(state, "a") == 4
    submit(state, stretchy("b", 1, 4, queue="blue"), now=LATER)
    for now in range(LATER, LATER + 5000, 1000):
        running(state, now)
    assert (size(state, "a"), size(state, "b")) == (2, 2)


def test_a_growing_gang_stops_nobody() -> None:
    queues = tuple(Queue(name, quota={"*": Amount(gpu_milli=2000)}) for name in ("red", "blue"))
    state = state_of(node("n0", 4), queues=queues, policy=POLICY)
    submit(state, *(gang(f"r{i}", queue="red") for i in range(3)))
    submit(state, stretchy("b", 1, 4, queue="blue"), now=2)
    assert not running(state, LATER).stops


@settings(deadline=None, max_examples=examples(30, nightly=1_200))
@given(st.integers(0, 2**32 - 1), st.sampled_from((0, 1000)))
def test_growth_comes_to_rest_within_every_limit(seed: int, restart_ms: int) -> None:
    rng = Random(seed)
    names = ("red", "blue", "green")
    queues = tuple(_queue(rng, name) for name in names)
    policy = Policy(
        evict=EvictionRules(restart_ms=restart_ms),
        future=rng.choice((ANY, Future())),
        preemption=rng.choice((Preemption(), Preemption(reclaim=Victims.NEVER))),
    )
    nodes = [node(f"n{i}", rng.choice((2, 4)), rack=f"r{i // 2}") for i in range(4)]
    state = state_of(*nodes, queues=queues, policy=policy)
    now = 1
    for number in range(12):
        now += 1000
        least = rng.randint(1, 3)
        fresh = stretchy(
            f"g{number}",
            least,
            least + rng.randint(0, 5),
            gpus=rng.choice((1, 1, 2)),
            queue=rng.choice(names),
            priority=rng.choice((50, 50, 80)),
            preemptible=rng.random() < 0.8,
            topology=rng.choice((Topology(), Topology(), Topology(required=Level.RACK))),
            submitted=now,
        )
        check(cycle(state, [GangSubmitted(now, fresh)], now), state)
        check(running(state, now), state)
        live = [each for each in state.gangs.records.values() if each.phase is Phase.RUNNING]
        if live and rng.random() < 0.4:
            check(end(state, rng.choice(live).gang.workload, now=now), state)
    settle(state, now)


def _queue(rng: Random, name: str) -> Queue:
    limit = rng.choice((None, None, rng.randint(2, 10) * 1000))
    return Queue(
        name,
        quota={"*": Amount(gpu_milli=rng.randint(0, 6) * 1000)},
        limit={"*": Amount(gpu_milli=limit)} if limit else {},
    )


def settle(state: ClusterState, now: int) -> None:
    """With nothing new but time, everything soon stays as it is."""
    for step in range(1, 40):
        plan = running(state, now + 2000 * step)
        check(plan, state)
        if not plan.decisions and not state.holdings.leaving:
            return
    raise AssertionError("growth and shrinking never end")


def check(plan: Plan, state: ClusterState) -> None:
    assert not plan.rejected
    state.validate()
    resized = [each.gang for each in plan.decisions if isinstance(each, GangResized)]
    assert len(resized) == len(set(resized)), "nobody is resized twice in a cycle"
    for record in state.gangs.records.values():
        if record.phase in SETTLED:
            within_limits(state, record)


def within_limits(state: ClusterState, record: GangRecord) -> None:
    for name in state.queues.shares.path(record.gang.queue):
        limit = state.queues.by_name[name].limit.get("*")
        if limit and limit.gpu_milli is not None:
            assert state.queues.shares.usage[name]["*"].gpu_milli <= limit.gpu_milli
