"""Nodes that are emptied for maintenance, and nodes that the server shuts by itself."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from ganglion.api.nodes import DrainView
from ganglion.model.errors import Conflict, NotFound
from ganglion.model.events import AlarmSet, NodeAdded, NodeLost
from ganglion.model.plan import Phase
from ganglion.server.commands import bookings, drains, live
from ganglion.server.controllers.failures import FailuresController
from ganglion.server.views import cluster
from tests.server.conftest import NODES, Rig
from tests.server.test_workloads import API, post, problem, wait_for

HOUR = 3_600_000
SAVES = {"grace": "10s"}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path, lambda: [FailuresController()])


def where(rig: Rig, gang: str) -> str:
    with rig.service.read() as mind:
        place = mind.state.gangs.record(gang).placement
        return place.pods[0].node if place else ""


def view(rig: Rig, name: str) -> tuple[str, str]:
    with rig.service.read() as mind:
        page = cluster.node_page(mind.state, mind.book.alarms)
    return next((each.state, each.reason) for each in page.items if each.name == name)


def drain(rig: Rig, what: str, by: int = HOUR) -> DrainView:
    found = rig.do(lambda draft: drains.drain(draft, what, rig.machine.time + by, "new fan"))
    assert isinstance(found, DrainView)
    return found


def test_a_gang_that_can_save_moves_to_another_node_and_the_node_is_drained(rig: Rig) -> None:
    gang = f"{rig.submit('a', checkpoint=SAVES)}/0"
    rig.turn(3)
    home = where(rig, gang)
    rig.machine.lingering = True

    found = drain(rig, home)

    assert [each.gang for each in found.leavers] == [gang]
    assert rig.machine.stops[-1][:2] == (gang, 1)
    assert str(rig.machine.stops[-1][2]) == f"moved for drain-{home} (new fan)"
    assert view(rig, home) == ("draining", "new fan")
    rig.machine.leave()
    rig.turn(4)
    assert where(rig, gang) not in ("", home)
    assert view(rig, home) == ("drained", "new fan")


def test_a_preview_says_who_would_leave_and_changes_nothing(rig: Rig) -> None:
    gang = f"{rig.submit('a', checkpoint=SAVES)}/0"
    rig.turn(3)
    home, by = where(rig, gang), rig.machine.time + HOUR
    with rig.service.read() as mind:
        found = drains.preview(mind.state, home, by, "new fan", rig.machine.time)
        assert not drains.drains(mind.state)
    assert [each.gang for each in found.leavers] == [gang]
    rig.turn(2)
    assert where(rig, gang) == home
    assert view(rig, home) == ("ready", "")


def test_what_cannot_save_is_stopped_at_the_deadline_and_waits_again(rig: Rig) -> None:
    gang = f"{rig.submit('a')}/0"
    rig.turn(3)
    home = where(rig, gang)
    found = drain(rig, home)
    assert "has no checkpoints" in found.leavers[0].how
    rig.turn(2)
    assert not rig.machine.stops
    rig.machine.time += HOUR + 1
    rig.turn(4)
    assert rig.machine.stops[-1][0] == gang
    assert where(rig, gang) not in ("", home)


def test_why_tells_whoever_runs_on_a_draining_node_when_it_leaves(rig: Rig) -> None:
    gang = f"{rig.submit('a')}/0"
    rig.turn(3)
    drain(rig, where(rig, gang))
    with rig.service.read() as mind:
        text = cluster.explanation(mind.state, gang, rig.machine.time).text
    assert "does not wait" in text
    assert "that are to be empty by 1970-01-01 01:00 UTC for drain-n" in text
    assert "it has no checkpoints" in text


def test_a_drain_survives_the_server_and_is_taken_back_as_a_whole(rig: Rig) -> None:
    drain(rig, "n0")
    rig.crash()
    rig.turn()
    assert view(rig, "n0") == ("drained", "new fan")
    with pytest.raises(Conflict, match="n0 drains"):
        rig.do(lambda draft: live.cordon(draft, "n0", ""))
    rig.do(lambda draft: drains.undrain(draft, "n0"))
    assert view(rig, "n0") == ("ready", "")
    with pytest.raises(NotFound, match="does not drain"):
        rig.do(lambda draft: drains.undrain(draft, "n0"))


def test_nothing_starts_on_what_drains_even_if_it_would_end_before_the_deadline(rig: Rig) -> None:
    for name in ("n0", "n1"):
        drain(rig, name)
    gang = f"{rig.submit('a', time_limit='10m')}/0"
    rig.turn(3)
    with rig.service.read() as mind:
        assert mind.state.gangs.record(gang).phase is Phase.PENDING


def test_a_policy_that_lists_its_bookings_takes_no_drain_back(rig: Rig) -> None:
    drain(rig, "n0")
    rig.do(lambda draft: bookings.carry_out(draft, ()))
    assert view(rig, "n0")[0] == "drained"
    with rig.service.read() as mind:
        assert len(mind.state.timeline.bookings) == 1


def test_a_drain_is_ended_by_name_and_not_as_a_booking(rig: Rig) -> None:
    drain(rig, "n0")
    with pytest.raises(NotFound, match="is a drain") as caught:
        rig.do(lambda draft: bookings.remove_booking(draft, "drain-n0"))
    assert caught.value.hint == "use: ganglion undrain n0"


def test_a_node_that_drains_with_another_is_not_drained_twice(rig: Rig) -> None:
    drain(rig, "n0")
    drain(rig, "n0", by=2 * HOUR)
    with rig.service.read() as mind:
        assert [each.begin for each in drains.drains(mind.state)] == [rig.machine.time + 2 * HOUR]


def test_people_learn_what_they_can_drain(client: TestClient) -> None:
    wrong = client.put(f"{API}/drains/n7", json={"by": 0})
    problem(wrong, 404, "state.not_found", "no node or domain n7")
    wish = {"by": 10**14, "reason": "dust"}
    tried = client.put(f"{API}/drains/n1?dry_run=true", json=wish).json()
    assert client.get(f"{API}/drains").json()["items"] == []
    assert client.get(f"{API}/nodes").json()["items"][1]["state"] == "ready"
    shown = client.put(f"{API}/drains/n1", json=wish).json()
    assert tried == shown
    assert (shown["what"], shown["nodes"], shown["leavers"]) == ("n1", ["n1"], [])
    listed = client.get(f"{API}/drains").json()["items"]
    assert [each["reason"] for each in listed] == ["dust"]
    assert client.get(f"{API}/nodes").json()["items"][1]["deadline"] == 10**14
    assert client.delete(f"{API}/drains/n1").is_success
    problem(client.delete(f"{API}/drains/n1"), 404, "state.not_found", "does not drain")
    post(client)
    wait_for(client, "a", "RUNNING")


def test_a_node_that_is_lost_again_and_again_is_shut_until_a_person_opens_it(rig: Rig) -> None:
    for now in range(10, 70, 20):
        rig.machine.time += now
        rig.world.facts += [NodeLost(now, "n0"), NodeAdded(now + 1, NODES[0])]
        rig.turn()
    state, reason = view(rig, "n0")
    assert state == "cordoned"
    assert reason.startswith("quarantined")
    rig.crash()
    rig.turn()
    assert view(rig, "n0") == (state, reason)
    rig.do(lambda draft: live.cordon(draft, "n0", ""))
    rig.turn(2)
    assert view(rig, "n0") == ("ready", "")


def test_one_node_is_shown_as_in_the_list_of_all(rig: Rig) -> None:
    rig.submit("a", resources={"gpus": 3})
    rig.turn(3)
    rig.do(lambda draft: draft.record(AlarmSet(draft.now, "n0", "odd", "its fan is loud")))
    with rig.service.read() as mind:
        alarms = mind.book.alarms
        for each in cluster.node_page(mind.state, alarms).items:
            one = cluster.node_view(mind.state, mind.state.fleet.nodes[each.name], alarms)
            assert one == each
