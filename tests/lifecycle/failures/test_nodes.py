from msgspec.structs import replace

from ganglion.lifecycle.failures.nodes import Watch
from ganglion.model.events import (
    DeviceHealth,
    Event,
    GangEnded,
    GangPlaced,
    GangSubmitted,
    NodeAdded,
    NodeCordoned,
    NodeLost,
    Outcome,
)
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.policy import Failures
from ganglion.model.workload import Gang

HOUR, DAY = 3_600_000, 86_400_000
SETTINGS = Failures(quarantine_after=2, quarantine_ms=HOUR, window_ms=DAY, most_permille=500)


def watch(nodes: int = 4, settings: Failures = SETTINGS) -> Watch:
    found = Watch(settings)
    for number in range(nodes):
        found.note(NodeAdded(0, node(f"n{number}")))
    return found


def node(name: str) -> Node:
    return Node(name, 64_000, 256_000, (Device("H100"),) * 8)


def run(
    found: Watch,
    job: str,
    nodes: list[str],
    outcome: Outcome,
    at: int,
    cause: str = "",
    user: str = "ann",
) -> None:
    pods = tuple(PodPlacement("main", i, name) for i, name in enumerate(nodes))
    found.note(GangSubmitted(at, Gang(f"{job}/0", job, "default", user)))
    found.note(GangPlaced(at, f"{job}/0", 1, Placement(pods, Level.FLEET)))
    found.note(GangEnded(at + 1, f"{job}/0", 1, outcome, message="said so", cause=cause))


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
    times = "01-01 00:00, 01-01 01:00 UTC"
    assert shut["n1"].why == f"quarantined, as it was lost again and again ({times})"
    assert shut["n1"].until == 2 * HOUR == found.next_end(HOUR)
    assert not found.shut(2 * HOUR)


def test_a_node_whose_gpus_fall_sick_is_shut_and_the_last_fault_is_named() -> None:
    found = watch()
    for at, device in ((10, 3), (20, 3), (30, 5)):
        found.note(DeviceHealth(at, "n1", device, healthy=False, cause="Xid 79: it fell off"))
    assert found.shut(30)["n1"].why.startswith(
        "quarantined, as its GPUs fall sick, the last one: Xid 79: it fell off ("
    )


def test_programs_that_do_well_nowhere_shut_no_node_however_many_there_are() -> None:
    found = watch()
    for at in range(200):
        run(found, f"typo{at}", ["n1"], Outcome.FAILED, 10 * at)
        run(found, f"setup{at}", ["n1"], Outcome.START_FAILED, 10 * at + 5)
    assert not found.shut(3000)


def test_a_job_that_crashes_everywhere_shuts_no_node() -> None:
    found = watch()
    for at in range(200):
        run(found, "bad", [f"n{at % 4}"], Outcome.FAILED, 10 * at)
        run(found, "bad", [f"n{at % 4}"], Outcome.START_FAILED, 10 * at + 5)
    assert not found.shut(3000)


def test_a_machine_that_cannot_start_several_workloads_is_shut_and_the_last_fault_named() -> None:
    found = watch()
    run(found, "a", ["n2"], Outcome.START_FAILED, 10, "node")
    run(found, "a", ["n2"], Outcome.START_FAILED, 15, "node")
    assert not found.shut(16)
    run(found, "b", ["n2"], Outcome.START_FAILED, 20, "node")
    assert found.shut(30)["n2"].why.endswith(
        "start programs, the last time: said so (01-01 00:00 by a, 01-01 00:00 by b UTC)"
    )


def test_programs_that_fail_on_one_node_and_then_do_well_elsewhere_shut_it() -> None:
    found = watch()
    for at in range(8):
        assert not found.shut(100 * at)
        run(found, f"a{at}", ["n2"], Outcome.FAILED, 100 * at)
        run(found, f"a{at}", ["n1"], Outcome.SUCCEEDED, 100 * at + 50)
    assert [*found.shut(800)] == ["n2"]


def test_programs_that_do_well_again_where_they_failed_shut_nothing() -> None:
    found = watch()
    for at in range(60):
        run(found, f"a{at}", ["n2"], Outcome.FAILED, 100 * at)
        run(found, f"a{at}", ["n2"], Outcome.SUCCEEDED, 100 * at + 50)
    assert not found.shut(6000)


def test_a_node_on_which_proven_programs_of_many_users_fail_in_a_row_is_shut() -> None:
    found = watch()
    for at in range(6):
        run(found, f"good{at}", [f"n{at % 2}"], Outcome.SUCCEEDED, at, user=f"u{at % 3}")
    for at in range(6):
        run(found, "other", ["n3"], Outcome.SUCCEEDED, 95 + 10 * at)
        run(found, "other", ["n3"], Outcome.SUCCEEDED, 98 + 10 * at)
        run(found, f"good{at}", ["n2"], Outcome.FAILED, 100 + 10 * at, user=f"u{at % 3}")
    assert [*found.shut(200)] == ["n2"]


def test_what_one_user_has_broken_is_no_fault_of_a_node() -> None:
    found = watch()
    for at in range(30):
        run(found, f"good{at}", [f"n{at % 2}"], Outcome.SUCCEEDED, at, user="ann")
    for at in range(30):
        run(found, f"good{at}", ["n2"], Outcome.FAILED, 100 + 10 * at, user="ann")
        run(found, "other", ["n3"], Outcome.SUCCEEDED, 105 + 10 * at)
    assert not found.shut(1000)


def test_the_last_open_node_of_a_kind_is_never_shut() -> None:
    found = watch(8, Failures(1, HOUR, DAY, most_permille=1000))
    for name in ("a", "b"):
        found.note(NodeAdded(0, replace(node(name), devices=(Device("B200"),) * 8)))
    for at, name in ((10, "a"), (20, "b")):
        found.note(NodeLost(at, name))
        found.note(NodeAdded(at + 1, replace(node(name), devices=(Device("B200"),) * 8)))
    assert [*found.shut(30)] == ["a"]
    found.note(NodeCordoned(40, "n1", "fan broken"))
    for number in (2, 3, 4, 5, 6, 7, 0):
        lose(found, f"n{number}", 50)
    assert len(found.shut(60)) == 7
    assert "n0" not in found.shut(60)


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
