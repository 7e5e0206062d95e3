"""Who may be stopped for whom where queues are compared by share."""

from typing import Any

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.preemption_rules.share_rules import ShareRules
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.causes import CauseKind
from ganglion.model.events import GangPlaced, GangStarted, GangSubmitted
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.policy import Entitlement, EvictionRules, Policy, VictimOrder
from ganglion.model.queue import Preemption, Queue, Victims
from ganglion.model.reasons import Token
from ganglion.model.resources import Amount, GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet
from tests.engine.build import gang, node, state_of, submit

NEWEST = EvictionRules(victims=VictimOrder.NEWEST)
KAI = Policy(
    entitlement=Entitlement.KAI,
    preemption=Preemption(borrowing=Victims.ANY),
    evict=NEWEST,
)
NOW = 1_000_000


def queue(name: str, gpus: int, **more: Any) -> Queue:
    return Queue(name, quota={"*": Amount(gpu_milli=gpus * 1000)}, **more)


def runs(state: ClusterState, name: str, team: str, gpus: int = 1, **more: Any) -> None:
    """A gang of one pod runs on the only node since a while."""
    taken = [
        device
        for each in state.gangs.records.values()
        for pod in pods(each)
        for device in pod.devices
    ]
    begin = max(taken, default=-1) + 1
    it = gang(name, gpus=gpus, queue=team, **more)
    place = PodPlacement("main", 0, "n", tuple(range(begin, begin + gpus)), 1000)
    state.apply(GangSubmitted(1, it))
    state.apply(GangPlaced(2, it.id, 1, Placement((place,))))
    state.apply(GangStarted(3, it.id, 1))


def pods(record: GangRecord) -> tuple[PodPlacement, ...]:
    return record.placement.pods if record.placement else ()


def asks(state: ClusterState, it: Gang) -> GangRecord:
    state.apply(GangSubmitted(10, it))
    state.deserved.refresh(NOW)
    return state.gangs.record(it.id)


def victims(state: ClusterState, asker: GangRecord) -> list[tuple[str, CauseKind]]:
    found = ShareRules().victims(state, asker, NOW, lambda unit: True)
    return [(unit.record.gang.workload, unit.cause) for unit in found]


def test_within_a_queue_lower_priority_yields_lowest_and_youngest_first() -> None:
    state = state_of(node("n"), queues=(queue("q", 8),), policy=KAI)
    runs(state, "high", "q", priority=70, submitted=1)
    runs(state, "old", "q", priority=20, submitted=1)
    runs(state, "young", "q", priority=20, submitted=5)
    runs(state, "lowest", "q", priority=10, submitted=1)
    asker = asks(state, gang("x", queue="q", gpus=8, priority=50, submitted=9))
    assert victims(state, asker) == [
        ("lowest", CauseKind.PREEMPTED),
        ("young", CauseKind.PREEMPTED),
        ("old", CauseKind.PREEMPTED),
    ]


def test_gangs_that_nobody_may_stop_are_no_victims() -> None:
    state = state_of(node("n"), queues=(queue("q", 8),), policy=KAI)
    runs(state, "fixed", "q", priority=10, preemptible=False)
    asker = asks(state, gang("x", queue="q", priority=90))
    assert victims(state, asker) == []


def test_a_queue_within_its_quota_is_safe_whatever_the_priority() -> None:
    state = state_of(node("n"), queues=(queue("a", 4), queue("b", 4)), policy=KAI)
    for name in ("one", "two", "three", "four"):
        runs(state, name, "a", priority=1)
    asker = asks(state, gang("x", queue="b", gpus=8, priority=100))
    assert victims(state, asker) == []


def test_what_is_borrowed_goes_back_to_the_owner_and_no_more() -> None:
    state = state_of(node("n"), queues=(queue("a", 2), queue("b", 4)), policy=KAI)
    for name in ("one", "two", "three"):
        runs(state, name, "a", priority=99)
    asker = asks(state, gang("x", queue="b", gpus=4, priority=1))
    rules, now = ShareRules(), NOW
    given = rules.victims(state, asker, now, lambda unit: True)
    unit = next(given)
    state.queues.charge(unit.record.gang, unit.record.charged, -1)
    assert unit.cause is CauseKind.RECLAIMED
    assert list(given) == []
    state.queues.charge(unit.record.gang, unit.record.charged, 1)


def test_beyond_its_own_quota_a_queue_reclaims_only_where_it_may_borrow() -> None:
    queues = (queue("a", 0), queue("b", 0))
    quota_only = Policy(evict=NEWEST, preemption=Preemption())
    for policy, expected in ((KAI, [("there", CauseKind.RECLAIMED)]), (quota_only, [])):
        state = state_of(node("n"), queues=queues, policy=policy)
        runs(state, "there", "a", gpus=8)
        asker = asks(state, gang("x", queue="b", gpus=4))
        assert victims(state, asker) == expected


def test_nobody_asks_for_more_than_the_queue_deserves() -> None:
    state = state_of(node("n"), queues=(queue("a", 4), queue("b", 4)), policy=KAI)
    runs(state, "there", "a", gpus=8)
    asker = asks(state, gang("x", queue="b", gpus=5))
    reason = ShareRules().hopeless(state, asker, NOW)
    assert reason
    assert reason.token is Token.QUOTA
    assert reason.evidence["takeable_milli"] == 0
    assert victims(state, asker) == []


def test_too_little_to_take_is_found_out_by_adding_up() -> None:
    state = state_of(node("n"), queues=(queue("q", 8),), policy=KAI)
    runs(state, "low", "q", gpus=3, priority=10)
    runs(state, "high", "q", gpus=3, priority=90)
    asker = asks(state, gang("x", queue="q", gpus=6, priority=50))
    reason = ShareRules().hopeless(state, asker, NOW)
    assert reason
    assert (reason.evidence["free_milli"], reason.evidence["takeable_milli"]) == (2000, 3000)


def test_a_queue_that_must_wait_takes_nothing_yet() -> None:
    patient = queue("q", 8, preemption=Preemption(delay_ms=2 * NOW))
    state = state_of(node("n"), queues=(patient,), policy=KAI)
    runs(state, "low", "q", gpus=8, priority=10)
    asker = asks(state, gang("x", queue="q", priority=50, submitted=10))
    reason = ShareRules().hopeless(state, asker, NOW)
    assert reason
    assert reason.token is Token.POLICY
    assert victims(state, asker) == []


def test_who_just_started_is_protected_for_a_while() -> None:
    spared = queue("q", 8, preemption=Preemption(protected_ms=2 * NOW))
    state = state_of(node("n"), queues=(spared,), policy=KAI)
    runs(state, "low", "q", gpus=8, priority=10)
    asker = asks(state, gang("x", queue="q", priority=50))
    assert victims(state, asker) == []


def test_a_leaf_is_bound_by_the_branch_it_hangs_on() -> None:
    queues = (
        queue("top", 2),
        queue("leaf", 8, parent="top"),
        queue("other", 6),
    )
    state = state_of(node("n"), queues=queues, policy=KAI)
    runs(state, "there", "other", gpus=6)
    runs(state, "mine", "leaf", gpus=2)
    asker = asks(state, gang("x", queue="leaf", gpus=2))
    assert victims(state, asker) == []


def test_the_queue_that_is_furthest_over_gives_first() -> None:
    queues = (queue("rich", 1), queue("greedy", 0), queue("owner", 4))
    state = state_of(node("n"), queues=queues, policy=KAI)
    runs(state, "rich1", "rich", gpus=2, submitted=9)
    runs(state, "greedy1", "greedy", gpus=2, submitted=1)
    runs(state, "greedy2", "greedy", gpus=2, submitted=2)
    asker = asks(state, gang("x", queue="owner", gpus=4))
    assert victims(state, asker)[0] == ("greedy2", CauseKind.RECLAIMED)


def grades(state: ClusterState, asker: GangRecord) -> dict[str, tuple[int, ...]]:
    found = ShareRules().victims(state, asker, NOW, lambda unit: True)
    return {unit.record.gang.workload: unit.grade for unit in found}


def test_a_queue_above_its_share_is_taken_from_before_one_above_its_quota_only() -> None:
    queues = (queue("some", 1), queue("none", 0), queue("owner", 1))
    state = state_of(node("n", gpus=4), queues=queues, policy=Policy())
    for name, team in (("s1", "some"), ("s2", "some"), ("n1", "none"), ("n2", "none")):
        runs(state, name, team, priority=10 if team == "some" else 60)
    found = grades(state, asks(state, gang("x", queue="owner")))
    assert found["n1"] < found["s1"]


def test_others_are_taken_from_before_the_own_queue() -> None:
    state = state_of(node("n"), queues=(queue("a", 0), queue("b", 8)), policy=Policy())
    runs(state, "theirs", "a", gpus=4, priority=90)
    runs(state, "mine", "b", gpus=4, priority=1)
    found = grades(state, asks(state, gang("x", queue="b", gpus=4, priority=50)))
    assert found["theirs"] < found["mine"]


def test_who_is_owed_one_flavor_stops_nobody_for_a_place_in_another() -> None:
    """Its victim would be owed that place in turn, and so for ever."""
    red, blue = {"H100": Amount(gpu_milli=8_000)}, {"T4": Amount()}
    queues = (Queue("red", quota=red), Queue("blue", quota=blue))
    state = state_of(node("a", 4), node("b", 4, kind="T4"), queues=queues)
    both = tuple(
        PodSet(kind, request=PodRequest(gpu=GpuRequest(gpus, types=(kind,))))
        for kind, gpus in (("H100", 4), ("T4", 2))
    )
    rest = PodRequest(gpu=GpuRequest(2, types=("T4",)))
    fixed = gang("fixed", queue="blue", request=rest, preemptible=False)
    plan = submit(state, gang("wide", queue="red", pod_sets=both), fixed)
    cycle(state, [GangStarted(2, each.gang.id, each.attempt) for each in plan.starts], 2)
    assert (
        submit(state, gang("narrow", queue="blue", gpus=3, preemptible=False), now=NOW).stops == []
    )
    owed = gang("owed", queue="blue", request=rest)
    assert [each.gang for each in submit(state, owed, now=NOW + 1).stops] == ["wide/0"]
    assert state.gangs.records["owed/0"].promise.pods[0].node == "b"  # type: ignore[union-attr]
