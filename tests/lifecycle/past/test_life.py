"""Marks of a gang's life: what they say, how many are kept, and what differs."""

from ganglion.lifecycle.cluster_gangs import DeliveredGang, asked_milli
from ganglion.lifecycle.past.changes import GangChange
from ganglion.lifecycle.past.life import KEPT, GangLife, LifeKind, LifeMark
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import (
    CheckpointCommitted,
    GangEnded,
    GangPlaced,
    GangResized,
    GangStarted,
    GangUpdated,
    Outcome,
)
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import SavePoint
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet

G = "e-1/0"


def place(*nodes: str) -> Placement:
    pods = (PodPlacement("main", n, node, (n,), 1000) for n, node in enumerate(nodes))
    return Placement(tuple(pods))


def test_sizes_are_said_from_and_to_with_the_cause() -> None:
    life, why = GangLife(attempt=1), Cause(CauseKind.FEWER_WANTED)
    life.take(GangResized(5, G, 1, place("n0"), why), place("n0", "n1", "n2"))
    life.take(GangResized(6, G, 1, place("n1")), place("n0"))  # it moved, and is as large
    pods, gpus = GangChange("pods of main", "3", "1"), GangChange("GPUs", "3", "1")
    assert life.marks == (LifeMark(5, LifeKind.RESIZED, 1, changes=(pods, gpus), cause=why),)


def test_an_attempt_names_the_checkpoint_that_it_got() -> None:
    life = GangLife()
    life.take(GangPlaced(1, G, 1, place("n0")))
    life.take(CheckpointCommitted(2, G, 1, 40, "/ck/40"))
    life.take(GangPlaced(3, G, 2, place("n0")), saved=(SavePoint(2, 40, "/ck/40", 1),))
    assert life.marks == (
        LifeMark(2, LifeKind.CHECKPOINT, 1, 40, "/ck/40"),
        LifeMark(3, LifeKind.RESUMED, 2, 40, "/ck/40", 1),
    )


def test_an_attempt_that_did_not_get_the_newest_checkpoint_does_not_claim_it() -> None:
    life = GangLife()
    life.miss("nothing went on yet")
    life.take(GangPlaced(3, G, 2, place("n0")), saved=(SavePoint(2, 40, "/ck/40", 1),))
    life.take(CheckpointCommitted(4, G, 2, 1))
    life.miss("step 40 is gone: attempt 2 starts over")
    resumed, saved = life.marks
    assert (resumed.saved_by, resumed.step, resumed.path, saved.step) == (0, 0, "", 1)
    assert resumed.missing == "step 40 is gone: attempt 2 starts over"


def test_of_many_checkpoints_the_newest_stay_and_push_nothing_else_out() -> None:
    life = GangLife.of(Gang(G, "e-1", "team"))
    life.take(GangUpdated(0, G, priority=80))
    for at in range(1, KEPT + 4):
        life.take(CheckpointCommitted(at, G, 1, at))
    assert (len(life.marks), life.left_out) == (KEPT + 1, 3)
    assert [each.step for each in life.marks[:2]] == [0, 4]
    assert life.marks[-1].step == KEPT + 3


def test_an_update_says_what_was_before() -> None:
    elastic = PodSet(count=4, min_count=1)
    life = GangLife.of(Gang(G, "e-1", "team", pod_sets=(elastic,), time_limit_ms=60_000))
    life.take(GangUpdated(1, G, priority=80, queue="other", time_limit_ms=0))
    life.take(GangUpdated(2, G, counts={"main": 8}))
    life.take(GangUpdated(3, G, priority=80, held=True))  # nothing of this is asked otherwise
    life.take(GangUpdated(4, G, priority=90, escalated=True))
    assert [(each.at, each.changes) for each in life.marks] == [
        (
            1,
            (
                GangChange("priority", "50", "80"),
                GangChange("queue", "team", "other"),
                GangChange("time_limit_ms", "60000", ""),
            ),
        ),
        (2, (GangChange("pods of main", "4", "8"),)),
        (4, (GangChange("priority", "80", "90"),)),
    ]
    assert life.marks[-1].escalated


def test_a_gang_of_an_earlier_version_has_no_changes_without_what_was_before() -> None:
    life = GangLife()
    life.take(GangUpdated(1, G, priority=80))
    assert life.marks == ()


def test_work_of_a_cluster_that_is_submitted_otherwise_says_what_differs() -> None:
    def wish(gpus: int) -> Gang:
        request = PodRequest(2_000, 4_096, GpuRequest(gpus, types=("H100",)))
        return Gang(G, G, "team", name="lab/e", pod_sets=(PodSet(count=2, request=request),))

    found = DeliveredGang(wish(1), "train:1")
    found.take(GangPlaced(1, G, 7, place("n0", "n1")))
    found.take(CheckpointCommitted(2, G, 7, 5))
    found.ask(wish(1), "train:1", at=3)
    found.ask(wish(4), "train:2", at=4)
    found.take(GangUpdated(5, G, queue="other"))
    assert found.life.marks == (
        LifeMark(2, LifeKind.CHECKPOINT, 1, 5),
        LifeMark(
            4,
            LifeKind.CHANGED,
            1,
            changes=(
                GangChange("GPUs of each pod of main", "1 of H100", "4 of H100"),
                GangChange("image", "train:1", "train:2"),
            ),
        ),
        LifeMark(5, LifeKind.CHANGED, 1, changes=(GangChange("queue", "team", "other"),)),
    )


def test_work_of_a_cluster_that_grows_asks_for_more_and_keeps_when_it_was_placed() -> None:
    request = PodRequest(gpu=GpuRequest(1))
    asked = Gang(G, G, "team", pod_sets=(PodSet(count=1, min_count=1, request=request),))
    found = DeliveredGang(asked)
    found.take(GangPlaced(1_000, G, 1, place("n0")))
    found.take(GangStarted(1_000, G, 1))
    found.take(GangUpdated(5_000, G, priority=80, counts={"main": 2, "none": 9}))
    found.take(GangResized(6_000, G, 1, place("n0", "n1")))
    assert (asked_milli(found.gang), found.gang.priority) == (2_000, 80)
    assert (found.placed, found.gang.pod_sets[0].least) == (1_000, 1)
    found.take(GangEnded(8_000, G, 1, Outcome.SUCCEEDED))
    assert found.gpu_ms == 5_000 + 2 * 2_000
