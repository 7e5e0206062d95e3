"""Services follow their load, drain before they stop, and survive whatever happens meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ganglion.lifecycle.autoscaling.memory import Memory
from ganglion.lifecycle.autoscaling.reconciler import KEEP_MS
from ganglion.model.errors import Conflict, FieldError
from ganglion.model.events import GangSubmitted, Outcome, ServiceLearnt
from ganglion.router.balancing.table import RoutingState
from ganglion.server.commands import live
from ganglion.server.commands.scale import ReplicaSpan, scale
from ganglion.server.views.workloads import detail, view
from tests.server.services import BRISK, Parlour


@pytest.fixture
def parlour(tmp_path: Path) -> Iterator[Parlour]:
    made = Parlour(tmp_path / "home")
    yield made
    made.rig.ledger.close()


def _scaling(parlour: Parlour, replicas: str = "1..4", **scale_: object) -> str:
    return parlour.submit(replicas=replicas, scale={"targets": {"requests": 2}, **BRISK, **scale_})


def memory_of(parlour: Parlour) -> Memory:
    found = parlour.keeper.reconciler.memory("chat-1")
    assert found
    return found


def test_it_has_as_many_replicas_as_its_load_asks_for(parlour: Parlour) -> None:
    _scaling(parlour)
    assert parlour.running() == ["chat-1/0"]
    parlour.load(0, 8, 8)
    assert len(parlour.running()) == 4
    parlour.load(0, 1, 12)
    assert len(parlour.running()) == 1
    assert [after for _, after in parlour.scalings()][-1] == 1


def test_the_router_is_told_of_every_replica_that_runs(parlour: Parlour) -> None:
    _scaling(parlour)
    assert parlour.door.endpoints("chat") == {"chat-1/0": RoutingState.STARTING}
    parlour.load(0, 8, 8)
    assert len(parlour.door.endpoints("chat")) == 4


def test_one_that_goes_gets_nothing_new_and_is_stopped_when_it_is_done(parlour: Parlour) -> None:
    _scaling(parlour, drain="1h")
    parlour.load(0, 8, 8)
    parlour.door.held = set(parlour.running())
    parlour.load(0, 1, 30)
    assert len(parlour.running()) == 4
    states = parlour.door.endpoints("chat")
    going = sorted(gang for gang, state in states.items() if state is RoutingState.DRAINING)
    assert len(going) == 3
    assert parlour.rig.machine.stops == []
    parlour.door.held.discard(going[0])
    parlour.load(0, 1, 1)
    assert [gang for gang, *_ in parlour.rig.machine.stops] == [going[0]]
    assert going[0] not in parlour.door.endpoints("chat")


def test_a_drain_ends_with_its_time(parlour: Parlour) -> None:
    _scaling(parlour, drain="20s")
    parlour.load(0, 8, 8)
    parlour.door.held = set(parlour.running())
    parlour.load(0, 1, 45)
    assert len(parlour.running()) == 1
    assert all(
        str(cause) == "cancelled: scaled down" for _, _, cause, _ in parlour.rig.machine.stops
    )


def test_a_drain_goes_on_after_a_crash(parlour: Parlour) -> None:
    _scaling(parlour, drain="1h")
    parlour.load(0, 8, 8)
    parlour.door.held = set(parlour.running())
    parlour.load(0, 1, 30)
    before = parlour.door.endpoints("chat")
    parlour.door.table.clear()
    parlour.rig.crash()
    parlour.load(0, 1, 1)
    assert parlour.door.endpoints("chat") == before
    parlour.door.held.clear()
    parlour.load(0, 1, 5)
    assert len(parlour.running()) == 1


def test_after_a_crash_it_has_the_replicas_it_had(parlour: Parlour) -> None:
    _scaling(parlour, hold_down="1h")
    parlour.load(0, 8, 8)
    running, changes = parlour.running(), parlour.scalings()
    parlour.rig.crash()
    parlour.load(0, 1, 30)
    assert (parlour.running(), parlour.scalings()) == (running, changes)


def test_load_that_comes_back_during_a_drain_starts_nothing_new(parlour: Parlour) -> None:
    _scaling(parlour, drain="1h")
    parlour.load(0, 8, 8)
    parlour.door.held = set(parlour.running())
    parlour.load(0, 1, 30)
    begun = len(parlour.rig.machine.began)
    parlour.load(0, 8, 8)
    assert len(parlour.rig.machine.began) == begun
    assert set(parlour.door.endpoints("chat").values()) == {RoutingState.STARTING}


def test_a_replica_that_crashes_while_it_drains_is_not_started_again(parlour: Parlour) -> None:
    _scaling(parlour, drain="1h")
    parlour.load(0, 8, 8)
    parlour.door.held = set(parlour.running())
    parlour.load(0, 1, 30)
    going = [
        g for g, state in parlour.door.endpoints("chat").items() if state is RoutingState.DRAINING
    ]
    parlour.rig.machine.end(going[0], Outcome.FAILED, 1)
    parlour.load(0, 1, 5)
    assert going[0] not in parlour.running()
    assert parlour.rig.machine.began.count((going[0], 2)) == 0


def test_numbers_of_replicas_are_never_given_twice(parlour: Parlour) -> None:
    _scaling(parlour)
    for _ in range(4):
        parlour.load(0, 8, 6)
        parlour.load(0, 1, 12)
        parlour.rig.crash()
    gangs = [e.gang.id for e in parlour.rig.ledger.replay() if isinstance(e, GangSubmitted)]
    assert len(gangs) > 4
    assert len(set(gangs)) == len(gangs)
    indexes = [int(gang.rpartition("/")[2]) for gang in gangs]
    assert indexes == list(range(len(gangs)))


def test_replicas_that_left_are_forgotten_after_a_while_but_not_what_they_cost(
    parlour: Parlour,
) -> None:
    job = _scaling(parlour)
    for _ in range(6):
        parlour.load(0, 8, 6)
        parlour.load(0, 1, 12)
    with parlour.rig.service.read() as mind:
        kept = [gang for gang in mind.book.gangs[job] if mind.book.replicas.has_left(gang)]
        line = view(mind, job, {})
        assert set(mind.state.gangs.records) == set(mind.book.gangs[job])
    assert len(kept) == 10
    assert (line.gangs, line.running, line.failed) == (1, 1, 0)
    assert parlour.rig.state(job) == "RUNNING"


def test_it_sleeps_and_the_first_request_wakes_it(parlour: Parlour) -> None:
    job = _scaling(parlour, "0..4", zero_after="5s")
    assert (parlour.running(), parlour.rig.state(job)) == ([], "SUSPENDED")
    parlour.load(1, 0, 2)
    assert parlour.running() == ["chat-1/0"]
    parlour.load(0, 1, 3)
    parlour.load(0, 0, 30)
    assert (parlour.running(), parlour.rig.state(job)) == ([], "SUSPENDED")
    parlour.rig.crash()
    assert parlour.rig.state(job) == "SUSPENDED"
    parlour.load(1, 0, 2)
    assert len(parlour.running()) == 1


def test_cancelling_ends_it_whole_even_asleep(parlour: Parlour) -> None:
    job = _scaling(parlour, "0..4")
    parlour.rig.do(lambda draft: live.cancel(draft, job, "ada"))
    parlour.load(1, 0, 3)
    assert (parlour.running(), parlour.rig.state(job)) == ([], "CANCELLED")


def test_a_cancelled_service_does_not_come_back_under_load(parlour: Parlour) -> None:
    job = _scaling(parlour)
    parlour.load(0, 8, 6)
    parlour.rig.machine.lingering = True
    parlour.rig.do(lambda draft: live.cancel(draft, job, "ada"))
    parlour.load(0, 8, 6)
    assert len(parlour.rig.machine.began) == 4
    parlour.rig.machine.leave()
    parlour.load(0, 8, 3)
    assert (parlour.running(), parlour.rig.state(job)) == ([], "CANCELLED")


def test_a_held_service_stays_as_it_is(parlour: Parlour) -> None:
    job = parlour.submit(replicas="1..4", hold=True, scale={"targets": {"requests": 2}, **BRISK})
    parlour.load(8, 0, 5)
    assert (parlour.running(), parlour.scalings()) == ([], [])
    assert parlour.rig.state(job) == "QUEUED"


def test_a_router_that_falls_silent_holds_it_and_raises_an_alarm(parlour: Parlour) -> None:
    _scaling(parlour)
    parlour.load(0, 8, 8)
    parlour.door.silent = True
    parlour.pass_(60)
    assert len(parlour.running()) == 4
    assert list(parlour.alarms()) == ["metrics.lost"]
    parlour.door.silent = False
    parlour.load(0, 8, 3)
    assert parlour.alarms() == {}
    assert parlour.raised() == [("metrics.lost", True), ("metrics.lost", False)]


def test_a_router_that_cannot_start_is_told_about(parlour: Parlour) -> None:
    parlour.door.trouble = "port 7078 is in use"
    _scaling(parlour)
    assert parlour.alarms()["router.down"] == "services cannot be reached: port 7078 is in use"
    parlour.door.trouble = ""
    parlour.load(0, 1, 2)
    assert "router.down" not in parlour.alarms()


def test_a_drain_without_a_router_ends_with_its_time(parlour: Parlour) -> None:
    _scaling(parlour, drain="20s")
    parlour.load(0, 8, 8)
    parlour.door.held = set(parlour.running())
    parlour.load(0, 1, 10)
    parlour.door.silent = True
    parlour.pass_(30)
    assert len(parlour.running()) == 1


def test_nobody_takes_the_seat_of_a_replica_that_ended_for_good(parlour: Parlour) -> None:
    job = parlour.submit(
        replicas="2..4", retry={"limit": 1}, scale={"targets": {"requests": 2}, **BRISK}
    )
    for _ in range(2):
        parlour.rig.machine.end(f"{job}/0", Outcome.FAILED, 9)
        parlour.load(0, 1, 5)
    assert parlour.running() == ["chat-1/1"]
    message = parlour.alarms()["replicas.failed"]
    assert message.startswith("1 replica ended for good: ")


def test_a_number_by_hand_holds_for_a_service_that_does_not_scale(parlour: Parlour) -> None:
    job = parlour.submit(replicas=2)
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(4), "ada"))
    parlour.pass_(1)
    assert len(parlour.running()) == 4
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(1), "ada"))
    parlour.pass_(1)
    assert parlour.running() == ["chat-1/0"]
    assert parlour.scalings() == [(2, 4), (4, 1)]
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(0), "ada"))
    parlour.pass_(1)
    assert (parlour.running(), parlour.rig.state(job)) == ([], "SUSPENDED")
    assert not parlour.door.table["chat"].wakes
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(1), "ada"))
    parlour.pass_(1)
    assert len(parlour.running()) == 1


def test_new_bounds_hold_at_once(parlour: Parlour) -> None:
    job = _scaling(parlour)
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(3, 6), "ada"))
    parlour.load(0, 1, 10)
    assert len(parlour.running()) == 3
    with parlour.rig.service.read() as mind:
        assert {mind.state.gangs.records[gang].gang.floor for gang in mind.book.gangs[job]} == {3}
    parlour.rig.crash()
    parlour.load(0, 20, 8)
    assert len(parlour.running()) == 6


@pytest.mark.parametrize(
    ("span", "match"),
    [
        (ReplicaSpan(9), "9 replicas of chat are above its ceiling of 4"),
        (ReplicaSpan(0), "0 replicas of chat are below its floor of 1"),
        (ReplicaSpan(-1), "cannot be"),
        (ReplicaSpan(3, 2), "the ceiling is 2"),
        (ReplicaSpan(0, 0), "the ceiling is 0"),
        (ReplicaSpan(1, 1_000_000), "cannot be"),
    ],
)
def test_numbers_without_sense_are_refused(parlour: Parlour, span: ReplicaSpan, match: str) -> None:
    job = _scaling(parlour)
    with pytest.raises(FieldError, match=match):
        parlour.rig.do(lambda draft: scale(draft, job, span, "ada"))


def test_only_services_have_replicas(parlour: Parlour) -> None:
    parlour.rig.submit("train")
    with pytest.raises(Conflict, match="is no service"):
        parlour.rig.do(lambda draft: scale(draft, "train", ReplicaSpan(2), "ada"))


def test_its_view_says_how_it_scales_and_where_it_is_reached(parlour: Parlour) -> None:
    job = _scaling(parlour)
    parlour.load(0, 8, 8)
    with parlour.rig.service.read() as mind:
        shown = detail(mind, job, {}, {}, parlour.door.url)
    assert shown.url == "http://door/chat/"
    assert shown.scaling is not None
    assert (shown.scaling.floor, shown.scaling.ceiling, shown.scaling.wanted) == (1, 4, 4)
    assert "requests" in shown.scaling.cause


def test_a_service_without_a_port_scales_without_the_router(parlour: Parlour) -> None:
    job = parlour.submit(replicas=3, port=None)
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(1), "ada"))
    parlour.pass_(1)
    assert (len(parlour.running()), parlour.door.table) == (1, {})


def test_load_that_is_known_beforehand_is_prepared_for(parlour: Parlour) -> None:
    # The clock of these tests begins with the year 1970.
    hint = {"cron": "0 0 1 1 *", "lasts": "1m", "replicas": 3}
    _scaling(parlour, hints=[hint])
    parlour.load(0, 1, 5)
    assert len(parlour.running()) == 3
    parlour.load(0, 1, 60)
    assert len(parlour.running()) == 1


def test_what_happens_to_others_is_no_work(parlour: Parlour) -> None:
    parlour.submit(replicas=2)
    asked = parlour.door.asked
    for number in range(5):
        parlour.rig.submit(f"train{number}")
        parlour.pass_(0.3)
    assert parlour.door.asked == asked
    parlour.rig.machine.end("chat-1/0", Outcome.FAILED, 1)
    parlour.pass_(0.3)
    assert parlour.door.asked > asked


def test_a_service_that_begins_to_scale_is_looked_after(parlour: Parlour) -> None:
    job = parlour.submit(replicas=1)
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(0, 6), "ada"))
    parlour.load(0, 6, 90)
    assert len(parlour.running()) == 6


def test_how_long_replicas_take_to_start_is_learnt(parlour: Parlour) -> None:
    _scaling(parlour)
    parlour.door.unready = {f"chat-1/{index}" for index in range(1, 4)}
    parlour.load(0, 8, 8)
    parlour.door.unready.clear()
    parlour.load(0, 8, 3)
    took = memory_of(parlour).started_ms
    assert len(took) == 4
    assert all(5_000 < each < 12_000 for each in took[1:])
    parlour.rig.crash()
    parlour.load(0, 8, 3)
    # Replicas that are found ready may have been so for days: they add nothing.
    assert memory_of(parlour).started_ms == took


def test_what_was_learnt_of_late_and_long_requests_survives_a_restart(parlour: Parlour) -> None:
    _scaling(parlour, start_within="10s")
    parlour.load(0, 1, 2)
    memory = memory_of(parlour)
    assert memory.promise
    memory.promise.spare_micro, memory.promise.weight = 2_750_000, 5_000
    memory.passed.done, memory.passed.ran = 200_000, 700_000_000
    parlour.rig.machine.time += KEEP_MS
    parlour.load(0, 1, 2)
    kept = [each for each in parlour.rig.ledger.replay() if isinstance(each, ServiceLearnt)]
    assert len(kept) <= 5  # one for each start, one for what drifted
    assert kept[-1].spare_micro == 2_750_000
    assert kept[-1].done > 0
    parlour.rig.crash()
    parlour.load(0, 1, 0.2)
    again = memory_of(parlour)
    assert again.promise
    assert again.promise.spare_micro == 2_750_000
    assert again.started_ms == [*kept[-1].started_ms]
    assert (again.passed.done, again.passed.ran) == (kept[-1].done, kept[-1].ran)


def test_a_number_by_hand_holds_for_the_hold_down_and_a_restart_and_then_load_counts(
    parlour: Parlour,
) -> None:
    job = _scaling(parlour, hold_down="60s")
    parlour.load(0, 1, 5)
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(3), "ada"))
    parlour.load(0, 1, 30)
    assert len(parlour.running()) == 3
    parlour.rig.crash()
    parlour.load(0, 8, 25)
    assert len(parlour.running()) == 3
    parlour.load(0, 8, 20)
    assert len(parlour.running()) == 4


def test_fewer_by_hand_than_load_asks_for_hold_too_and_new_bounds_end_that(
    parlour: Parlour,
) -> None:
    job = _scaling(parlour, hold_down="60s")
    parlour.load(0, 8, 8)
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(2), "ada"))
    parlour.load(0, 8, 30)
    assert len(parlour.running()) == 2
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(1, 5), "ada"))
    parlour.load(0, 8, 10)
    assert len(parlour.running()) == 4


@pytest.mark.parametrize("wanted", [0, 9])
def test_a_number_beyond_the_bounds_is_answered_with_a_command_that_works(
    parlour: Parlour, wanted: int
) -> None:
    job = _scaling(parlour)
    with pytest.raises(FieldError) as caught:
        parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(wanted), "ada"))
    low, high = caught.value.hint.rpartition(" ")[2].split("..")
    assert caught.value.hint.startswith("move the ")
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(int(low), int(high)), "ada"))
    parlour.rig.do(lambda draft: scale(draft, job, ReplicaSpan(wanted), "ada"))
