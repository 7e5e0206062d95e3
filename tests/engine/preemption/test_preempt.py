"""Whom a trade stops, and that it is never more than it takes."""

from ganglion.engine.cycle import cycle
from ganglion.engine.plugins.builtin import builtin_plugins
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import (
    CheckpointCommitted,
    GangEnded,
    GangReserved,
    GangStarted,
    NodeLost,
    Outcome,
    PodsLeft,
)
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import EvictionRules, Policy, Repack, VictimOrder
from ganglion.model.queue import Preemption, Queue
from ganglion.model.resources import Amount
from ganglion.model.workload import Checkpoint, Gang
from tests.engine.build import gang, node, state_of, submit

HOUR = 3_600_000


def run(state: ClusterState, *gangs: Gang, now: int = 1) -> None:
    """Submit gangs that find room, and let them run."""
    plan = submit(state, *gangs, now=now)
    assert len(plan.starts) == len(gangs)
    cycle(state, [GangStarted(now, each.gang.id, each.attempt) for each in plan.starts], now)


def stopped(plan: Plan) -> dict[str, str]:
    """Victims and why, as `name: cause`."""
    return {each.gang.partition("/")[0]: str(each.cause).partition(" ")[0] for each in plan.stops}


def leave(state: ClusterState, *names: str, now: int) -> Plan:
    return cycle(
        state,
        [GangEnded(now, f"{name}/0", 1, Outcome.PREEMPTED, requeue=True) for name in names],
        now,
    )


def team(**more: int) -> Queue:
    return Queue("team", preemption=Preemption(**more))


def test_the_asker_starts_once_its_victim_has_left() -> None:
    state = state_of(node("n0"))
    run(state, gang("low", gpus=8))

    plan = submit(state, gang("high", gpus=8, priority=80), now=HOUR)

    assert stopped(plan) == {"low": "preempted"} and plan.starts == []
    assert state.gangs.records["high/0"].phase is Phase.RESERVED
    later = leave(state, "low", now=HOUR + 1)
    assert [each.gang.workload for each in later.starts] == ["high"]
    assert state.gangs.records["low/0"].phase is Phase.PENDING


def test_nobody_else_gets_a_place_that_is_promised() -> None:
    state = state_of(node("n0"))
    run(state, gang("low", gpus=8))
    submit(state, gang("high", gpus=8, priority=80), now=HOUR)

    plan = submit(state, gang("sneaky", gpus=1, priority=80), now=HOUR + 1)

    assert plan.starts == [] and state.gangs.records["sneaky/0"].phase is Phase.PENDING


def test_the_cheapest_in_work_lost_is_stopped() -> None:
    """A large gang that has just saved its work is cheaper than a small one that never did."""
    state = state_of(node("n0"), node("n1"))
    run(state, gang("old", gpus=8), gang("saved", gpus=8))
    cycle(state, [CheckpointCommitted(9 * HOUR, "saved/0", 1)], 9 * HOUR)

    plan = submit(state, gang("high", gpus=8, priority=80), now=9 * HOUR + 1)

    assert stopped(plan) == {"saved": "preempted"}


def test_a_contract_tells_when_work_was_saved() -> None:
    state = state_of(node("n0"), node("n1"))
    often = Checkpoint(interval_ms=HOUR)
    run(state, gang("never", gpus=8), gang("often", gpus=8, checkpoint=often), now=1)

    plan = submit(state, gang("high", gpus=8, priority=80), now=3 * HOUR + 30 * 60_000)

    assert stopped(plan) == {"often": "preempted"}


def test_one_small_gang_is_stopped_rather_than_a_large_one() -> None:
    state = state_of(node("n0"), node("n1"), node("n2", gpus=1))
    run(state, gang("single", gpus=1, submitted=0))
    run(state, gang("large", pods=2, gpus=8, submitted=1), now=2)

    plan = submit(state, gang("high", gpus=1, priority=80), now=HOUR)

    assert stopped(plan) == {"single": "preempted"}


def test_no_more_gangs_are_stopped_than_it_takes() -> None:
    state = state_of(node("n0"), node("n1"))
    run(state, *(gang(f"g{i}", gpus=2) for i in range(8)))

    plan = submit(state, gang("high", gpus=4, priority=80), now=HOUR)

    assert len(plan.stops) == 2
    nodes = {pod.node for each in plan.stops for pod in state.gangs.records[each.gang].leaving}
    assert len(nodes) == 1


def test_a_higher_class_is_spared_whatever_it_costs() -> None:
    state = state_of(node("n0"), node("n1"))
    run(state, gang("low", gpus=8, priority=10))
    run(state, gang("mid", gpus=8, priority=40), now=9 * HOUR)

    plan = submit(state, gang("high", gpus=8, priority=80), now=10 * HOUR)

    assert stopped(plan) == {"low": "preempted"}


def test_price_may_go_before_class_where_the_policy_says_so() -> None:
    policy = Policy(evict=EvictionRules(victims=VictimOrder.PRICE_FIRST))
    state = state_of(node("n0"), node("n1"), policy=policy)
    run(state, gang("low", gpus=8, priority=10))
    run(state, gang("mid", gpus=8, priority=40), now=9 * HOUR)

    plan = submit(state, gang("high", gpus=8, priority=80), now=10 * HOUR)

    assert stopped(plan) == {"mid": "preempted"}


def test_equals_are_left_in_peace() -> None:
    state = state_of(node("n0"))
    run(state, gang("one", gpus=8))

    assert submit(state, gang("other", gpus=8), now=HOUR).stops == []


def test_what_must_not_be_stopped_is_not() -> None:
    state = state_of(node("n0"))
    run(state, gang("fixed", gpus=8, preemptible=False))

    assert submit(state, gang("high", gpus=8, priority=80), now=HOUR).stops == []


def test_nobody_is_stopped_for_a_gang_that_would_not_fit_even_so() -> None:
    state = state_of(node("n0"), node("n1"))
    run(state, gang("low", gpus=8), gang("fixed", gpus=8, preemptible=False))

    plan = submit(state, gang("high", pods=2, gpus=8, priority=80), now=HOUR)

    assert plan.stops == [] and state.gangs.records["high/0"].phase is Phase.PENDING


def test_a_gang_is_safe_for_as_long_as_its_queue_says() -> None:
    state = state_of(node("n0"), queues=(team(protected_ms=HOUR),))
    run(state, gang("low", gpus=8))

    assert submit(state, gang("high", gpus=8, priority=80), now=HOUR // 2).stops == []
    state.progress.changed()
    assert stopped(cycle(state, [], HOUR + 2)) == {"low": "preempted"}


def test_a_gang_waits_as_long_as_its_queue_says_before_it_stops_others() -> None:
    state = state_of(node("n0"), queues=(team(delay_ms=HOUR),))
    run(state, gang("low", gpus=8))
    waiting = gang("high", gpus=8, priority=80, submitted=10)

    assert submit(state, waiting, now=10).stops == []
    state.progress.changed()
    assert stopped(cycle(state, [], HOUR + 10)) == {"low": "preempted"}


def test_elastic_gangs_give_their_surplus_before_anybody_is_stopped() -> None:
    state = state_of(node("n0"))
    run(state, gang("wide", pods=4, gpus=1, pod={"min_count": 2}), gang("rigid", gpus=4))

    plan = submit(state, gang("high", gpus=2, priority=80), now=HOUR)

    assert plan.stops == []
    (resize,) = plan.resizes
    assert (resize.gang.workload, len(resize.placement.pods)) == ("wide", 2)
    later = cycle(state, [PodsLeft(HOUR, "wide/0", 1)], HOUR)
    assert [each.gang.workload for each in later.starts] == ["high"]


def test_a_victim_that_fits_elsewhere_goes_on_there() -> None:
    """Room for the victim is no room for the asker, which needs all of a larger node."""
    policy = Policy(repack=Repack(consolidate=False))
    state = state_of(node("n0"), node("n1", gpus=4), policy=policy)
    run(state, gang("beside", gpus=4, preemptible=False), gang("low", gpus=4))
    cycle(state, [GangEnded(2, "beside/0", 1, Outcome.SUCCEEDED)], 2)
    home = state.gangs.records["low/0"].placement
    assert home
    asked = 8 if home.domain == "n0" else 4
    run(state, *([gang("held", gpus=8, preemptible=False)] if asked == 4 else []))

    plan = submit(state, gang("high", gpus=asked, priority=80), now=HOUR)

    assert stopped(plan) == ({"low": "moved"} if asked == 8 else {"low": "preempted"})


def test_queues_take_back_what_they_are_guaranteed() -> None:
    quota = {"*": Amount(gpu_milli=8000)}
    queues = (Queue("owner", quota=quota), Queue("guest", quota={"*": Amount(gpu_milli=0)}))
    state = state_of(node("n0"), queues=queues)
    run(state, gang("borrowed", gpus=8, queue="guest", priority=90))

    plan = submit(state, gang("owed", gpus=8, queue="owner", priority=10), now=HOUR)

    assert stopped(plan) == {"borrowed": "reclaimed"}


def test_a_plugin_may_spare_anybody() -> None:
    class Spare:
        name = "spare"

        def may_stop(self, victim: Gang, favoured: Gang, now: int) -> bool:
            return victim.workload != "precious"

    made = builtin_plugins(Policy())
    plugins = Plugins(made.scores, made.filters, made.permits, (Spare(),))
    state = state_of(node("n0"), node("n1"), plugins=plugins)
    run(state, gang("other", gpus=8))
    run(state, gang("precious", gpus=8), now=5 * HOUR)

    plan = submit(state, gang("high", gpus=8, priority=80), now=6 * HOUR)

    assert stopped(plan) == {"other": "preempted"}


def test_a_promise_is_broken_when_its_node_is_lost() -> None:
    state = state_of(node("n0"), node("n1", gpus=2))
    run(state, gang("low", gpus=8))
    submit(state, gang("high", gpus=8, priority=80), now=HOUR)

    cycle(state, [NodeLost(HOUR + 1, "n0")], HOUR + 1)

    assert state.gangs.records["high/0"].phase is Phase.PENDING
    state.validate()


def test_a_cancelled_asker_gives_its_promise_back() -> None:
    state = state_of(node("n0"))
    run(state, gang("low", gpus=8))
    plan = submit(state, gang("high", gpus=8, priority=80), now=HOUR)
    assert any(isinstance(each, GangReserved) for each in plan.decisions)

    cycle(state, [GangEnded(HOUR + 1, "high/0", 0, Outcome.CANCELLED)], HOUR + 1)
    plan = leave(state, "low", now=HOUR + 2)

    assert [each.gang.workload for each in plan.starts] == ["low"]


def test_a_refusal_says_what_could_be_taken_and_that_it_is_too_little() -> None:
    state = state_of(node("n0"), node("n1"))
    run(state, gang("low", gpus=8), gang("fixed", gpus=8, preemptible=False))

    submit(state, gang("high", pods=2, gpus=8, priority=80), now=HOUR)

    reason = state.gangs.reason("high/0")
    assert reason and reason.evidence["takeable_milli"] == 8000
    assert reason.message.endswith(
        "it needs 16 GPUs; 0 are free and gangs that may be stopped for it hold 8"
    )


def test_a_trade_waits_for_a_checkpoint_that_is_near_when_that_is_cheaper() -> None:
    policy = Policy(evict=EvictionRules(checkpoint_wait_ms=HOUR // 2))
    state = state_of(node("n0"), policy=policy)
    run(state, gang("low", gpus=8, checkpoint=Checkpoint(interval_ms=HOUR)))
    asked = HOUR * 9 // 10

    plan = submit(state, gang("high", gpus=8, priority=80, submitted=asked), now=asked)

    reason, wake = state.gangs.reason("high/0"), state.next_wake()
    assert plan.stops == [] and reason and reason.message.endswith("those in its way")
    assert wake and HOUR < wake < asked + HOUR // 2
    assert stopped(cycle(state, [], wake)) == {"low": "preempted"}


def test_a_trade_does_not_wait_for_a_checkpoint_that_is_far() -> None:
    policy = Policy(evict=EvictionRules(checkpoint_wait_ms=HOUR // 2))
    state = state_of(node("n0"), policy=policy)
    run(state, gang("low", gpus=8, checkpoint=Checkpoint(interval_ms=9 * HOUR)))

    plan = submit(state, gang("high", gpus=8, priority=80, submitted=HOUR), now=HOUR)

    assert stopped(plan) == {"low": "preempted"}


def test_a_gang_out_of_proportion_stays_where_another_trade_loses_and_displaces_less() -> None:
    state = state_of(node("n0", 12), node("n1", 2))
    run(state, gang("large", gpus=12, priority=10))
    run(state, gang("small", gpus=2, priority=40), now=2)

    plan = submit(state, gang("high", gpus=2, priority=80), now=HOUR)

    assert stopped(plan) == {"small": "preempted"}


def test_a_gang_out_of_proportion_leaves_where_the_others_would_lose_more() -> None:
    state = state_of(node("n0", 12), node("n1", 2))
    run(state, gang("small", gpus=2, priority=40))
    run(state, gang("large", gpus=12, priority=10), now=20 * HOUR)

    plan = submit(state, gang("high", gpus=2, priority=80), now=20 * HOUR + 1)

    assert stopped(plan) == {"large": "preempted"}
