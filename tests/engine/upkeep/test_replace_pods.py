"""Pods that were lost with a node are replaced while the rest of the gang goes on."""

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.fleet.levels import Level
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Policy
from ganglion.model.workload import Slice, Topology
from tests.engine.build import gang, node, state_of, submit

REPAIR = Policy(repair=True)


def fleet(policy: Policy = REPAIR) -> ClusterState:
    return state_of(
        node("n1", 2, rack="r1"),
        node("n2", 2, rack="r1"),
        node("n3", 4, rack="r2"),
        policy=policy,
    )


def lose(state: ClusterState, name: str) -> Plan:
    plan = cycle(state, [ev.NodeLost(9, name)], 9)
    state.validate()
    return plan


def nodes(state: ClusterState, name: str = "w") -> list[str]:
    placement = state.gangs.record(f"{name}/0").placement
    return [pod.node for pod in placement.pods] if placement else []


def test_only_the_lost_pods_get_new_places() -> None:
    state = fleet()
    submit(state, gang("w", 3, 1, pod={"topology": Topology(preferred=Level.RACK)}))
    assert nodes(state) == ["n1", "n1", "n2"] or sorted(nodes(state)) == ["n3"] * 3
    lost = nodes(state)[0]
    kept = {i: name for i, name in enumerate(nodes(state)) if name != lost}

    plan = lose(state, lost)

    assert [each.gang.id for each in plan.resizes] == ["w/0"]
    assert plan.stops == []
    after = nodes(state)
    assert lost not in after
    assert {i: after[i] for i in kept} == kept


def test_the_domain_that_the_gang_requires_is_kept() -> None:
    state = fleet()
    submit(state, gang("big", 1, 4))
    submit(state, gang("w", 2, 2, pod={"topology": Topology(required=Level.RACK)}))
    assert sorted(nodes(state)) == ["n1", "n2"]

    plan = lose(state, "n2")

    assert [(stop.gang, str(stop.cause).split(",")[0]) for stop in plan.stops] == [
        ("w/0", "lost n2")
    ]
    assert state.gangs.record("w/0").phase is Phase.STOPPING


def test_a_gang_is_stopped_at_once_when_there_is_no_place() -> None:
    state = state_of(node("n1", 2), node("n2", 2), policy=REPAIR)
    submit(state, gang("w", 2, 2))

    assert [stop.gang for stop in lose(state, "n1").stops] == ["w/0"]


def test_an_elastic_gang_goes_on_smaller_instead() -> None:
    state = state_of(node("n1", 2), node("n2", 2), policy=REPAIR)
    submit(state, gang("w", 2, 2, pod={"min_count": 1}))

    plan = lose(state, "n1")

    assert plan.stops == []
    assert nodes(state) == ["n2"]


def test_a_slice_is_mended_in_its_own_domain() -> None:
    state = state_of(
        node("n1", 1, rack="r1"),
        node("n2", 1, rack="r1"),
        node("n3", 1, rack="r1"),
        node("n4", 2, rack="r2"),
        node("n5", 2, rack="r3"),
        policy=REPAIR,
    )
    submit(state, gang("w", 4, 1, pod={"slices": (Slice(2, Level.RACK),)}))
    lost = next(name for name in nodes(state) if name in ("n1", "n2", "n3"))
    spare = next(name for name in ("n1", "n2", "n3") if name not in nodes(state))

    lose(state, lost)

    assert spare in nodes(state)
    assert lost not in nodes(state)


def test_without_repair_the_world_tells_what_becomes_of_the_gang() -> None:
    state = fleet(Policy())
    submit(state, gang("w", 2, 2))

    plan = lose(state, nodes(state)[0])

    assert (plan.stops, plan.resizes) == ([], [])


def sick(state: ClusterState, name: str, device: int, now: int = 9) -> Plan:
    plan = cycle(state, [ev.DeviceHealth(now, name, device, healthy=False, cause="Xid 79")], now)
    state.validate()
    return plan


def test_a_gang_that_can_take_it_is_repaired_whatever_the_policy_says() -> None:
    state = fleet(Policy())
    submit(state, gang("w", 2, 2, replace=True))
    lost = nodes(state)[0]
    plan = lose(state, lost)
    assert [each.gang.id for each in plan.resizes] == ["w/0"]
    assert lost not in nodes(state)


def test_other_gangs_are_not_repaired_unless_the_policy_says_so() -> None:
    state = fleet(Policy())
    submit(state, gang("w", 2, 2))
    plan = lose(state, nodes(state)[0])
    assert plan.resizes == []
    assert plan.stops == []


def test_only_the_pod_whose_gpu_fell_sick_is_replaced() -> None:
    state = fleet(Policy())
    submit(state, gang("w", 2, 1, replace=True))
    before = state.gangs.record("w/0").placement
    assert before
    hurt = before.pods[0]
    plan = sick(state, hurt.node, hurt.devices[0])
    assert [each.gang.id for each in plan.resizes] == ["w/0"]
    after = state.gangs.record("w/0").placement
    assert after
    assert after.pods[1] == before.pods[1]
    assert (after.pods[0].node, after.pods[0].devices) != (hurt.node, hurt.devices)
    assert cycle(state, [], 10).resizes == []


def test_a_gpu_that_falls_sick_stops_nobody_whose_program_could_not_take_it() -> None:
    state = fleet()
    submit(state, gang("w", 2, 1))
    before = state.gangs.record("w/0").placement
    assert before
    plan = sick(state, before.pods[0].node, before.pods[0].devices[0])
    assert plan.resizes == []
    assert plan.stops == []
    assert state.gangs.record("w/0").placement == before
