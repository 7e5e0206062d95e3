from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch, Changed, Ended, Submitted
from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import (
    Event,
    GangEnded,
    GangPlaced,
    GangStarted,
    GangSubmitted,
    NodeAdded,
    NodeLost,
    Outcome,
    PolicySet,
)
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.policy import Policy
from ganglion.model.workload import Gang, Kind, Workload

Target = str | Path


def life(gang: str, at: int = 1) -> list[Event]:
    place = Placement((PodPlacement("main", 0, "n0", (0,), 1000),), Level.NODE, "n0")
    return [
        GangSubmitted(at, Gang(gang, gang.rpartition("/")[0], "default", submitted=at)),
        GangPlaced(at, gang, 1, place),
        GangStarted(at, gang, 1),
        GangEnded(at, gang, 1, Outcome.FAILED, requeue=False, exit_code=3, message="ünïcode \0"),
    ]


def submitted(ledger: Ledger, name: str, **others: object) -> Submitted:
    number = ledger.next_number()
    workload = Workload(name, queue="team", user="ada", kind=Kind.BATCH)
    return Submitted(f"{name}-{number}", number, 5, b"{}", workload, **others)  # type: ignore[arg-type]


def test_a_new_ledger_is_empty(ledger: Ledger) -> None:
    assert (ledger.head, ledger.cycle) == (0, 0)
    assert list(ledger.replay()) == []
    assert ledger.history.live() == []


def test_the_newest_event_of_a_sort_is_found_without_reading_all(ledger: Ledger) -> None:
    assert ledger.newest(PolicySet) is None
    ledger.append(Batch(1, [PolicySet(1, Policy(), 1), *life("a-1/0")]))
    ledger.append(Batch(2, [PolicySet(2, Policy(strict=True), 2, text="strict: true")]))
    ledger.append(Batch(3, life("b-2/0", 3)))
    assert ledger.newest(PolicySet) == PolicySet(2, Policy(strict=True), 2, text="strict: true")


def test_events_come_back_as_they_were_and_in_order(ledger: Ledger) -> None:
    node = Node("n0", 8000, 1024, (Device("H100"),), {Level.RACK: "r1"})
    first, second = [NodeAdded(0, node), *life("a-1/0")], life("b-2/0", 2)
    ledger.append(Batch(1, first))
    ledger.append(Batch(2, second[:2], second[2:]))
    assert list(ledger.replay()) == [*first, *second]
    assert [(c.number, c.at, c.incoming, c.decisions) for c in ledger.cycles()] == [
        (1, 1, first, []),
        (2, 2, second[:2], second[2:]),
    ]


def test_numbers_have_no_gaps_even_across_a_restart(target: Target) -> None:
    for _ in range(3):
        ledger = Ledger.open(target)
        ledger.append(Batch(1, life("a-1/0")))
        ledger.append(Batch(1, life("b-2/0")))
        ledger.close()
    ledger = Ledger.open(target)
    entries = ledger.events(limit=100)
    ledger.close()
    assert [entry.seq for entry in entries] == list(range(1, 25))
    assert sorted({entry.cycle for entry in entries}) == list(range(1, 7))
    assert entries[0].kind == "gang_submitted"


def test_reading_on_from_a_number_gives_what_follows(ledger: Ledger) -> None:
    written = ledger.append(Batch(1, life("a-1/0")))
    assert ledger.events(after=2) == written[2:]
    assert ledger.events(after=1, limit=1) == written[1:2]
    assert ledger.events(after=4) == []


def test_a_cycle_is_written_whole_or_not_at_all(ledger: Ledger) -> None:
    ledger.append(Batch(1, life("a-1/0"), submitted=[submitted(ledger, "a")]))
    twice = replace(submitted(ledger, "a"), id="a-1")  # two workloads of one id
    with pytest.raises(EnvironmentFault):
        ledger.append(Batch(2, life("a-2/0"), submitted=[twice]))
    ledger.refresh()
    assert (ledger.head, ledger.cycle) == (4, 1)
    assert [each.id for each in ledger.history.live()] == ["a-1"]
    assert ledger.append(Batch(3, life("c-2/0")))[0].seq == 5


def test_the_number_of_a_workload_that_was_not_written_is_given_again(ledger: Ledger) -> None:
    assert ledger.next_number() == 1
    assert ledger.next_number() == 2
    ledger.refresh()
    new = submitted(ledger, "a")
    ledger.append(Batch(1, submitted=[new]))
    ledger.refresh()
    assert (new.number, ledger.next_number()) == (1, 2)


def test_workloads_live_change_and_end(ledger: Ledger) -> None:
    a, b = submitted(ledger, "a"), submitted(ledger, "b", request_key="k1", request_hash="h")
    ledger.append(Batch(1, submitted=[a, b]))
    moved = Workload("a", queue="other", user="ada", kind=Kind.BATCH)
    ledger.append(Batch(2, changed=[Changed("a-1", moved)]))
    ledger.append(Batch(3, ended=[Ended("b-2", 9, "FAILED", b'{"x":1}')]))
    live = ledger.history.live()
    assert [(each.id, each.workload, each.ended) for each in live] == [("a-1", moved, None)]
    ended = ledger.history.ended(below=100, limit=10)
    assert [(e.id, e.ended, e.state, e.detail) for e in ended] == [("b-2", 9, "FAILED", b'{"x":1}')]
    found = ledger.history.by_requests(["k1"])["k1"]
    assert found is not None
    assert (found.id, found.request_hash) == ("b-2", "h")


def test_ended_workloads_are_found_newest_first_by_page_and_by_column(ledger: Ledger) -> None:
    news = [submitted(ledger, f"w{i}") for i in range(5)]
    ends = [Ended(new.id, 9, "SUCCEEDED", b"{}") for new in news]
    ledger.append(Batch(1, submitted=news, ended=ends))
    page = ledger.history.ended(below=1 << 62, limit=2, queue=["team"], kind=["batch"])
    assert [each.number for each in page] == [5, 4]
    page = ledger.history.ended(below=4, limit=9, user=["ada"])
    assert [each.number for each in page] == [3, 2, 1]
    assert ledger.history.ended(below=9, limit=9, queue=["nobody"]) == []


def test_workloads_are_found_by_id_latest_name_and_prefix(ledger: Ledger) -> None:
    first = submitted(ledger, "a")
    ledger.append(Batch(1, submitted=[first], ended=[Ended(first.id, 1, "FAILED", b"{}")]))
    second, other = submitted(ledger, "a"), submitted(ledger, "a_b")
    ledger.append(Batch(2, submitted=[second, other]))
    latest, by_id = ledger.history.latest("a"), ledger.history.by_id("a-1")
    assert latest is not None
    assert by_id is not None
    assert (latest.id, by_id.id) == ("a-2", "a-1")
    assert [each.id for each in ledger.history.starting_with("a-")] == ["a-2", "a-1"]
    assert [each.id for each in ledger.history.starting_with("a_")] == ["a_b-3"]
    assert ledger.history.by_id("nope") is None


def test_a_second_server_on_one_ledger_is_refused_and_may_follow(target: Target) -> None:
    first = Ledger.open(target)
    with pytest.raises(EnvironmentFault, match="in use by another server"):
        Ledger.open(target)
    first.append(Batch(1, life("a-1/0")))
    first.close()
    second = Ledger.open(target)
    assert second.head == 4
    second.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    opened = Ledger.open(tmp_path_factory.mktemp("shared") / "ledger.db")
    yield opened
    opened.close()


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(
        st.lists(st.builds(NodeLost, st.integers(0, 2**53), st.text(max_size=20)), max_size=4),
        max_size=4,
    )
)
def test_any_events_come_back_whatever_their_text(
    shared: Ledger, batches: list[list[Event]]
) -> None:
    before = shared.head
    for events in batches:
        shared.append(Batch(1, [], events))
    expected = [event for events in batches for event in events]
    assert list(shared.replay())[before:] == expected
