"""What one cycle promises."""

from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.ordering.order import waiting_in_order
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import GanglionError
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase
from ganglion.model.policy import Order, Policy
from ganglion.model.queue import Preemption, Queue
from ganglion.model.reasons import Reason, Token
from ganglion.model.workload import Gang, Retry
from tests.engine import random_fleets as make
from tests.engine.build import end, gang, node, started, state_of, submit


def test_the_same_events_make_the_same_plan_in_whatever_order_nodes_and_gangs_come() -> None:
    for seed in range(30):
        rng = Random(seed)
        nodes = [ev.NodeAdded(0, make.node(rng, f"n{i}")) for i in range(6)]
        queues = [ev.QueueSet(0, queue) for queue in make.queue_tree(rng)]
        gangs = [ev.GangSubmitted(1, make.gang(rng, i)) for i in range(12)]
        plans = []
        for _ in range(3):
            rng.shuffle(nodes)
            rng.shuffle(gangs)
            state = ClusterState()
            cycle(state, [*queues, *nodes], 0)
            plans.append(cycle(state, gangs, 1).starts)

        assert plans[0] == plans[1] == plans[2], seed


def test_an_event_that_makes_no_sense_is_set_apart_and_stops_nobody() -> None:
    state = state_of(node("n0"))

    plan = cycle(
        state,
        [ev.GangSubmitted(1, gang("lost", queue="nowhere")), ev.GangSubmitted(1, gang("a"))],
        1,
    )

    assert started(plan) == ["a"]
    assert [(each.code, each.message) for each in plan.rejected] == [
        ("state.not_found", "there is no queue nowhere")
    ]


def test_a_second_gang_of_one_id_is_refused_and_the_same_one_ignored() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"))

    assert state.apply(ev.GangSubmitted(2, gang("a"))) is False
    with pytest.raises(GanglionError):
        state.apply(ev.GangSubmitted(2, gang("a", gpus=2)))


def test_decisions_are_the_starts_as_events() -> None:
    plan = submit(state_of(node("n0")), gang("a"))

    (start,) = plan.starts
    assert plan.decisions == [ev.GangPlaced(1, "a/0", 1, start.placement)]


def test_a_stopping_gang_holds_its_resources_until_it_has_ended() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a", gpus=8), gang("b", gpus=8))

    plan = cycle(state, [ev.GangStopping(2, "a/0", 1, Cause(CauseKind.CANCELLED))], 2)

    assert (state.gangs.record("a/0").phase, plan.starts) == (Phase.STOPPING, [])
    assert started(end(state, "a")) == ["b"]


def test_news_of_an_earlier_attempt_changes_nothing() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"))
    cycle(state, [ev.GangEnded(2, "a/0", 1, ev.Outcome.NODE_LOST, requeue=True)], 2)

    assert state.gangs.record("a/0").attempt == 2
    assert state.apply(ev.GangEnded(3, "a/0", 1, ev.Outcome.SUCCEEDED)) is False
    assert state.apply(ev.GangStarted(3, "a/0", 1)) is False
    assert state.gangs.record("a/0").phase is Phase.STARTING


def test_old_news_does_not_end_a_gang_that_waits_again() -> None:
    state = state_of(node("n0", gpus=1))
    submit(state, gang("a"), gang("b", submitted=1))
    lost = ev.GangEnded(2, "a/0", 1, ev.Outcome.FAILED, requeue=True, not_before=9_000)
    cycle(state, [lost], 2)

    assert state.apply(ev.GangEnded(3, "a/0", 1, ev.Outcome.FAILED)) is False
    assert state.apply(ev.GangEnded(3, "a/0", 1, ev.Outcome.CANCELLED)) is True


def test_a_cancel_overrides_another_stop_and_nothing_overrides_a_cancel() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"))

    causes = (
        Cause(CauseKind.PREEMPTED, gang="b/0"),
        Cause(CauseKind.CANCELLED, user="ada"),
        Cause(CauseKind.PREEMPTED, gang="c/0"),
    )
    changed = [state.apply(ev.GangStopping(2, "a/0", 1, cause)) for cause in causes]

    assert changed == [True, True, False]
    assert state.gangs.record("a/0").cause == causes[1]


def test_a_gang_backs_off_before_its_next_attempt() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"))
    fails = ev.GangEnded(2, "a/0", 1, ev.Outcome.FAILED, requeue=True, not_before=5000)

    assert cycle(state, [fails], 2).starts == []
    assert state.gangs.reason("a/0").token == "policy"
    assert state.next_wake() == 5000
    assert started(cycle(state, [], 5000)) == ["a"]


def test_a_held_gang_waits_until_it_is_released() -> None:
    state = state_of(node("n0"))

    assert started(submit(state, gang("a", held=True))) == []
    assert state.gangs.reason("a/0").token == "held"
    assert started(cycle(state, [ev.GangUpdated(2, "a/0", held=False)], 2)) == ["a"]


def test_a_gang_runs_after_those_it_depends_on() -> None:
    state = state_of(node("n0"))

    assert started(submit(state, gang("a"), gang("b", after=("a",)))) == ["a"]
    assert state.gangs.reason("b/0").token == "dependency"
    assert started(end(state, "a")) == ["b"]


def test_a_failed_dependency_is_final() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"), gang("b", after=("a",)))

    cycle(state, [ev.GangEnded(2, "a/0", 1, ev.Outcome.FAILED)], 2)

    assert state.gangs.reason("b/0").never


def test_a_sweep_keeps_to_its_width() -> None:
    state = state_of(node("n0"))
    trials = [
        ev.GangSubmitted(1, gang(f"s{i}", workload="s", id=f"s/{i}", index=i, parallel=2))
        for i in range(4)
    ]
    assert len(cycle(state, trials, 1).starts) == 2

    plan = cycle(state, [ev.GangEnded(2, "s/0", 1, ev.Outcome.SUCCEEDED)], 2)

    assert [start.gang.id for start in plan.starts] == ["s/2"]
    assert state.gangs.reason("s/3").token == "policy"


def test_trials_start_in_the_order_of_their_numbers() -> None:
    state = state_of(node("n0", gpus=1))
    trials = [gang("s", id=f"s/{i}", workload="s", index=i) for i in (10, 2, 1)]

    plan = cycle(state, [ev.GangSubmitted(1, each) for each in trials], 1)

    assert [start.gang.id for start in plan.starts] == ["s/1"]
    assert waiting_in_order(state) == ["s/2", "s/10"]


def test_a_gang_that_cannot_start_lets_smaller_ones_pass() -> None:
    state = state_of(node("n0", gpus=4))

    plan = submit(state, gang("big", gpus=8), gang("small", submitted=1))

    assert started(plan) == ["small"]


def test_under_strict_order_nobody_of_the_queue_passes() -> None:
    state = state_of(node("n0", gpus=4), policy=Policy(order=Order.FIFO, strict=True))

    submit(state, gang("first", gpus=4, submitted=0))
    plan = submit(state, gang("big", gpus=3, submitted=1), gang("small", gpus=1, submitted=2))

    assert started(plan) == []
    assert state.gangs.reason("small/0").token == "order"
    assert started(end(state, "first")) == ["big", "small"]


def test_under_strict_order_a_gang_that_can_never_start_holds_nobody_up() -> None:
    state = state_of(node("n0", gpus=4), policy=Policy(order=Order.FIFO, strict=True))

    plan = submit(state, gang("never", gpus=8, submitted=0), gang("small", submitted=1))

    assert started(plan) == ["small"]
    assert started(submit(state, gang("later", submitted=2))) == ["later"]


def test_many_different_gangs_that_wait_keep_a_reason_each() -> None:
    state = state_of(node("n0", gpus=1))
    submit(state, gang("run", submitted=0))

    waiting = [gang(f"g{i}", cpu=i + 1, submitted=i + 1) for i in range(200)]
    submit(state, *waiting)
    end(state, "run")

    assert {state.gangs.reason(each.id).token for each in waiting[1:]} == {"capacity"}


@pytest.mark.parametrize(
    ("order", "first"), [(Order.SHORTEST, "long-small"), (Order.SMALLEST, "long-small")]
)
def test_expected_run_times_order_the_queue(order: Order, first: str) -> None:
    state = state_of(node("n0", gpus=8), policy=Policy(order=order))
    submit(state, gang("all", gpus=8))
    submit(state, gang("short-big", gpus=8, expected_ms=9), gang("long-small", expected_ms=5))

    assert started(end(state, "all"))[0] == first


def test_a_cordoned_node_takes_nothing_new_and_keeps_what_runs() -> None:
    state = state_of(node("n0"), node("n1", gpus=4))
    submit(state, gang("a", gpus=8))

    plan = cycle(
        state,
        [ev.NodeCordoned(2, "n1", "maintenance"), ev.GangSubmitted(2, gang("b", gpus=4))],
        2,
    )

    assert plan.starts == []
    assert state.gangs.record("a/0").phase is Phase.STARTING
    assert started(cycle(state, [ev.NodeCordoned(3, "n1", "")], 3)) == ["b"]


def test_a_sick_device_is_not_given_out() -> None:
    state = state_of(node("n0", gpus=2))

    plan = cycle(
        state,
        [ev.DeviceHealth(1, "n0", 0, healthy=False), ev.GangSubmitted(1, gang("a"))],
        1,
    )

    assert plan.starts[0].placement.pods[0].devices == (1,)
    assert started(submit(state, gang("b"))) == []


def test_a_lost_node_that_comes_back_is_used_again() -> None:
    state = state_of(node("n0"))
    cycle(state, [ev.NodeLost(1, "n0")], 1)
    assert started(submit(state, gang("a"))) == []

    assert started(cycle(state, [ev.NodeAdded(2, node("n0"))], 2)) == ["a"]


def test_a_node_that_comes_back_with_other_devices_is_used_as_what_it_is() -> None:
    state = state_of(node("n0"), node("n1"))
    changed = [ev.NodeAdded(1, node(name, kind="B200")) for name in ("n0", "n1")]

    plan = cycle(state, [*changed, ev.GangSubmitted(1, gang("a", pods=2, gpus=8))], 1)

    assert started(plan) == ["a"]
    assert state.fleet.table.supply == {"B200": 16}


def test_remembering_many_conditions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ganglion.engine.topology.fleet.REMEMBERED", 50)
    state = state_of(node("n0"), node("n1"))

    for number in range(200):
        name = f"g{number}"
        submit(state, gang(name, cpu=number + 1), gang(f"{name}-b", pods=2, gpus=2, cpu=number))
        end(state, name, f"{name}-b")
        state.validate()

    assert state.fleet.table.size < 100


def test_retry_defaults_do_not_count_node_loss_as_failure() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"))
    cycle(state, [ev.GangEnded(2, "a/0", 1, ev.Outcome.NODE_LOST, requeue=True)], 2)

    assert state.gangs.record("a/0").failures == 0
    assert "node_failure" in Retry().on


class _Moody:
    """Forbids every start until told otherwise, and counts how often it is asked."""

    name = "moody"

    def __init__(self) -> None:
        self.asked, self.forbids = 0, True

    def permit(self, gang: Gang, placement: Placement, now: int) -> Reason | None:
        self.asked += 1
        return Reason(Token.POLICY, "not in the mood") if self.forbids else None


def test_a_permit_plugin_that_said_no_is_asked_in_every_cycle() -> None:
    state, moody = state_of(node("n0")), _Moody()
    state.config.plugins = replace(state.config.plugins, permits=(moody,))

    assert not submit(state, gang("a")).starts
    assert not cycle(state, [], 2).starts
    moody.forbids = False
    assert started(cycle(state, [], 3)) == ["a"]
    assert moody.asked == 3


def test_who_finds_no_place_is_not_looked_at_again_before_something_is_freed() -> None:
    state, moody = state_of(node("n0")), _Moody()
    moody.forbids = False
    state.config.plugins = replace(state.config.plugins, permits=(moody,))

    assert started(submit(state, gang("a", gpus=8), gang("b", gpus=8))) == ["a"]
    assert state.gangs.lanes.open(state.progress.freed) == []
    cycle(state, [ev.GangEnded(3, "a/0", 1, ev.Outcome.SUCCEEDED)], 3)
    assert state.gangs.record("b/0").phase is Phase.STARTING


def test_a_queue_that_has_others_stopped_after_a_while_is_looked_at_when_that_is_over() -> None:
    state = state_of(node("n0"))
    state.apply(ev.QueueSet(0, Queue("team", preemption=Preemption(delay_ms=1_000))))
    submit(state, gang("a", gpus=8))
    submit(state, gang("b", gpus=8, priority=80), now=2)

    assert state.next_wake() == 1_000 + state.gangs.record("b/0").gang.submitted
    plan = cycle(state, [], state.next_wake() or 0)
    assert [each.gang for each in plan.stops] == ["a/0"]


def test_a_gang_that_is_protected_for_a_while_may_be_stopped_when_that_is_over() -> None:
    state = state_of(node("n0"))
    state.apply(ev.QueueSet(0, Queue("team", preemption=Preemption(protected_ms=1_000))))
    submit(state, gang("a", gpus=8))
    cycle(state, [ev.GangStarted(5, "a/0", 1)], 5)
    submit(state, gang("b", gpus=8, priority=80), now=6)

    assert state.gangs.record("a/0").phase is Phase.RUNNING
    assert state.next_wake() == 1_005
    plan = cycle(state, [], 1_005)
    assert [each.gang for each in plan.stops] == ["a/0"]
