"""An outbox beside a scheduler: its threads, its figures, and the line to a server."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry, generate_latest

from ganglion.model.errors import EnvironmentFault, InputError
from ganglion.model.events import (
    Delivered,
    DeliveryRecord,
    GangPlaced,
    GangSubmitted,
    ImagesReported,
    ObjectRefused,
    Outcome,
    PolicySet,
    QueueSet,
    ReasonsChanged,
    RecordLoss,
    RecordsLost,
    SchedulerEnded,
    SchedulerSettled,
    SchedulerStarted,
    WaitGroups,
    WaitOrder,
)
from ganglion.model.events.policy import ClusterMoney
from ganglion.model.queue import Queue
from ganglion.seams.effects import SYSTEM
from ganglion.seams.files import SystemFiles
from ganglion.server.cluster.outbox import outbox as running
from ganglion.server.cluster.outbox import turns
from ganglion.server.cluster.outbox.figures import OutboxFigures
from ganglion.server.cluster.outbox.outbox import Outbox, OutboxWish
from ganglion.server.cluster.outbox.post import DeliveryLine, DeliveryRefused
from ganglion.server.cluster.outbox.turns import TurnReports, parts
from ganglion.server.cluster.outbox.waits import STILL_MS
from tests.controlplane import manifests
from tests.server.access.office import Office, office
from tests.server.conftest import Rig
from tests.server.delivered.stories import begun, ended, placed, submitted
from tests.worlds.kubernetes.controller.stage import Stage


class Server:
    """Keeps what it gets; or cannot be reached."""

    def __init__(self) -> None:
        self.got: dict[str, list[DeliveryRecord]] = {}
        self.is_down = False
        self.came = threading.Event()

    def post(self, scheduler: str, records: Sequence[DeliveryRecord]) -> int:
        if self.is_down:
            raise EnvironmentFault("the server is down")
        kept = self.got.setdefault(scheduler, [])
        kept += records
        if records:
            self.came.set()
        return kept[-1].number if kept else 0

    @property
    def events(self) -> list[Delivered]:
        return [
            event
            for records in self.got.values()
            for each in records
            for event in (*each.facts, *each.decisions)
        ]


def wish(folder: Path) -> OutboxWish:
    return OutboxWish(folder, "http://nowhere:7077", "east", folder / "token")


def staged() -> Stage:
    """A cluster of one node and a gang of two pods."""
    stage = Stage(queues=(Queue("default"),))
    stage.show(manifests.node("n0", gpus=8))
    stage.show(*manifests.gang("train", 2, gpus=2))
    return stage


def reported(reports: TurnReports, stage: Stage) -> list[Delivered]:
    found = reports.of(stage.controller, stage.now)
    return [event for part in found for event in (*part.facts, *part.decisions)]


def test_a_first_turn_says_who_began_and_what_it_has_read_found_and_decided() -> None:
    stage, reports = staged(), TurnReports("pod-a", ("before",))
    stage.turn()
    first, *others = reported(reports, stage)
    assert isinstance(first, SchedulerStarted)
    assert (first.identity, first.follows) == ("pod-a", ("before",))
    kinds = [type(each) for each in others]
    assert {QueueSet, GangSubmitted, GangPlaced, SchedulerSettled} <= set(kinds)
    assert kinds.index(QueueSet) < kinds.index(GangSubmitted) < kinds.index(GangPlaced)
    stage.turn()
    again = [type(each) for each in reported(reports, stage)]
    assert not {SchedulerStarted, SchedulerSettled, GangSubmitted} & set(again)


def test_a_gang_that_waits_is_named_with_its_reason_and_a_restart_says_so_again() -> None:
    stage, reports = staged(), TurnReports("pod-a", ())
    stage.turn()
    reported(reports, stage)
    stage.show(*manifests.gang("late", 1, gpus=8))
    stage.turn()
    found = [each for each in reported(reports, stage) if isinstance(each, WaitGroups)]
    ((group, (gang,)),) = found[0].groups.items()
    assert group.isdigit()
    assert "late" in gang
    stage.turn(after_ms=2_000)
    said = reported(reports, stage)
    assert not [each for each in said if isinstance(each, WaitGroups)]
    stage.turn(after_ms=STILL_MS)
    assert reported(reports, stage) == [WaitGroups(stage.now, {})]
    again = reported(TurnReports("pod-b", ()), stage)
    assert isinstance(again[-1], WaitOrder)
    assert again[-1].gangs == (gang,)
    assert again[-3:-1] == [
        WaitGroups(stage.now, {"1": (gang,)}),
        ReasonsChanged(stage.now, {"capacity": (gang,)}),
    ]


def test_a_submission_names_images_and_what_made_the_pods() -> None:
    stage, reports = Stage(), TurnReports("pod-a", ())
    job = manifests.job("train", count=1)
    job["metadata"]["uid"] = "uid-job"
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "uid": "uid-job",
        "controller": True,
    }
    pod = manifests.pod("train-0", owner=owner)
    pod["spec"]["containers"][0]["image"] = "registry.example/train:3"
    pod["metadata"].setdefault("annotations", {})["batch.kubernetes.io/job-completion-index"] = "0"
    stage.show(manifests.node("n0", gpus=8), job, pod)
    stage.turn()
    (made,) = [each for each in reported(reports, stage) if isinstance(each, GangSubmitted)]
    assert (made.image, made.owner) == ("registry.example/train:3", "Job train")


def saying(pod: dict[str, Any], phase: str, digest: str, container: str = "main") -> dict[str, Any]:
    """A pod on its node, as its kubelet describes what it runs."""
    status = {"name": container, "imageID": f"docker-pullable://registry.example/train@{digest}"}
    spec = {**pod["spec"], "nodeName": "n0"}
    kept = {key: each for key, each in pod["metadata"].items() if key != "uid"}
    said = {"phase": phase, "containerStatuses": [status, {"name": "other", "imageID": ""}]}
    return {**pod, "metadata": kept, "spec": spec, "status": said}


def test_what_kubelets_say_that_containers_run_is_reported_once_for_each_attempt() -> None:
    stage, reports = Stage(), TurnReports("pod-a", ())
    first, second = manifests.gang("train", 2, gpus=2)
    stage.show(manifests.node("n0", gpus=8), first, second)
    stage.turn()
    container = first["spec"]["containers"][0]["name"]

    def said(*pods: dict[str, Any], reports: TurnReports = reports) -> list[ImagesReported]:
        stage.show(*pods)
        stage.turn()
        return [each for each in reported(reports, stage) if isinstance(each, ImagesReported)]

    assert said() == []  # nothing was pulled
    (event,) = said(*(saying(each, "Running", "sha256:0a", container) for each in (first, second)))
    (image,) = event.images
    assert str(image).endswith(f"/{container}: registry.example/train@sha256:0a")
    assert (image.image, event.attempt) == ("none", 1)
    assert said(saying(second, "Running", "sha256:0a", container)) == []
    # The tag was moved, and a pod that is over when it is looked at says so.
    (moved,) = said(saying(second, "Succeeded", "sha256:0b", container))
    assert [each.id for each in moved.images] == ["registry.example/train@sha256:0b"]
    # A scheduler that starts says again what it finds.
    other = Stage()
    other.show(manifests.node("n0", gpus=8), saying(first, "Running", "sha256:0a", container))
    other.show(saying(second, "Running", "sha256:0a", container))
    other.turn()
    kinds = [type(each) for each in reported(TurnReports("pod-b", ()), other)]
    assert kinds.index(GangPlaced) < kinds.index(ImagesReported)


def test_what_is_left_out_of_decisions_is_said_once_and_taken_back() -> None:
    stage, reports = Stage(), TurnReports("pod-a", ())
    stage.show(manifests.node("n0", gpus=8))
    first, second = manifests.gang("train", 2, gpus=2)
    stage.show(first)
    stage.turn()
    said = [each for each in reported(reports, stage) if isinstance(each, ObjectRefused)]
    assert [(each.kind, bool(each.problem)) for each in said] == [("gang", True)]
    stage.turn()
    assert not [each for each in reported(reports, stage) if isinstance(each, ObjectRefused)]
    stage.show(second)
    stage.turn()
    (back,) = [each for each in reported(reports, stage) if isinstance(each, ObjectRefused)]
    assert back.problem == ""


def test_a_policy_that_is_read_is_reported_with_its_generation() -> None:
    stage, reports = staged(), TurnReports("pod-a", ())
    stage.turn()
    reported(reports, stage)
    policy = stage.controller.scene.state.config.policy
    stage.controller.configure([Queue("default")], replace(policy, tries=7), stage.now, 5)
    stage.turn()
    (policy_set,) = [e for e in reported(reports, stage) if isinstance(e, PolicySet)]
    assert policy_set.version == 5


def test_a_large_turn_is_several_records_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MOST_WEIGHT", 3)
    facts = [submitted(1, f"job-{n}") for n in range(7)]
    decisions = [placed(1, f"job-{n}", "n0") for n in range(4)]
    found = list(parts(1, facts, decisions))
    assert [each.events for each in found] == [3, 3, 3, 2]
    assert [event for each in found for event in each.facts] == facts
    assert [event for each in found for event in each.decisions] == decisions


def test_a_scheduler_that_ends_in_good_order_leaves_nothing_behind(tmp_path: Path) -> None:
    stage, server = staged(), Server()
    outbox = Outbox(wish(tmp_path), "pod-a", post=server.post)
    outbox.start()
    stage.turn()
    outbox.decided(stage.controller, stage.now)
    outbox.stop()
    assert isinstance(server.events[-1], SchedulerEnded)
    assert any(isinstance(each, GangPlaced) for each in server.events)
    assert not list(tmp_path.iterdir())
    assert (outbox.depth, outbox.size, outbox.trouble) == (0, 0, "")


def test_prices_and_budgets_are_asked_for_once_all_records_have_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "FLUSH_S", 0.05)
    stage, server, said = staged(), Server(), ClusterMoney(1)
    server.is_down = True
    before = Outbox(wish(tmp_path), "pod-a", post=server.post)
    before.start()
    stage.turn()
    before.decided(stage.controller, stage.now)
    before.stop()
    server.is_down = False
    asked = threading.Event()
    arrived: list[list[Delivered]] = []

    def ask(_scheduler: str) -> ClusterMoney:
        arrived.append(server.events)
        asked.set()
        return said

    outbox = Outbox(wish(tmp_path), "pod-b", post=server.post, ask=ask)
    outbox.start()
    assert asked.wait(10)
    assert any(isinstance(each, GangPlaced) for each in arrived[0])
    outbox.stop()
    assert outbox.money.latest and outbox.money.latest.said is said


def test_what_is_written_while_prices_are_asked_for_arrives_though_the_scheduler_ends(
    tmp_path: Path,
) -> None:
    stage, server = staged(), Server()
    asked = threading.Event()

    def ask(_scheduler: str) -> None:
        asked.set()
        assert outbox._ending.wait(10)  # the server answers once the scheduler is at its end

    outbox = Outbox(wish(tmp_path), "pod-a", post=server.post, ask=ask)
    outbox.start()
    assert asked.wait(10)
    stage.turn()
    outbox.decided(stage.controller, stage.now)
    outbox.stop()
    assert (outbox.depth, outbox.failing) == (0, "")
    assert any(isinstance(each, GangPlaced) for each in server.events)
    assert isinstance(server.events[-1], SchedulerEnded)


def test_a_server_that_is_down_is_a_figure_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "FLUSH_S", 0.05)
    stage, server = staged(), Server()
    server.is_down = True
    outbox = Outbox(wish(tmp_path), "pod-a", post=server.post)
    registry = CollectorRegistry()
    registry.register(OutboxFigures(outbox))
    outbox.start()
    stage.turn()
    outbox.decided(stage.controller, stage.now)
    outbox.stop()
    text = generate_latest(registry).decode()
    assert "ganglion_outbox_records 2.0" in text
    assert "ganglion_outbox_delivered_total 0.0" in text
    assert outbox.failures >= 1
    assert "down" in outbox.trouble
    server.is_down = False
    later = Outbox(wish(tmp_path), "pod-b", post=server.post)
    assert later.left == 1
    later.start()
    later.stop()
    assert [type(each) for each in server.events].count(SchedulerEnded) == 2
    assert not list(tmp_path.iterdir())


class Hanging(SystemFiles):
    """A disk that does not return from a write until it is let go."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def write(self, descriptor: int, content: bytes) -> None:
        self.released.wait()
        super().write(descriptor, content)


def test_a_disk_that_hangs_holds_up_one_turn_for_a_moment_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "PATIENCE_S", 0.01)
    monkeypatch.setattr(running, "MOST_HELD", 8)
    stage, server, files = staged(), Server(), Hanging()
    outbox = Outbox(wish(tmp_path), "pod-a", SYSTEM._replace(files=files), server.post)
    outbox.start()
    for number in range(10):
        stage.show(manifests.pod(f"more-{number}", gpus=0))
        stage.show(manifests.node(f"node-{number}", gpus=8))
        stage.turn()
        outbox.decided(stage.controller, stage.now)
    assert outbox.late >= 1
    files.released.set()
    outbox.stop()
    gaps = [each for each in server.events if isinstance(each, RecordsLost)]
    assert {each.loss for each in gaps} == {RecordLoss.DISK}
    assert outbox.writer.dropped == sum(each.records for each in gaps)
    numbers = [each.number for each in server.got[outbox._folder.own]]
    assert numbers == sorted(numbers)
    assert sum(each.covers for each in server.got[outbox._folder.own]) == numbers[-1]


@pytest.fixture
def staff(tmp_path: Path) -> Iterator[Office]:
    rig = Rig(tmp_path / "home")
    rig.service.start()
    with office(rig) as made:
        yield made
    rig.service.stop()
    rig.ledger.close()


def line_to(staff: Office, cluster: str, token: str) -> DeliveryLine:
    transport = staff.client(token)._transport
    return DeliveryLine("http://localhost", cluster, lambda: token, transport)  # type: ignore[arg-type]  # of the test client


def test_the_token_of_a_cluster_delivers_for_that_cluster_and_does_nothing_else(
    staff: Office,
) -> None:
    staff.grant("user:east", "reporter", "east:")
    token = staff.token("east", "reporter", "east:")
    line = line_to(staff, "east", token)
    assert line.post("s1", ()) == 0
    assert line.post("s1", [DeliveryRecord(1, 5, (submitted(5, "train"),))]) == 1
    assert line.post("s1", [DeliveryRecord(1, 5, (submitted(5, "train"),))]) == 1
    heard = line.money("s1")
    assert heard is not None
    assert (heard.prices, heard.budgets) == ((), {})
    with pytest.raises(DeliveryRefused, match="403"):
        line_to(staff, "west", token).post("s1", ())
    mine = staff.client(token)
    assert mine.get("/api/v1/history").status_code == 403
    assert mine.get("/api/v1/nodes").status_code == 403
    shown = staff.owner.get("/api/v1/clusters").json()["items"]
    assert [(each["name"], each["gangs"]) for each in shown] == [("east", 0)]
    assert staff.owner.get("/api/v1/clusters").status_code == 200


def test_a_viewer_of_a_queue_of_a_cluster_sees_its_ended_work_and_no_other(staff: Office) -> None:
    staff.grant("user:east", "reporter", "east:")
    line = line_to(staff, "east", staff.token("east", "reporter", "east:"))
    facts: list[Delivered] = [
        SchedulerStarted(1, "1.2.3"),
        QueueSet(1, Queue("org")),
        QueueSet(1, Queue("team", "org")),
        QueueSet(1, Queue("rest", "org")),
        submitted(5, "mine"),
        submitted(5, "other", "rest"),
    ]
    line.post("s1", [DeliveryRecord(1, 5, (*facts, ended(9, "mine"), ended(9, "other")))])
    viewer = staff.user("vera", "viewer", "east:team")
    assert [each["name"] for each in viewer.get("/api/v1/history").json()["items"]] == ["mine"]
    assert viewer.get("/api/v1/workloads/mine").status_code == 200
    assert viewer.get("/api/v1/workloads/other").status_code == 404
    why = viewer.get("/api/v1/workloads/mine/why").json()["explanations"]
    assert "has ended" in why[0]["text"]
    above = staff.user("olga", "viewer", "east:org")
    assert len(above.get("/api/v1/history").json()["items"]) == 2


def test_what_a_server_cannot_do_for_work_of_a_cluster_names_the_cluster(staff: Office) -> None:
    line = line_to(staff, "east", staff.token("ada"))
    failed = ended(9, "mine", Outcome.FAILED)
    line.post("s1", [DeliveryRecord(1, 5, (*begun(1), submitted(5, "mine"), failed))])
    retried = staff.owner.post("/api/v1/workloads/mine/retry")
    assert retried.status_code == 409
    assert "ran in cluster east" in retried.json()["detail"]
    logs = staff.owner.get("/api/v1/workloads/mine/logs")
    assert logs.status_code == 503
    assert "no scheduler of cluster east asks for questions" in logs.json()["detail"]


def test_a_record_that_this_version_does_not_know_is_refused_with_its_version(
    staff: Office,
) -> None:
    body = {"scheduler": "s1", "records": [{"number": 1, "at": 1, "facts": [{"type": "later"}]}]}
    answer = staff.owner.post("/api/v1/clusters/east/records", json=body)
    assert answer.status_code == 422
    assert "is the scheduler newer" in answer.json()["hint"]


def test_a_url_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="not the URL"):
        DeliveryLine("audit.example.org", "east", lambda: "token")
