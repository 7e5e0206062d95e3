"""Explanations are true: their numbers, their never, and the changes they suggest."""

import os
from random import Random

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.explain.explain import explain
from ganglion.engine.explain.foretell import foretell
from ganglion.engine.explain.rehearsal import change, ends
from ganglion.engine.explain.suggest import tried
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.fork import fork
from ganglion.model import events as ev
from ganglion.model.fleet.levels import Level
from ganglion.model.plan import Phase
from ganglion.model.policy import Entitlement, Future, Order, Policy
from ganglion.model.queue import Queue
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Constraints, Topology
from tests.effort import examples, sample
from tests.engine import random_fleets as make
from tests.engine.build import gang, node, state_of, submit
from tests.engine.placement.test_place import RACKS
from tests.engine.state.test_fork import busy, news


def test_a_wait_for_a_rack_gives_the_numbers() -> None:
    state = state_of(*RACKS[:4])
    submit(state, gang("f0", gpus=8), gang("f1", pods=1, gpus=1, constraints=Constraints()))
    submit(state, gang("g", pods=2, gpus=8, topology=Topology(required=Level.RACK)), now=2)
    submit(state, gang("h", pods=2, gpus=8, topology=Topology(required=Level.RACK)), now=3)

    told = explain(state, "h/0", 4)

    assert told.reason is not None
    assert told.reason.token in ("topology", "capacity")
    assert not told.reason.never
    assert told.position == 1
    assert sum(told.histogram.values()) == 4


def test_what_can_never_fit_says_so_with_the_largest_node() -> None:
    answer = foretell(state_of(node("n0")), gang("g", gpus=9), 0).verdict

    assert answer.reason is not None
    assert answer.reason.never
    assert answer.reason.message == "one pod needs 9 GPUs on one node; the largest node has 8"


@pytest.mark.parametrize(
    ("used", "wanted", "message"),
    [
        ((8, 8), 1, "needs 1 GPU on one node; no GPU that it may use is free"),
        ((8, 6), 4, "needs 4 GPUs on one node; only 2 GPUs free in all"),
        ((6, 5), 4, "needs 4 GPUs on one node; 5 GPUs free in all, but no node has that"),
    ],
)
def test_what_is_free_in_all_is_only_held_against_nodes_where_it_would_do(
    used: tuple[int, int], wanted: int, message: str
) -> None:
    state = state_of(node("n0"), node("n1"))
    submit(state, *(gang(f"g{number}", gpus=gpus) for number, gpus in enumerate(used)))
    answer = foretell(state, gang("x", gpus=wanted), 1).verdict
    assert answer.reason
    assert answer.reason.message == message


def test_a_gang_larger_than_the_fleet_never_fits() -> None:
    answer = foretell(state_of(node("n0"), node("n1")), gang("g", pods=3, gpus=8), 0).verdict

    assert answer.reason is not None
    assert answer.reason.never


def test_an_unknown_type_is_a_constraint_and_another_type_is_suggested() -> None:
    request = PodRequest(gpu=GpuRequest(2, types=("B200",)))

    answer = foretell(state_of(node("n0")), gang("g", request=request), 0).verdict

    assert answer.reason is not None
    assert answer.reason.token == "constraint"
    assert answer.suggestions[0].change == "use H100 GPUs instead of B200"


def test_the_largest_change_that_helps_is_suggested() -> None:
    state = state_of(*(node(f"n{i}") for i in range(3)))

    answer = foretell(state, gang("g", pods=50, gpus=5), 0).verdict

    assert [each.change for each in answer.suggestions] == ["ask for 3 pods instead of 50"]
    assert [(each.pods, each.gpus, each.priority) for each in answer.suggestions] == [(3, 0, None)]


def test_those_ahead_are_named() -> None:
    state = state_of(node("n0"))
    submit(state, gang("run", gpus=8))
    submit(state, gang("a", gpus=8, submitted=1), gang("b", gpus=8, submitted=2))

    told = explain(state, "b/0", 3)

    assert (told.position, told.ahead, told.ahead_count) == (2, ("a/0",), 1)


def test_a_drained_fleet_is_told_from_a_full_one() -> None:
    state = state_of(node("n0"))
    cycle(state, [ev.NodeCordoned(1, "n0", "maintenance")], 1)

    submit(state, gang("a"))

    assert state.gangs.reason("a/0").token == "draining"


def test_a_running_gang_has_nothing_to_explain() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"))

    assert explain(state, "a/0", 2).phase == Phase.STARTING


def test_who_is_behind_others_is_not_sent_to_wait_for_what_they_wait_for() -> None:
    state = state_of(node("n0"), node("n1"), policy=Policy(future=Future(patience_permille=0)))
    fixed = {"gpus": 8, "preemptible": False}
    limits = {"soon": 1_000, "late": 10_000_000}
    submit(state, *(gang(each, time_limit_ms=ms, **fixed) for each, ms in limits.items()))
    submit(state, gang("a", submitted=1, **fixed), gang("b", submitted=2, **fixed))

    first, second = explain(state, "a/0", 3), explain(state, "b/0", 3)

    assert (first.holders, second.holders) == (("soon/0",), ("late/0",))
    assert [each.awaits for each in first.suggestions] == [("soon/0",)]
    (only,) = second.suggestions
    assert only.awaits == ("soon/0", "late/0")
    assert only.change.startswith("wait for soon/0, late/0 to end")


def test_a_change_helps_only_if_it_helps_behind_those_ahead() -> None:
    """In a strict queue the first one that waits holds up all others, small ones too."""
    strict, fifo = Queue("team", strict=True), Policy(order=Order.FIFO)
    state = state_of(node("n0"), queues=(strict,), policy=fifo)
    submit(state, gang("run", gpus=4, preemptible=False))
    submit(state, gang("big", gpus=8, submitted=1))
    assert [each.change for each in explain(state, "big/0", 3).suggestions] == [
        "ask for 4 GPUs per pod"
    ]

    submit(state, gang("too", gpus=6, submitted=2))

    for behind in ("big/0", "too/0"):  # once it is submitted again, the other one is first
        assert all(each.awaits for each in explain(state, behind, 3).suggestions)


def test_a_trial_beyond_its_allowance_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    state = state_of(node("n0"))
    submit(state, gang("run", gpus=8, preemptible=False))
    submit(state, gang("a", gpus=8, submitted=1))
    assert explain(state, "a/0", 3).suggestions

    monkeypatch.setattr("ganglion.engine.explain.rehearsal.WORK", 0)

    told = explain(state, "a/0", 3)
    assert (told.suggestions, told.holders) == ((), ("run/0",))


def test_everything_that_holds_what_it_needs_is_named() -> None:
    state = state_of(*(node(f"n{i}") for i in range(9)))
    submit(state, *(gang(f"r{i}", gpus=8, preemptible=False) for i in range(9)))
    submit(state, gang("wide", pods=9, gpus=8, submitted=1))

    assert len(explain(state, "wide/0", 3).holders) == 9


def test_closed_nodes_are_named_with_what_is_said_of_them() -> None:
    state = state_of(node("n0"), node("n1"), node("cpu", gpus=0))
    why = "quarantined, as 3 attempts failed there; until 2026-01-01 00:00 UTC"
    cycle(state, [ev.NodeCordoned(1, "n0", why), ev.NodeCordoned(1, "cpu", "old")], 1)
    submit(state, gang("run", gpus=8), gang("a", gpus=8, submitted=1))

    told = explain(state, "a/0", 3)

    assert told.closed == {"n0": why}
    assert told.histogram == {"closed: old": 1, f"closed: {why}": 1, "too few free GPUs": 1}


@pytest.mark.parametrize("entitlement", list(Entitlement))
def test_what_is_suggested_starts_the_gang_in_a_real_cycle(entitlement: Entitlement) -> None:
    """Also behind others, and while not all of the last news has been acted upon."""
    told = 0
    for seed in range(int(os.environ.get("GANGLION_SUGGESTION_SEEDS") or examples(3))):
        state = busy(seed, Policy(entitlement=entitlement))
        rng, now = Random(seed), 6
        for event in news(state, rng):
            state.apply(event)
        if seed % 2:
            cycle(state, [], now)
        before = snapshot(state)
        for record in [
            each for each in state.gangs.records.values() if each.phase is Phase.PENDING
        ]:
            reason = explain(state, record.gang.id, now, trials=False).reason
            holders = explain(state, record.gang.id, now, trials=False).holders
            for suggestion, changed in tried(state, record.gang, now, reason, holders):
                events, name = change(state, record.gang, changed, now)
                events += ends([state.gangs.records[each] for each in suggestion.awaits], now)
                assert gets_a_place(fork(state), events, name, now), (seed, suggestion)
                told += 1
        assert snapshot(state) == before
    assert told > 3


def gets_a_place(state: ClusterState, events: list[ev.Event], name: str, now: int) -> bool:
    """Whether a gang starts, or is promised a place, before the engine comes to rest."""
    for later in range(100):
        cycle(state, events if not later else [], now + later)
        record = state.gangs.records[name]
        if record.placement or record.promise:
            return True
        if state.agenda.again_at is None:
            return False
    return False


def snapshot(state: ClusterState) -> object:
    """What must not change when a user asks why."""
    lanes = [(each.reason, each.shut_at, each.in_order()) for each in state.gangs.lanes]
    counts = (state.progress.freed, state.progress.turn, state.agenda.vetoes, state.agenda.again_at)
    used = {name: dict(usage) for name, usage in state.queues.shares.usage.items()}
    records = [(each.phase, each.placement, each.promise) for each in state.gangs.records.values()]
    return (
        lanes,
        counts,
        used,
        records,
        list(state.fleet.tree.conditions),
        state.timeline.future.reservations(),
    )


def test_verdicts_and_suggestions_hold_on_random_fleets() -> None:
    """What a verdict promises happens when the gang is submitted; never means never."""
    for seed in sample(range(150), 3):
        rng = Random(seed)
        state = state_of(queues=())
        cycle(state, [ev.QueueSet(0, queue) for queue in make.queue_tree(rng)], 0)
        cycle(state, [ev.NodeAdded(0, make.node(rng, f"n{i}")) for i in range(5)], 0)
        cycle(state, [ev.GangSubmitted(1, make.gang(rng, i)) for i in range(8)], 1)
        for now in range(2, 6):  # let the gangs with a claim make it
            cycle(state, [], now)
        asked = make.gang(rng, 100)

        answer = foretell(state, asked, 6).verdict
        plan = cycle(state, [ev.GangSubmitted(6, asked)], 6)

        given = [
            each for each in plan.decisions if isinstance(each, ev.GangPlaced | ev.GangReserved)
        ]
        placed = [each.placement for each in given if each.gang == asked.id]
        stopped = {each.gang for each in plan.stops} | {each.gang.id for each in plan.resizes}
        assert stopped >= set(answer.stops)
        assert placed == [answer.placement] * bool(answer.placement), seed
        if answer.reason and answer.reason.never:
            everything_ends(state, keep=asked.id)
            assert state.gangs.records[asked.id].phase is Phase.PENDING, seed


def everything_ends(state: ClusterState, keep: str) -> None:
    for _ in range(20):
        running = [
            ev.GangEnded(3, each.gang.id, each.attempt, ev.Outcome.SUCCEEDED)
            for each in state.gangs.records.values()
            if each.phase is Phase.STARTING and each.gang.id != keep
        ]
        cycle(state, running, 3)


@pytest.mark.parametrize(
    ("level", "name"), [(Level.ISLAND, "NVLink island"), (Level.NUMA, "NUMA domain")]
)
def test_a_part_of_a_node_that_is_too_small_is_called_what_it_is(level: Level, name: str) -> None:
    request = PodRequest(gpu=GpuRequest(6), together=level)

    answer = foretell(state_of(node("n0", island=4)), gang("g", request=request), 0).verdict

    assert answer.reason is not None
    assert answer.reason.never
    assert answer.reason.message == f"one pod needs 6 GPUs in one {name}; the largest {name} has 4"
