"""Logs of work of clusters: the server has none, and says which command prints them there."""

from typing import Any

import pytest
from msgspec.structs import replace

from ganglion.lifecycle.cluster_gangs import DeliveredGang
from ganglion.model.events import Delivered, ReportedImage, SchedulerSettled
from ganglion.model.workload import PodSet
from ganglion.server.delivered.log_commands import log_command, own_command
from ganglion.server.delivered.receive import receive
from tests.server.access.office import API, Office
from tests.server.delivered.stories import begun, ended, gang, placed, pulled, submitted, turns

AT = "kubectl --context CONTEXT --namespace lab"


def known(owner: str, pods: int, *containers: str) -> DeliveredGang:
    images = tuple(ReportedImage("main", each, "i", "i@sha256:0") for each in containers)
    asked = replace(gang("train"), pod_sets=(PodSet("main", pods),))
    return DeliveredGang(asked, owner=owner, images=images)


@pytest.mark.parametrize(
    ("found", "command"),
    [
        (known("Pod train", 1, "a"), f"{AT} logs train --container a"),
        (known("Job train", 1), f"{AT} logs job/train --all-containers --prefix"),
        (
            known("Job train", 4, "a"),
            f"{AT} logs --tail=-1 --selector batch.kubernetes.io/job-name=train,"
            "batch.kubernetes.io/job-completion-index=RANK --container a",
        ),
        (
            known("StatefulSet train", 4, "a", "b"),
            f"{AT} logs train-RANK --all-containers --prefix",
        ),
        (known("Deployment train", 1, "a"), f"{AT} logs deployment/train --container a"),
        (known("Deployment train", 2, "a"), ""),
        (known("RayCluster train", 2, "a"), ""),
        (known("", 1, "a"), ""),
    ],
)
def test_the_command_asks_for_the_pod_of_the_rank_by_the_kind_of_the_owner(
    found: DeliveredGang, command: str
) -> None:
    assert log_command(found) == command
    assert own_command(found, 3) == "ganglion logs train --rank 3 --namespace lab --context CONTEXT"


@pytest.fixture
def east(staff: Office) -> Office:
    """A cluster in which one Job runs, and one has ended."""
    rig, at = staff.rig, staff.rig.machine.time
    first: list[Delivered] = [*begun(at), submitted(at, "runs"), submitted(at, "over")]
    placing: list[Delivered] = [placed(at, "runs", "n0"), placed(at, "over", "n1")]
    then: list[Delivered] = [pulled(at, "runs"), pulled(at, "over"), ended(at + 1, "over")]
    batch = turns(([*first, SchedulerSettled(at)], placing), (then, []))
    rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    return staff


def problem(east: Office, path: str) -> dict[str, Any]:
    found: dict[str, Any] = east.owner.get(f"{API}/workloads/{path}").json()
    return found


def test_who_asks_the_server_for_a_log_is_told_the_command(east: Office) -> None:
    command = f"{AT} logs job/runs --container train"
    (shown,) = problem(east, "runs")["gangs"]
    assert shown["logs_by"] == command
    said = problem(east, "runs/logs")
    assert (said["status"], said["hint"].partition(";")[0]) == (409, f"there: {command}")
    assert "east" in said["detail"]
    assert problem(east, "runs/logs?follow=true")["status"] == 409
    beyond = problem(east, "runs/logs?rank=1")
    assert (beyond["status"], beyond["hint"]) == (404, "its ranks are 0 to 0")


def test_of_ended_work_the_command_works_while_its_pods_are_there(east: Office) -> None:
    said = problem(east, "over/logs")
    assert (said["status"], said["hint"]) == (404, f"{AT} logs job/over --container train")
    assert "while its pods are there" in said["detail"]


def test_a_log_is_refused_without_a_hint_to_who_may_not_see_the_work(east: Office) -> None:
    vera = east.user("vera", "viewer", "vision")
    answer = vera.get(f"{API}/workloads/runs/logs")
    assert answer.status_code == 404
    assert "kubectl" not in answer.text
