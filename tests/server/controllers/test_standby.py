"""Replicas that stand by: there are as many as asked for, and they come before cold starts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ganglion.model.events import NodeCordoned, Outcome
from ganglion.model.plan import Phase
from ganglion.server.commands import live
from tests.server.services import BRISK, Parlour


@pytest.fixture
def parlour(tmp_path: Path) -> Iterator[Parlour]:
    made = Parlour(tmp_path)
    yield made
    made.rig.ledger.close()


def _service(parlour: Parlour, replicas: str = "1..4", standby: object = 1, gpus: int = 4) -> str:
    scale = {"targets": {"requests": 2}, "standby": standby, **BRISK}
    return parlour.submit(replicas=replicas, scale=scale, resources={"gpus": gpus})


def _asleep(parlour: Parlour) -> list[str]:
    with parlour.rig.service.read() as mind:
        return [
            gang
            for gang, record in mind.state.gangs.records.items()
            if record.gang.recall_ms and record.phase is Phase.PENDING
        ]


def _kept(parlour: Parlour) -> list[str]:
    with parlour.rig.service.read() as mind:
        return [each.record.gang.id for each in mind.state.timeline.kept]


def test_replicas_stand_by_with_a_place_within_the_ceiling(parlour: Parlour) -> None:
    _service(parlour, "1..3", standby={"replicas": 3, "notice": "30s"})
    assert parlour.running() == ["chat-1/0"]
    assert _asleep(parlour) == _kept(parlour) == ["chat-1/1", "chat-1/2"]


def test_under_load_those_that_stand_by_come_first_and_others_take_their_seats(
    parlour: Parlour,
) -> None:
    _service(parlour, standby=1)
    parlour.load(0, 3, 8)
    assert parlour.running() == ["chat-1/0", "chat-1/1"]
    assert _asleep(parlour) == ["chat-1/2"]
    parlour.load(0, 8, 8)
    assert len(parlour.running()) == 4 and _asleep(parlour) == []
    parlour.load(0, 1, 20)
    assert len(parlour.running()) == 1 and len(_asleep(parlour)) == 1


def test_their_places_are_lent_and_called_back(parlour: Parlour) -> None:
    _service(parlour, gpus=8)
    assert _kept(parlour) == ["chat-1/1"]
    train = parlour.rig.submit(
        "train", resources={"gpus": 8}, checkpoint={"interval": "10m", "grace": "5s"}
    )
    parlour.pass_(1)
    assert parlour.running() == ["chat-1/0", f"{train}/0"]
    other = parlour.rig.submit("other", resources={"gpus": 8})
    parlour.pass_(1)
    assert f"{other}/0" not in parlour.running()
    parlour.load(0, 3, 8)
    assert (f"{train}/0", "recalled for chat-1/1") in [
        (gang, str(cause)) for gang, _, cause, *_ in parlour.rig.machine.stops
    ]
    assert parlour.running() == ["chat-1/0", "chat-1/1"]


def test_they_stand_by_after_a_crash(parlour: Parlour) -> None:
    _service(parlour)
    asleep = _asleep(parlour)
    parlour.rig.crash()
    parlour.pass_(2)
    assert _asleep(parlour) == _kept(parlour) == asleep


def test_an_alarm_says_that_a_replica_has_no_place(parlour: Parlour) -> None:
    _service(parlour, gpus=8, replicas="2..4")
    assert len(parlour.running()) == 2
    parlour.pass_(12)
    assert parlour.alarms()["recall.at_risk"] == "1 of 1 replicas that stand by have no place"


def test_the_alarm_goes_with_the_last_replica_that_stands_by(parlour: Parlour) -> None:
    _service(parlour, gpus=8, replicas="2..3")
    parlour.pass_(12)
    assert "recall.at_risk" in parlour.alarms()
    parlour.load(0, 8, 8)
    assert _asleep(parlour) == []
    assert "recall.at_risk" not in parlour.alarms()


def test_a_replica_that_finds_no_place_changes_its_part_with_one_that_stands_by(
    parlour: Parlour,
) -> None:
    job = _service(parlour, gpus=8)
    (asleep,) = _asleep(parlour)
    rig = parlour.rig
    with rig.service.read() as mind:
        placement = mind.state.gangs.records[f"{job}/0"].placement
    assert placement
    rig.do(lambda draft: draft.apply(NodeCordoned(draft.now, placement.pods[0].node, "sick")))
    rig.machine.end(f"{job}/0", Outcome.NODE_LOST)
    parlour.pass_(3)
    assert parlour.running() == [asleep]
    assert _asleep(parlour) == [f"{job}/0"]


def test_a_service_that_is_cancelled_leaves_nobody_standing_by(parlour: Parlour) -> None:
    job = _service(parlour)
    parlour.rig.do(lambda draft: live.cancel(draft, job, "ada"))
    parlour.pass_(3)
    assert _asleep(parlour) == [] == _kept(parlour)
    assert parlour.rig.state(job) == "CANCELLED"
