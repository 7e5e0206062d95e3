"""What queues deserve, and what others may reclaim from them."""

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.fleet.node import Device, Node
from ganglion.model.policy import Policy, UsageDecay
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.server.views.cluster import queue_page, queue_view
from tests.lifecycle.test_waits import gang


def standing(state: ClusterState) -> dict[str, tuple[int, int, int]]:
    return {
        each.name: (each.gpu_used_milli, each.deserved_gpu_milli, each.reclaimable_gpu_milli)
        for each in queue_page(state).items
    }


def test_what_is_used_beyond_quota_is_at_risk_once_another_queue_deserves_it() -> None:
    state, quota = ClusterState(), {"H100": Amount(4_000)}
    node = Node("n", 64_000, 1 << 20, (Device("H100"),) * 8)
    found: list[ev.Event] = [
        ev.NodeAdded(0, node),
        *(ev.QueueSet(0, Queue(name, quota=quota)) for name in ("red", "blue")),
        *(ev.GangSubmitted(0, gang(f"r{n}", 2, queue="red")) for n in range(3)),
    ]
    for event in found:
        state.apply(event)
    cycle(state, (), 1_000)
    assert standing(state) == {"red": (6_000, 6_000, 0), "blue": (0, 0, 0)}
    state.apply(ev.GangSubmitted(2_000, gang("b", 4, queue="blue")))
    state.deserved.refresh(2_000)
    assert standing(state) == {"red": (6_000, 4_000, 2_000), "blue": (0, 4_000, 0)}


def fleet(policy: Policy, *queues: Queue) -> ClusterState:
    state = ClusterState(policy=policy)
    state.apply(ev.NodeAdded(0, Node("n", 64_000, 1 << 20, (Device("H100"),) * 8)))
    for each in queues:
        state.apply(ev.QueueSet(0, each))
    return state


def bounds(state: ClusterState, name: str) -> dict[tuple[str, str], tuple[int, int, bool]]:
    return {
        (each.queue, each.rule): (each.most, each.used, each.binds)
        for each in queue_view(state, name).bounds
    }


def test_a_bound_names_the_queue_whose_rule_it_is_and_the_one_that_leaves_least_binds() -> None:
    state = fleet(
        Policy(),
        Queue("org", limit={"*": Amount(7_000)}),
        Queue("red", parent="org", quota={"*": Amount(2_000)}, limit={"*": Amount(6_000)}),
        Queue("blue", parent="org"),
    )
    assert bounds(state, "red") == {
        ("red", "limit"): (6_000, 0, True),
        ("red", "quota"): (2_000, 0, True),
        ("org", "limit"): (7_000, 0, False),
    }
    state.apply(ev.GangSubmitted(0, gang("b", 4, queue="blue")))
    cycle(state, (), 1_000)
    assert bounds(state, "red")["org", "limit"] == (7_000, 4_000, True)
    assert bounds(state, "red")["red", "limit"] == (6_000, 0, False)
    assert bounds(state, "blue") == {("org", "limit"): (7_000, 4_000, True)}


def test_past_use_moves_a_queue_behind_another_and_lowers_what_it_deserves() -> None:
    hour = 3_600_000
    rules = UsageDecay(half_life_ms=hour, correction_permille=1_000)
    state = fleet(Policy(usage=rules), *(Queue(name, quota={"*": Amount(1_000)}) for name in "rb"))
    state.apply(ev.GangSubmitted(0, gang("r", 8, queue="r")))
    cycle(state, (), 0)
    state.apply(ev.GangEnded(hour, "r/0", 1, ev.Outcome.SUCCEEDED))
    for name in "rb":
        state.apply(ev.GangSubmitted(hour, gang(f"{name}2", 8, queue=name)))
    state.deserved.refresh(hour)
    red, blue = (queue_view(state, name, now=hour) for name in "rb")
    assert red.past and blue.past
    assert (red.past.gpu_milli, blue.past.gpu_milli) == (3_999, 0)  # half of 8 GPUs
    assert (red.past.used_permille, red.past.weight_permille) == (1_000, 500)
    assert red.deserved_gpu_milli < red.past.deserved_without_gpu_milli == 4_000
    assert blue.deserved_gpu_milli > blue.past.deserved_without_gpu_milli == 4_000
    assert (red.past.place, red.past.place_without, red.past.beside) == (2, 1, 2)
    assert (blue.past.place, blue.past.place_without) == (1, 1)
    alone = queue_view(state, "r", hidden={"b"}, now=hour).past
    assert alone and (alone.gpu_milli, alone.used_permille, alone.place) == (3_999, None, None)


def test_queues_have_no_past_where_the_policy_remembers_none() -> None:
    assert queue_view(fleet(Policy(), Queue("red")), "red").past is None
