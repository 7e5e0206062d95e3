"""Records of clusters: each once, in order, whatever the network and the server do."""

from pathlib import Path
from random import Random

import pytest

from ganglion.api.reasons import WaitedFor
from ganglion.audit.export import rows_of
from ganglion.audit.placements import must_of, placements
from ganglion.audit.records import SCHEDULER, DecisionContext, WantedRecords, records
from ganglion.model.events import (
    Delivered,
    DeliveredEvent,
    DeliveryRecord,
    GangEnded,
    GangSubmitted,
    Outcome,
    ReasonsChanged,
    RecordLoss,
    RecordsLost,
    SchedulerSettled,
    WaitGroups,
)
from ganglion.model.policy import Policy
from ganglion.server.delivered.living import ClusterWord, living_detail
from ganglion.server.delivered.receive import receive
from ganglion.server.recovery.recover import replayed
from ganglion.server.recovery.verify import facts, verified
from ganglion.server.views.workloads import filed_detail
from tests.effort import sample
from tests.server.conftest import Rig
from tests.server.delivered.stories import (
    IMAGE,
    begun,
    ended,
    gang,
    placed,
    pulled,
    started,
    story,
    submitted,
    turns,
)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "home")


def deliver(
    rig: Rig, batch: tuple[DeliveryRecord, ...], scheduler: str = "s1", cluster: str = "east"
) -> int:
    return int(rig.do(lambda draft: receive(draft, cluster, scheduler, batch)))


def ledger_of(rig: Rig) -> list[DeliveredEvent]:
    return [
        event
        for cycle in rig.ledger.cycles(0)
        for event in (*cycle.incoming, *cycle.decisions)
        if isinstance(event, DeliveredEvent)
    ]


def said(batch: tuple[DeliveryRecord, ...]) -> list[tuple[int, Delivered]]:
    return [(each.number, event) for each in batch for event in (*each.facts, *each.decisions)]


def one_job() -> tuple[DeliveryRecord, ...]:
    return turns(
        ([*begun(1_000), SchedulerSettled(1_000)], []),
        ([submitted(2_000, "train")], [placed(3_000, "train", "n0", "n1")]),
        ([pulled(4_500, "train"), started(5_000, "train")], []),
        ([ended(9_000, "train")], []),
    )


@pytest.mark.parametrize("seed", sample(range(400), 12))
def test_each_record_is_in_the_ledger_once_and_in_order(rig: Rig, seed: int) -> None:
    """Batches are lost, repeated, overtaken, answered in vain; the server dies between them."""
    dice = Random(seed)
    whole = turns(*story(dice, 25, 1_000))
    known = 0
    while known < len(whole):
        begin = dice.randrange(max(known - 4, 0), min(known + 3, len(whole)))
        batch = list(whole[begin : begin + dice.randrange(1, 7)])
        dice.shuffle(batch)
        fate = dice.random()
        if fate < 0.15:
            continue  # lost on the way
        answer = deliver(rig, tuple(batch))
        assert answer >= known
        if fate < 0.3:
            rig.crash()  # and the answer is lost
            continue
        known = answer
    assert [(each.number, each.event) for each in ledger_of(rig)] == said(whole)
    assert verified(rig.ledger).sound


def test_a_gap_counts_as_the_numbers_that_it_accounts_for(rig: Rig) -> None:
    first, *_ = one_job()
    lost = DeliveryRecord(4, 4_000, (RecordsLost(4_000, RecordLoss.FULL, 3, 7),), covers=3)
    later = DeliveryRecord(5, 5_000, (submitted(5_000, "late"),))
    assert deliver(rig, (first, later)) == 1  # nothing says what is missing
    assert deliver(rig, (lost, later)) == 5
    gaps = [each.event for each in ledger_of(rig) if isinstance(each.event, RecordsLost)]
    assert gaps == [RecordsLost(4_000, RecordLoss.FULL, 3, 7)]
    with rig.service.read() as mind:
        assert mind.book.clusters.of["east"].lost == 3


def test_ended_work_of_a_cluster_is_in_the_history_by_its_name(rig: Rig) -> None:
    deliver(rig, one_job())
    row = rig.ledger.history.latest("train")
    assert row is not None
    assert (row.state, row.ended, row.workload.queue) == ("SUCCEEDED", 9_000, "east:team")
    shown = filed_detail(row)
    assert shown.document["cluster"] == "east"
    assert shown.document["owner"] == "Job train"
    assert shown.document["images"] == ["main/train: train@sha256:0a"]
    assert shown.gangs[0].placement is not None
    assert [pod.node for pod in shown.gangs[0].placement.pods] == ["n0", "n1"]
    spent = shown.spent
    assert spent is not None
    assert (spent.run_ms, spent.gpu_ms, spent.attempts) == (4_000, 12_000, 1)


def test_for_what_work_of_a_cluster_waited_is_in_its_history(rig: Rig) -> None:
    key = gang("train").id
    whole = turns(
        ([*begun(0), SchedulerSettled(0)], []),
        ([submitted(0, "train"), WaitGroups(0, {"1": (key,)})], []),
        ([ReasonsChanged(0, {"quota": (key,)})], []),
        ([WaitGroups(2_000, {})], []),
        ([], [placed(3_000, "train", "n0")]),
        ([ended(9_000, "train")], []),
    )
    deliver(rig, whole[:4])
    with rig.service.read() as mind:
        book = mind.book.clusters.of["east"]
    (waits,) = book.gangs.values()
    (known,) = living_detail("east", waits, ClusterWord(book.waits.said)).gangs
    assert known.waited == (WaitedFor(1, "quota", 2_000, 1, 2_000),)
    deliver(rig, whole[4:])
    row = rig.ledger.history.latest("train")
    assert row is not None
    shown = filed_detail(row)
    assert shown.gangs[0].waited == (WaitedFor(1, "quota", 3_000, 1, 3_000),)
    assert shown.spent and shown.spent.waited == {"quota": 3_000}


def test_an_attempt_that_runs_another_digest_of_its_image_says_so(rig: Rig) -> None:
    again = {"requeue": True}
    whole = turns(
        ([*begun(0), SchedulerSettled(0)], []),
        ([submitted(0, "train")], [placed(1_000, "train", "n0")]),
        ([pulled(1_500, "train")], []),
        ([ended(2_000, "train", Outcome.PREEMPTED, **again)], [placed(3_000, "train", "n1")]),
        ([pulled(3_500, "train"), pulled(3_500, "train", "sha256:0b")], []),
        ([pulled(3_600, "train", "sha256:0b")], []),  # as another pod of it reports
        ([ended(4_000, "train", Outcome.PREEMPTED, **again)], [placed(5_000, "train", "n1")]),
        ([pulled(5_500, "train"), ended(6_000, "train")], []),
    )
    deliver(rig, whole)
    row = rig.ledger.history.latest("train")
    assert row is not None
    found = [
        (each.at, each.attempt, change.name, change.before, change.after)
        for each in filed_detail(row).gangs[0].life
        for change in each.changes
    ]
    name = "image that main/train runs"
    assert found == [(3_500, 2, name, "train@sha256:0a", "train@sha256:0b")]


def test_equal_names_of_clusters_and_of_the_server_do_not_meet(rig: Rig) -> None:
    own = rig.submit("train")
    deliver(rig, one_job(), cluster="east")
    deliver(rig, one_job(), cluster="west")
    found = [e for e in rig.ledger.history.starting_with("train-") if e.ended]
    assert {each.workload.queue for each in found} == {"east:team", "west:team"}
    assert rig.state(own) in ("RUNNING", "STARTING")
    rig.crash()
    assert rig.state(own) in ("RUNNING", "STARTING")
    assert verified(rig.ledger).sound


def test_a_gang_that_waits_and_is_submitted_otherwise_is_no_ended_work(rig: Rig) -> None:
    whole = turns(
        (begun(1_000), []),
        ([submitted(2_000, "train")], []),
        (
            [
                GangEnded(3_000, gang("train").id, 0, Outcome.CANCELLED),
                submitted(3_000, "train", "other"),
            ],
            [],
        ),
    )
    deliver(rig, whole)
    assert rig.ledger.history.latest("train") is None
    with rig.service.read() as mind:
        assert mind.book.clusters.of["east"].gangs[gang("train").id].gang.queue == "other"


def test_what_ended_while_no_scheduler_looked_has_an_end_that_says_so(rig: Rig) -> None:
    deliver(
        rig,
        turns(
            ([*begun(1_000), SchedulerSettled(1_000)], []),
            (
                [submitted(2_000, "a"), submitted(2_000, "b")],
                [placed(3_000, "a", "n0"), placed(3_000, "b", "n1")],
            ),
        ),
    )
    again = turns(
        ([*begun(9_000, follows=("s1",)), submitted(9_000, "b"), placed(3_500, "b", "n1")], []),
        ([SchedulerSettled(10_000)], []),
    )
    deliver(rig, again, "s2")
    row = rig.ledger.history.latest("a")
    assert row is not None
    assert row.state == "CANCELLED"
    assert "s2" in filed_detail(row).message
    assert rig.ledger.history.latest("b") is None
    found = placements(rows_of(rig.ledger, 0), DecisionContext(policy=0), "", {}, 0, 0).stays
    assert [(each.gang, each.begin, each.end) for each in found] == [
        (gang("a").id, 3_000, 10_000),
        (gang("b").id, 3_000, 0),
    ]


def test_a_scheduler_that_vanished_with_its_outbox_leaves_a_gap(rig: Rig) -> None:
    deliver(rig, turns((begun(1_000), [])), "s1")
    deliver(rig, turns((begun(9_000), [])), "s2")
    gaps = [each.event for each in ledger_of(rig) if isinstance(each.event, RecordsLost)]
    assert [(each.scheduler, each.loss) for each in gaps] == [("s1", RecordLoss.UNKNOWN)]
    deliver(rig, turns((begun(11_000, ("s2",)), [])), "s3")
    assert len([e for e in ledger_of(rig) if isinstance(e.event, RecordsLost)]) == 1


def test_an_auditor_reads_what_clusters_decided(rig: Rig) -> None:
    deliver(rig, one_job())
    rows = list(rows_of(rig.ledger, 0))
    found = list(records(rows, DecisionContext(policy=0), WantedRecords(queue="east:org")))
    (decided,) = [each for each in found if each.kind == "gang_placed"]
    assert (decided.actor, decided.queue, decided.at) == (SCHEDULER, "east:team", 3_000)
    assert (decided.policy, decided.software, decided.cluster) == (4, "1.2.3", "east")
    assert (decided.image, decided.owner) == (IMAGE, "Job train")
    assert {each.kind: each.ran for each in found if each.at > 4_000} == dict.fromkeys(
        ("images_reported", "gang_started", "gang_ended"), "main/train: train@sha256:0a"
    )
    assert decided.ran == ""  # nothing was pulled by then
    stays = placements(rows, DecisionContext(policy=0), "east:", must_of(["region=eu"]), 0, 0)
    assert [(each.node, each.broken) for each in stays.stays] == [
        ("n0", ()),
        ("n1", ("region=us",)),
    ]
    assert {each.cluster for each in stays.stays} == {"east"}
    assert {each.ran for each in stays.stays} == {"main/train: train@sha256:0a"}
    assert not placements(rows, DecisionContext(policy=0), "west:", {}, 0, 0).stays


def test_a_replay_and_a_snapshot_give_the_same_books(rig: Rig) -> None:
    dice = Random(7)
    deliver(rig, turns(*story(dice, 30, 1_000))[:20])
    with rig.service.read() as mind:
        here = facts(mind)
    assert facts(replayed(rig.ledger, Policy()))["clusters"] == here["clusters"]
    rig.service.stop()
    rig.crash()
    with rig.service.read() as mind:
        assert facts(mind)["clusters"] == here["clusters"]


def test_an_event_of_a_cluster_makes_no_decision_of_the_server(rig: Rig) -> None:
    deliver(rig, one_job())
    with rig.service.read() as mind:
        assert not mind.state.gangs.records
        assert set(mind.state.fleet.nodes) == {"n0", "n1"}  # its own
    assert not any(
        isinstance(event, GangSubmitted)
        for cycle in rig.ledger.cycles(0)
        for event in cycle.incoming
    )


def test_a_ledger_in_postgresql_keeps_clusters_as_one_in_a_file_does(
    tmp_path: Path, database: str
) -> None:
    rig = Rig(tmp_path / "home", database=database)
    own = rig.submit("train")
    deliver(rig, one_job(), cluster="east")
    deliver(rig, one_job(), cluster="west")
    rig.crash()
    assert deliver(rig, one_job(), cluster="west") == 4
    found = [each for each in rig.ledger.history.starting_with("train-") if each.ended]
    assert {each.workload.queue for each in found} == {"east:team", "west:team"}
    assert rig.state(own) in ("RUNNING", "STARTING")
    assert verified(rig.ledger).sound
    rig.ledger.close()
