"""Real processes on pretend nodes: nodes are taken away and emptied, and work goes on."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ganglion.worlds.local.machine.outages import bring_back, take_away
from ganglion.worlds.local.run_files import paths
from tests.server.process import CLUSTER, Api, Nursery, until

NODES = {"n0", "n1", "n2"}
FIRST = '  - {name: n0, cpus: 16, memory: 16GB, gpus: "H100:80GB:4"}\n'
STAYS = "echo up $GANGLION_ATTEMPT $RANK; while [ ! -e {enough} ]; do sleep 0.02; done"


class Place:
    """A server with three nodes of 4 GPUs each."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.nursery, self.api = Nursery(self.home), Api(self.home)
        (folder / "cluster.yaml").write_text(
            CLUSTER.replace(FIRST, FIRST + FIRST.replace("0", "2", 1))
        )
        self.nursery.start()

    def submit(self, name: str, **document: Any) -> str:
        run = STAYS.format(enough=self.folder / "enough")
        body = {"name": name, "queue": "red", "run": run, "resources": {"gpus": 2}} | document
        answer = self.api.patiently(
            "POST", "/workloads", json=body, headers={"Idempotency-Key": name}
        )
        return str(answer["id"])

    def gang(self, workload: str) -> Any:
        (gang,) = self.api.patiently("GET", f"/workloads/{workload}")["gangs"]
        return gang

    def nodes(self, workload: str) -> list[str]:
        return [pod["node"] for pod in self.gang(workload)["placement"]["pods"]]

    def log(self, workload: str, attempt: int, rank: int = 0) -> str:
        path = paths.log_file(self.home, f"{workload}/0", attempt, rank)
        return path.read_text() if path.exists() else ""

    def up(self, workload: str, attempt: int = 1, rank: int = 0, times: int = 1) -> None:
        says = f"up {attempt} {rank}"
        until(lambda: self.log(workload, attempt, rank).count(says) >= times)

    def state_of(self, node: str) -> Any:
        listed = self.api.patiently("GET", "/nodes")["items"]
        return next(each for each in listed if each["name"] == node)

    def over(self) -> bool:
        """Whether nothing runs any more."""
        listed = self.api.patiently("GET", "/workloads")["items"]
        return all(each["state"] in ("SUCCEEDED", "FAILED", "CANCELLED") for each in listed)

    def close(self) -> None:
        (self.folder / "enough").touch()
        until(self.over)
        self.nursery.end(signal.SIGTERM)
        self.nursery.close()
        self.api.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


def test_a_gang_whose_node_is_lost_goes_on_on_another_one(place: Place) -> None:
    job = place.submit("a")
    place.up(job)
    (home,) = place.nodes(job)

    take_away(place.home, home)
    place.up(job, attempt=2)

    assert place.nodes(job) != [home]
    assert place.state_of(home)["state"] == "lost"
    bring_back(place.home, home)
    until(lambda: place.state_of(home)["state"] == "ready")


def test_only_the_lost_pod_moves_where_the_program_can_take_that(place: Place) -> None:
    job = place.submit(
        "a", nodes=2, resources={"gpus": 3}, retry={"replace": True}, checkpoint={"grace": "1s"}
    )
    for rank in (0, 1):
        place.up(job, rank=rank)
    before = place.nodes(job)

    take_away(place.home, before[1])
    place.up(job, rank=1, times=2)

    assert place.nodes(job) == [before[0], *NODES - {*before}]
    assert place.log(job, 1, rank=0).count("up") == 1
    assert place.gang(job)["attempt"] == 1


def test_without_room_for_the_lost_pod_alone_the_gang_waits_as_a_whole(place: Place) -> None:
    job = place.submit(
        "a", nodes=3, resources={"gpus": 3}, retry={"replace": True}, checkpoint={"grace": "1s"}
    )
    for rank in range(3):
        place.up(job, rank=rank)
    take_away(place.home, "n1")
    until(lambda: place.gang(job)["phase"] == "pending")
    bring_back(place.home, "n1")
    place.up(job, attempt=2)


def test_a_node_is_emptied_and_its_job_moves_at_once_when_it_can_save(place: Place) -> None:
    job = place.submit("a", checkpoint={"grace": "1s"})
    place.up(job)
    (home,) = place.nodes(job)
    by = 1 << 50
    shown = place.api.patiently("PUT", f"/drains/{home}", json={"by": by, "reason": "fan"})
    assert [each["gang"] for each in shown["leavers"]] == [f"{job}/0"]
    place.up(job, attempt=2)
    assert place.nodes(job) != [home]
    until(lambda: place.state_of(home)["state"] == "drained")
    assert place.state_of(home)["deadline"] == by


def test_misspelt_programs_take_no_node_away(place: Place) -> None:
    for number in range(12):
        job = place.submit(f"typo{number}", run=f"pyhton{number} train.py")
        until(lambda job=job: place.api.patiently("GET", f"/workloads/{job}")["state"] == "FAILED")
    listed = place.api.patiently("GET", "/nodes")["items"]
    assert {each["name"]: each["state"] for each in listed} == dict.fromkeys(NODES, "ready")


def test_a_node_that_is_lost_three_times_says_what_it_was_and_how_to_end_it(place: Place) -> None:
    until(lambda: place.state_of("n1"))
    for _ in range(3):
        take_away(place.home, "n1")
        until(lambda: place.state_of("n1")["state"] == "lost")
        bring_back(place.home, "n1")
        until(lambda: place.state_of("n1")["state"] != "lost")
    until(lambda: place.state_of("n1")["state"] == "cordoned")
    reason = place.state_of("n1")["reason"]
    assert reason.startswith("quarantined, as it was lost again and again (")
    assert " UTC); until " in reason
    assert reason.endswith(" UTC, or `ganglion uncordon n1`")
    assert reason in (place.home / "server.log").read_text()
    for number in range(3):  # the third finds no room on the nodes that are open
        last = place.submit(f"a{number}", resources={"gpus": 4})
    (explained,) = place.api.patiently("GET", f"/workloads/{last}/why")["explanations"]
    assert explained["closed"] == {"n1": reason}
    place.api.patiently("POST", "/nodes/n1/uncordon")
    assert place.state_of("n1")["state"] == "ready"
