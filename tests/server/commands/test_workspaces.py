"""Workspaces of a server: warned, suspended with everything kept, resumed first in line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import Conflict
from ganglion.model.events import GangEnded, GangUpdated, IdleWarned, Outcome
from ganglion.model.policy import Policy
from ganglion.server.app import guarded, make_app
from ganglion.server.commands import live
from ganglion.server.controllers.workspace_metrics import WorkspaceFigures
from ganglion.server.requests.context import ServerContext
from tests.server.office import MIN, Office

BY_ADA = Cause(CauseKind.RESUMED, user="ada")


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    made = Office(tmp_path)
    yield made
    made.rig.ledger.close()


def test_an_idle_workspace_is_warned_then_suspended_and_keeps_its_place_in_line(
    office: Office,
) -> None:
    found = office.open()
    with office.rig.service.read() as mind:
        submitted = mind.state.gangs.records[f"{found}/0"].gang.submitted
    office.minutes(26)
    warning = office.events(IdleWarned)[-1]
    assert warning.message.startswith("idle for 2")
    assert "lost: the variables of 2 kernels, 1 shell" in warning.message
    assert office.machine.told == [(f"{found}/0", warning.message)]
    assert office.rig.state(found) == "RUNNING"
    office.minutes(6)
    office.rig.turn()
    assert office.rig.state(found) == "SUSPENDED"
    assert office.machine.live == set()
    assert office.events(GangEnded)[-1].outcome is Outcome.SUSPENDED
    with office.rig.service.read() as mind:
        record = mind.state.gangs.records[f"{found}/0"]
        assert (record.gang.submitted, record.placement) == (submitted, None)
        assert mind.book.trails[f"{found}/0"].preemptions == 0
        assert record.reason
        assert record.reason.message.startswith("suspended: idle for 3")


def test_whether_it_is_used_is_told_with_the_name_of_who_says_so(office: Office) -> None:
    gang = f"{office.open()}/0"
    assert office.keeper.use_of(gang) == ""
    office.minutes(1, doubt="no source reports its GPUs")
    assert office.keeper.use_of(gang) == "unknown: processes: no source reports its GPUs"
    office.minutes(1, moves=True)
    assert office.keeper.use_of(gang).startswith("busy: processes, ")
    office.minutes(27)
    assert office.keeper.use_of(gang).startswith("idle for 2")
    office.minutes(5)
    assert office.keeper.use_of(gang) == ""  # it sleeps


def test_use_takes_the_warning_back(office: Office) -> None:
    office.open()
    office.minutes(26)
    office.minutes(1, moves=True)
    office.minutes(10)
    assert [bool(each.suspend_at) for each in office.events(IdleWarned)] == [True, False]
    assert office.machine.told[-1] == ("nb-1/0", "")
    assert office.machine.stops == []


def test_unknown_is_never_acted_upon(office: Office) -> None:
    found = office.open()
    office.minutes(600, doubt="no source reports its GPUs")
    assert office.events(IdleWarned) == []
    assert office.rig.state(found) == "RUNNING"


def test_nobody_is_suspended_whom_nobody_looks_at(office: Office) -> None:
    found = office.rig.submit("nb", kind="workspace", idle_timeout="30m")
    office.rig.turn(3)
    for _ in range(100):
        office.machine.time += MIN
        office.rig.turn()
    assert office.rig.state(found) == "RUNNING"


def test_only_workspaces_with_a_timeout_or_hours_are_looked_at(office: Office) -> None:
    office.rig.submit("train")
    plain = office.rig.submit("plain", kind="workspace")
    hours = office.open("hours", idle={"hours": "mon-fri 08:00-20:00"})
    office.rig.turn(3)
    assert not office.eyes.knows((f"{plain}/0", 1))
    assert office.eyes.knows((f"{hours}/0", 1))


def test_a_resumed_workspace_starts_first_and_then_has_no_more_right_to_its_place(
    office: Office,
) -> None:
    found = office.open()
    office.suspend("nb")
    assert office.rig.state(found) == "SUSPENDED"
    with office.rig.service.read() as mind:
        submitted = mind.state.gangs.records[f"{found}/0"].gang.submitted
    office.rig.submit("big-0", resources={"gpus": 8}, preemptible=False)
    office.rig.submit("big-1", resources={"gpus": 8}, preemptible=False)
    waiting = office.rig.submit("early", priority=80)
    office.rig.turn(2)
    office.resume("nb")
    assert office.priority(found) == 90
    assert office.rig.state(found) == "QUEUED"
    office.machine.end("big-0-2/0")
    office.rig.turn(4)
    began = [gang for gang, _ in office.machine.began]
    assert began.index(f"{found}/0") < len(began)
    assert office.rig.state(found) == "RUNNING"
    assert office.priority(found) == 50
    assert office.rig.state(waiting) == "RUNNING"
    with office.rig.service.read() as mind:
        assert mind.state.gangs.records[f"{found}/0"].gang.submitted == submitted
        assert mind.state.gangs.records[f"{found}/0"].attempt == 2
    assert began[-2:] == [f"{found}/0", f"{waiting}/0"]


def test_one_resumed_while_it_still_goes_comes_back_at_once(office: Office) -> None:
    found = office.open()
    office.machine.lingering = True
    office.suspend("nb")
    assert office.rig.state(found) == "STOPPING"
    office.resume("nb")
    office.machine.leave()
    office.rig.turn(4)
    assert office.rig.state(found) == "RUNNING"
    assert office.priority(found) == 50


def test_one_that_waits_is_suspended_too(office: Office) -> None:
    office.rig.submit("big-0", resources={"gpus": 8}, preemptible=False)
    office.rig.submit("big-1", resources={"gpus": 8}, preemptible=False)
    found = office.open()
    assert office.rig.state(found) == "QUEUED"
    office.suspend("nb")
    assert office.rig.state(found) == "SUSPENDED"
    assert office.machine.stops == []


def test_cancelling_wins_over_sleeping(office: Office) -> None:
    found = office.open()
    office.suspend("nb")
    office.rig.do(lambda draft: live.cancel(draft, "nb", "ada"))
    assert office.rig.state(found) == "CANCELLED"
    again = office.open("again")
    office.machine.lingering = True
    office.suspend("again")
    office.rig.do(lambda draft: live.cancel(draft, "again", "ada"))
    office.machine.leave()
    office.rig.turn(3)
    assert office.rig.state(again) == "CANCELLED"


@pytest.mark.parametrize("retry", [{}, {"on": ["failure"]}])
def test_it_can_be_resumed_whatever_its_retries_say_and_however_it_ends(
    office: Office, retry: dict[str, Any]
) -> None:
    found = office.open(retry={"limit": 0, **retry})
    office.machine.lingering = True
    office.suspend("nb")
    office.machine.end(f"{found}/0", Outcome.FAILED, 1)
    office.rig.turn(2)
    assert office.rig.state(found) == "SUSPENDED"


def test_what_cannot_be_suspended_or_resumed_says_why(office: Office) -> None:
    office.rig.submit("train")
    office.open()
    with pytest.raises(Conflict, match="train-1 is of kind train: only workspaces are suspended"):
        office.suspend("train")
    with pytest.raises(Conflict, match="nb-2 is not suspended"):
        office.resume("nb")
    office.suspend("nb")
    with pytest.raises(Conflict, match="nb-2 is suspended already"):
        office.suspend("nb")
    office.rig.submit("held", kind="workspace", hold=True)
    with pytest.raises(Conflict, match="held-3 is on hold already"):
        office.suspend("held")


def test_a_user_has_so_many_awake_and_no_more(office: Office) -> None:
    with office.rig.service.read() as mind:
        mind.state.config.policy = Policy(workspaces_per_user=2)
    office.open("a")
    office.open("b")
    with pytest.raises(Conflict, match="ada has 2 workspaces that are not suspended") as caught:
        office.rig.submit("c", kind="workspace")
    assert "ganglion suspend a-1" in caught.value.hint
    office.rig.submit("train")
    office.suspend("a")
    office.open("c")
    with pytest.raises(Conflict, match="most are 2"):
        office.resume("a")
    office.suspend("b")
    office.resume("a")


def test_a_server_that_dies_goes_on_where_it_was(office: Office) -> None:
    sleeper, sitter = office.open("sleeper"), office.open("sitter")
    office.suspend("sleeper")
    office.rig.crash()
    assert office.rig.state(sleeper) == "SUSPENDED"
    office.minutes(20)
    assert office.events(IdleWarned) == []  # no witness vouches for the time before
    office.minutes(15)
    office.rig.turn()
    assert office.rig.state(sitter) == "SUSPENDED"
    office.rig.crash()
    office.resume("sleeper")
    office.rig.crash()
    office.rig.turn(4)
    assert office.rig.state(sleeper) == "RUNNING"
    assert office.priority(sleeper) == 50
    assert [w.away for w in office.keeper.wards if w.gang.workload == sitter] != [0]


def test_prometheus_is_told_what_came_of_it(office: Office) -> None:
    office.rig.metrics.registry.register(WorkspaceFigures(office.keeper, lambda: 0))
    office.open("a", resources={"gpus": 2})
    office.open("b", resources={"gpus": 4})
    office.suspend("b")
    office.minutes(32)
    office.rig.turn()
    office.machine.time += 60 * MIN
    office.resume("b")
    office.machine.time += 60 * MIN
    text = office.rig.metrics.text().decode()
    for line in (
        "ganglion_workspaces_suspended 1.0",
        'ganglion_workspace_suspensions_total{cause="idle"} 1.0',
        'ganglion_workspace_suspensions_total{cause="asked"} 1.0',
        "ganglion_workspace_warnings_total 1.0",
        "ganglion_workspace_resumptions_total 1.0",
        "ganglion_workspace_wrongful_suspensions_total 0.0",
    ):
        assert line in text.splitlines()
    assert office.keeper.wards.returned_gpu_ms(office.machine.time) >= 4 * 92 * MIN + 2 * 119 * MIN


def test_being_preempted_is_not_being_suspended(office: Office) -> None:
    found = office.open(resources={"gpus": 8})
    for name in ("x", "y"):
        office.rig.submit(name, priority=90, resources={"gpus": 8})
    office.rig.turn(4)
    assert office.rig.state(found) == "QUEUED"
    with office.rig.service.read() as mind:
        assert mind.book.trails[f"{found}/0"].preemptions == 1
    assert not any(each.held for each in office.events(GangUpdated))


@pytest.fixture
def client(office: Office) -> Iterator[TestClient]:
    rig = office.rig
    rig.service.start()
    context = ServerContext(
        rig.service, rig.home, rig.feed, rig.metrics, "ada", look_at=office.keeper.look_at
    )
    app = guarded(make_app(context), "secret", loopback=True)
    headers = {"Authorization": "Bearer secret"}
    with TestClient(app, "http://localhost", headers=headers) as made:  # type: ignore[arg-type]
        yield made
    rig.service.stop()


def test_what_is_lost_is_said_before_and_only_said_when_asked_to(
    office: Office, client: TestClient
) -> None:
    document = {"name": "nb", "kind": "workspace", "run": "true", "resources": {"gpus": 1}}
    assert client.post("/api/v1/workloads", json=document).status_code == 201
    said = client.post("/api/v1/workloads/nb/suspend?dry_run=true")
    assert said.json()["loss"].startswith("lost: all shells, what is in memory and GPU memory")
    assert client.get("/api/v1/workloads/nb").json()["state"] != "SUSPENDED"
    assert client.post("/api/v1/workloads/nb/suspend").json()["id"] == "nb-1"
    shown = client.get("/api/v1/workloads/nb").json()
    assert shown["state"] in ("STOPPING", "SUSPENDED")
    assert shown["message"] == "suspended by ada"
    assert client.post("/api/v1/workloads/nb/resume").json()["priority"] == 90
    assert client.post("/api/v1/workloads/nb/resume").status_code == 409
