from ganglion.lifecycle.failures.nodes import Watch
from ganglion.model.events import (
    DeviceHealth,
    Event,
    GangEnded,
    GangPlaced,
    NodeAdded,
    NodeLost,
    Outcome,
)
from ganglion.model.levels import Level
from ganglion.model.node import Device, Node
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.policy import Failures

HOUR, DAY = 3_600_000, 86_400_000
SETTINGS = Failures(quarantine_after=2, quarantine_ms=HOUR, window_ms=DAY, most_permille=500)


def watch(nodes: int = 4, settings: Failures = SETTINGS) -> Watch:
    found = Watch(settings)
    for number in range(nodes):
        found.note(NodeAdded(0, node(f"n{number}")))
    return found


def node(name: str) -> Node:
    return Node(name, 64_000, 256_000, (Device("H100"),) * 8)


def run(found: Watch, job: str, nodes: list[str], outcome: Outcome, at: int) -> None:
    pods = tuple(PodPlacement("main", i, name) for i, name in enumerate(nodes))
    found.note(GangPlaced(at, f"{job}/0", 1, Placement(pods, Level.FLEET)))
    found.note(GangEnded(at + 1, f"{job}/0", 1, outcome))


def lose(found: Watch, name: str, at: int) -> None:
    found.note(NodeLost(at, name))
    found.note(NodeAdded(at + 1, node(name)))


def test_a_node_that_is_lost_again_and_again_is_shut() -> None:
    found = watch()
    lose(found, "n1", 10)
    assert not found.shut(20)
    lose(found, "n1", HOUR)
    shut = found.shut(HOUR)
    assert [*shut] == ["n1"]
    assert shut["n1"].why == "quarantined, as it was lost again and again"
    assert shut["n1"].until == 2 * HOUR == found.next_end(HOUR)
    assert not found.shut(2 * HOUR)


def test_a_node_whose_gpus_fall_sick_is_shut_and_the_last_fault_is_named() -> None:
    found = watch()
    for at, device in ((10, 3), (20, 3), (30, 5)):
        found.note(DeviceHealth(at, "n1", device, healthy=False, cause="Xid 79: it fell off"))
    assert found.shut(30)["n1"].why.endswith("the last one: Xid 79: it fell off")


def test_a_job_that_crashes_everywhere_shuts_no_node() -> None:
    found = watch()
    for at in range(200):
        run(found, "bad", [f"n{at % 4}"], Outcome.FAILED, 10 * at)
        run(found, "bad", [f"n{at % 4}"], Outcome.START_FAILED, 10 * at + 5)
    assert not found.shut(3000)


def test_starts_of_several_workloads_that_fail_on_one_node_shut_it() -> None:
    found = watch()
    run(found, "a", ["n2"], Outcome.START_FAILED, 10)
    run(found, "b", ["n2"], Outcome.START_FAILED, 20)
    assert [*found.shut(30)] == ["n2"]


def test_crashes_of_programs_weigh_less_than_failed_starts() -> None:
    found = watch()
    for at in range(3):
        run(found, f"a{at}", ["n2"], Outcome.FAILED, at)
    assert not found.shut(10)
    for at in range(3):
        run(found, f"b{at}", ["n2"], Outcome.FAILED, 10 + at)
    assert [*found.shut(20)] == ["n2"]


def test_the_end_of_a_gang_on_several_nodes_blames_none() -> None:
    found = watch()
    for at in range(50):
        run(found, f"a{at}", ["n1", "n2"], Outcome.FAILED, at)
    assert not found.shut(100)


def test_no_more_than_the_policys_share_of_the_fleet_is_shut() -> None:
    found = watch(10, Failures(1, HOUR, DAY, most_permille=200))
    for number in range(10):
        lose(found, f"n{number}", number)
    assert len(found.shut(10)) == 2


def test_the_only_node_is_never_shut() -> None:
    found = watch(1, Failures(1, HOUR, DAY, most_permille=1000))
    for at in range(0, 100, 2):
        lose(found, "n0", at)
    assert not found.shut(100)


def test_whoever_is_pardoned_may_be_used_at_once() -> None:
    found = watch()
    lose(found, "n1", 10)
    lose(found, "n1", 20)
    found.pardon("n1")
    assert not found.shut(30)


def test_a_policy_of_no_quarantine_shuts_nothing() -> None:
    found = watch(settings=Failures(quarantine_after=0))
    for at in range(0, 100, 2):
        lose(found, "n1", at)
    assert not found.shut(100)


def test_the_same_events_give_the_same_distrust() -> None:
    story: list[Event] = [NodeAdded(0, node(f"n{number}")) for number in range(4)]
    for at in range(1, 60):
        story.append(NodeLost(at * HOUR, f"n{at % 3}"))
        story.append(NodeAdded(at * HOUR + 1, node(f"n{at % 3}")))
    first, again = Watch(SETTINGS), Watch(SETTINGS)
    for event in story:
        first.note(event)
    for event in story:
        again.note(event)
    assert first.shut(60 * HOUR) == again.shut(60 * HOUR)
    assert first.shut(60 * HOUR)
