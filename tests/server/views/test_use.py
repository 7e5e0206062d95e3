"""Who uses what now, and everything about one node."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from ganglion.api.use import UsePage
from ganglion.server.requests.context import ServerContext
from ganglion.server.views.use import UseSnapshot, _Holder, measured
from ganglion.worlds.local.machine.use import GpuUse, TreeUse, UseReader
from ganglion.worlds.local.run_files import paths, records
from tests.server.conftest import Rig
from tests.server.test_workloads import API, post, problem, wait_for

RUNNING: Any = "running"


class Readings(UseReader):
    """A machine with known readings."""

    def __init__(self, gpus: dict[str, GpuUse], tree: TreeUse) -> None:
        super().__init__()
        self._gpus, self._tree = gpus, tree

    def gpus(self, uuids: Sequence[str]) -> list[GpuUse]:
        return [self._gpus.get(uuid, GpuUse()) for uuid in uuids]

    def trees(self, roots: Collection[int]) -> dict[int, TreeUse]:
        return dict.fromkeys(roots, self._tree)


def holder(home: Path, gang: str, devices: dict[tuple[str, int], int]) -> _Holder:
    """A gang whose supervisor lives: this process."""
    run = paths.run_dir(home, gang, 1)
    run.mkdir(parents=True)
    pid = 1
    records.write(run / records.START, {"pid": pid, "start_time": records.start_time(pid)})
    gpus = sum(devices.values()) / 1000
    return _Holder(gang, gang[:3], "ada", "q", RUNNING, "training", 1, ("n0",), devices, gpus)


def measure(home: Path, *devices: dict[tuple[str, int], int]) -> UsePage:
    uses = {
        "u0": GpuUse(900, 10, 80, 300_000, 700_000, {5: 10, 6: 1}),
        "u1": GpuUse(100, 20, 80, 100_000, 700_000, {5: 20}),
    }
    reader = Readings(uses, TreeUse(frozenset({5}), 1500, 64))
    known = {("n0", i): ("H100", f"u{i}" if i < 2 else "", 80) for i in range(3)}
    holders = tuple(holder(home, f"a-{i}/0", each) for i, each in enumerate(devices))
    return measured(UseSnapshot(known, holders, {"n0": "H100"}), home, reader, 1)


def test_a_gang_is_charged_what_its_own_gpus_and_processes_use(tmp_path: Path) -> None:
    page = measure(tmp_path, {("n0", 0): 1000, ("n0", 1): 1000})
    (gang,) = page.gangs
    assert (gang.gpu_busy_milli, gang.power_mw, gang.gpu_memory_mib) == (500, 400_000, 30)
    assert (gang.cpu_milli, gang.memory_mib, gang.processes) == (1500, 64, 1)
    first, second, third = page.devices
    assert (first.gangs, first.users, first.strangers) == (("a-0/0",), ("ada",), (6,))
    assert second.strangers == ()
    assert (third.busy_milli, third.power_mw, third.gangs) == (None, None, ())


def test_of_a_shared_gpu_only_memory_is_known_by_gang(tmp_path: Path) -> None:
    page = measure(tmp_path, {("n0", 0): 500}, {("n0", 0): 500})
    for gang in page.gangs:
        assert (gang.gpu_busy_milli, gang.power_mw, gang.gpu_memory_mib) == (None, None, 10)
    assert page.devices[0].gangs == ("a-0/0", "a-1/0")
    assert page.devices[0].busy_milli == 900


def test_pretend_gpus_have_no_figures(tmp_path: Path) -> None:
    (gang,) = measure(tmp_path, {("n0", 2): 1000}).gangs
    assert (gang.gpu_busy_milli, gang.power_mw, gang.gpu_memory_mib) == (None, None, None)


def test_use_of_gangs_without_processes_is_unknown(client: TestClient) -> None:
    post(client, resources={"gpus": 3})
    wait_for(client, "a", "RUNNING")
    page = client.get(f"{API}/use").json()
    (gang,) = page["gangs"]
    assert (gang["gang"], gang["gpus"], gang["user"]) == ("a-1/0", 3, "ada")
    assert gang["cpu_milli"] is gang["memory_mib"] is gang["gpu_busy_milli"] is None
    assert [each["gangs"] for each in page["devices"]].count(["a-1/0"]) == 3
    assert {each["busy_milli"] for each in page["devices"]} == {None}


def test_a_node_tells_who_is_on_it_and_how_it_opens(client: TestClient, rig: Rig) -> None:
    post(client, resources={"gpus": 8})
    wait_for(client, "a", "RUNNING")
    client.post(f"{API}/nodes/n0/cordon", json={"reason": "fan"})
    found = client.get(f"{API}/nodes/n0").json()
    (occupant,) = found["occupants"]
    assert (occupant["gang"], occupant["pods"]) == ("a-1/0", 1)
    assert occupant["devices"] == list(range(8))
    assert (found["node"]["reason"], found["opens"]) == ("fan", "ganglion uncordon n0")
    client.put(f"{API}/drains/n0", json={"by": rig.machine.time + 10**7, "reason": "move"})
    assert client.get(f"{API}/nodes/n0").json()["opens"] == "ganglion undrain n0"
    other = client.get(f"{API}/nodes/n1").json()
    assert (other["occupants"], other["opens"]) == ([], "")


def test_bookings_of_a_node_are_part_of_it(client: TestClient, context: ServerContext) -> None:
    body = {"begin": "2100-01-01T00:00Z", "end": "2100-01-02T00:00Z", "nodes": ["n1"]}
    assert client.put(f"{API}/bookings/cooling", json=body).status_code == 200
    assert client.get(f"{API}/nodes/n0").json()["bookings"] == []
    (booking,) = client.get(f"{API}/nodes/n1").json()["bookings"]
    assert (booking["name"], booking["state"]) == ("cooling", "planned")


def test_what_waits_for_others_to_leave_a_node_is_named(client: TestClient, rig: Rig) -> None:
    rig.machine.lingering = True
    for name in ("a", "b"):
        post(client, name, resources={"gpus": 8}, priority=10)
        wait_for(client, name, "RUNNING")
    post(client, "c", resources={"gpus": 8}, priority=90)

    def awaiting() -> list[str]:
        found = (client.get(f"{API}/nodes/{name}").json() for name in ("n0", "n1"))
        return [each["gang"] for page in found for each in page["awaiting"]]

    shown = wait_for(client, "c", "QUEUED")
    if shown["reason"] == "draining":
        assert awaiting() == ["c-3/0"]
    rig.machine.leave()
    wait_for(client, "c", "RUNNING")
    assert awaiting() == []


def test_an_unknown_node_is_named(client: TestClient) -> None:
    answer = client.get(f"{API}/nodes/n7")
    problem(answer, 404, "state.not_found", "there is no node n7")
