"""Once a budget is spent and its grace is over, what runs in a cluster gives its place back."""

from typing import Any

import pytest

from ganglion.lifecycle.budgets import OLD_MS, MoneyWord
from ganglion.model.events import GangEnded, GangStopping, Outcome, PriceSet
from ganglion.model.events.policy import ClusterMoney, StandingBudget
from ganglion.model.queue import Budget
from ganglion.pricing.zones import month_of
from ganglion.worlds.kubernetes.cluster_view.orders import (
    Bind,
    Evict,
    Note,
    Say,
    Spare,
    Unsuspend,
)
from ganglion.worlds.kubernetes.reporting.reports import ReportSubject, notes_on
from ganglion.worlds.kubernetes.types.meta import Anything, Meta
from tests.controlplane import manifests
from tests.pricing.build import priced
from tests.worlds.kubernetes.controller.stage import Stage

EUR = 1_000_000
MINUTE_MS = 60_000
GRACE_MS = 15 * MINUTE_MS
NAME = "train"
AHEAD_MS = 7_000_000
"""By how much the clock of the server is ahead."""


class _Cluster:
    """A node with eight GPUs, and one thing of eight GPUs that runs there."""

    def __init__(self, job: dict[str, Any] | None, pod: dict[str, Any]) -> None:
        self.stage, self.job, self.pod = Stage(), job, pod
        self.spent_at = 0
        pod |= {"status": {"phase": "Running", "startTime": "1970-01-01T00:16:40Z"}}
        pod["spec"]["nodeName"] = "n0"
        self.stage.show(manifests.node("n0", gpus=8), *([job] if job else []), pod)
        self.stage.turn()
        assert self.gang in self.stage.controller.scene.attempts.by_gang

    @property
    def gang(self) -> str:
        (gang,) = self.stage.controller.scene.gangs.founds
        return gang

    def hear(self, spent: int, limit: int = 10, *, at: int | None = None) -> None:
        """The server says what is spent, in EUR; people know it from the first time on."""
        stage = self.stage
        at = stage.now if at is None else at
        self.spent_at = (self.spent_at or stage.now) if spent >= limit else 0
        (flavor,) = stage.controller.scene.state.fleet.totals.flavors()
        begin, _ = month_of(stage.now, "UTC")
        since = self.spent_at and self.spent_at + AHEAD_MS
        standing = StandingBudget(Budget("", limit * EUR), begin, spent * EUR, since)
        price = PriceSet(1, priced(EUR, flavor=flavor))
        money = ClusterMoney(at + AHEAD_MS, (price,), {"east:default": standing})
        stage.controller.scene.state.hear_money(money, stage.now)
        stage.controller.budgets.hear(MoneyWord(money, at))

    def later(self, ms: int, spent: int = 10, limit: int = 10) -> list[Evict]:
        """The server says every minute what is spent; the evictions that were ordered."""
        found = []
        until = self.stage.now + ms
        while self.stage.now < until:
            self.stage.turn(after_ms=min(MINUTE_MS, until - self.stage.now))
            found += self.stage.ordered(Evict)
            self.hear(spent, limit)
        self.stage.turn()
        return found + self.stage.ordered(Evict)

    def notes(self) -> list[str]:
        return [each.message for each in self.stage.ordered(Note) if each.reason == "Budget"]


def _job(**annotations: str) -> _Cluster:
    meta = {"name": NAME, "namespace": "default", "uid": NAME}
    spec: dict[str, Any] = {"parallelism": 1, "completions": 1, "suspend": False}
    job: dict[str, Any] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": spec,
        "status": {},
    }
    return _Cluster(job, _pod("train-x", **annotations))


def _pod(name: str, **annotations: str) -> dict[str, Any]:
    owner: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", "name": NAME, "uid": NAME}
    owner["controller"] = True
    labels = {"job-name": NAME}
    notes = {f"ganglion.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return manifests.pod(name, gpus=8, owner=owner, labels=labels, annotations=notes)


def _bare(**annotations: str) -> _Cluster:
    notes = {f"ganglion.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return _Cluster(None, manifests.pod("alone", gpus=8, annotations=notes))


def test_a_job_is_suspended_at_its_checkpoint_after_the_grace_and_waits_for_the_budget() -> None:
    cluster = _job(checkpoint_interval="40m")
    stage = cluster.stage
    cluster.hear(3)
    stage.turn()
    assert "lasts less than an hour of what runs" in cluster.notes()[0]
    cluster.hear(10)
    stage.turn()
    (said,) = cluster.notes()
    assert said == (
        "the budget of queue east:default is spent: it is suspended at its next checkpoint after"
        " a grace of 15 min"
    )
    assert cluster.later(GRACE_MS) == []
    (evict,) = cluster.later(50 * MINUTE_MS)
    assert evict.owner and evict.owner.name == NAME
    assert evict.beneficiary == "the budget of queue east:default"
    # The cluster carries it out, and the owner makes the pod anew once it may.
    assert cluster.job
    cluster.job["spec"]["suspend"] = True
    cluster.job["metadata"]["annotations"] = {"ganglion.dev/suspended-for": evict.beneficiary}
    stage.show(cluster.job)
    stage.remove(cluster.pod)
    stage.turn()
    (ended,) = [each for each in stage.controller.scene.facts.taken if isinstance(each, GangEnded)]
    assert (ended.outcome, ended.requeue) == (Outcome.SUSPENDED, True)
    assert stage.nodes_of(evict.gang) == []
    stage.turn()
    cluster.job["spec"]["suspend"] = False
    cluster.job["metadata"]["annotations"] = {}
    stage.show(cluster.job, _pod("train-y", checkpoint_interval="40m"))
    stage.turn()
    assert not stage.ordered(Bind)
    assert {each.message.partition(":")[0] for each in stage.ordered(Say)} == {"budget"}
    cluster.hear(10, 100)
    stage.turn()
    assert stage.ordered(Bind)


def test_nothing_is_suspended_by_old_numbers() -> None:
    cluster = _job()
    cluster.hear(10)
    cluster.stage.turn(after_ms=OLD_MS)
    cluster.stage.turn(after_ms=2 * GRACE_MS)
    assert not cluster.stage.ordered(Evict)
    cluster.hear(10, at=0)  # as it was kept from before a restart
    cluster.stage.turn()
    assert not cluster.stage.ordered(Evict)
    cluster.hear(10)
    cluster.stage.turn()
    assert cluster.stage.ordered(Evict)


def test_a_budget_that_is_raised_in_the_grace_stops_nothing() -> None:
    cluster = _job()
    cluster.hear(10)
    assert cluster.later(10 * MINUTE_MS) == []
    assert cluster.later(2 * GRACE_MS, limit=100) == []


@pytest.mark.parametrize("limit", [True, False])
def test_a_pod_that_nothing_makes_anew_says_what_becomes_of_it(limit: bool) -> None:
    cluster = _bare(time_limit="9h") if limit else _bare()
    cluster.hear(10)
    cluster.stage.turn()
    (said,) = cluster.notes()
    if limit:
        assert "it goes on until its time limit" in said
        assert cluster.later(2 * GRACE_MS) == []
        return
    assert "its pods are deleted after a grace of 15 min, and nothing makes them anew" in said
    (evict,) = cluster.later(GRACE_MS + MINUTE_MS)
    assert evict.owner is None


def test_replicas_of_the_floor_go_on_and_others_stop() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "web-1"}
    stage = Stage()
    above = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web"}
    meta = {"namespace": "default", "name": "web", "uid": "web"}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {}}
    replicas = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {**meta, "name": "web-1", "uid": "web-1"}
        | {"ownerReferences": [above | {"controller": True}]},
        "spec": {},
    }
    floor = {"ganglion.dev/floor": "1"}
    pods = [
        manifests.pod(
            f"web-{i}",
            gpus=2,
            owner=owner | {"controller": True},
            annotations=floor,
            nodeName="n0",
        )
        | {"status": {"phase": "Running"}}
        for i in range(3)
    ]
    stage.show(manifests.node("n0", gpus=8), deployment, replicas, *pods)
    stage.turn()
    cluster = _Cluster.__new__(_Cluster)
    cluster.stage, cluster.spent_at = stage, 0
    cluster.hear(10)
    assert len(cluster.later(GRACE_MS + 5 * MINUTE_MS)) == 2
    stopping = [e for e in stage.controller.scene.state.gangs.records.values() if e.stopping_at]
    assert len(stopping) == 2
    assert not any(isinstance(e, Unsuspend | GangStopping) for e in stage.orders)


SPENT = "the budget of queue east:default"


def _suspended() -> tuple[dict[str, Any], dict[str, Any]]:
    """A Job that another scheduler has suspended for the budget, and its pod, which still runs."""
    made = _job()
    assert made.job
    made.job["spec"]["suspend"] = True
    made.job["metadata"]["annotations"] = {"ganglion.dev/suspended-for": SPENT}
    return made.job, made.pod


def test_a_scheduler_that_takes_over_goes_on_with_what_leaves_for_a_budget() -> None:
    cluster = _Cluster(*_suspended())
    stage = cluster.stage
    (evict,) = stage.ordered(Evict)
    assert (evict.beneficiary, evict.owner and evict.owner.name) == (SPENT, NAME)
    assert not stage.ordered(Unsuspend)
    stage.remove(cluster.pod)
    stage.turn()
    (ended,) = [each for each in stage.controller.scene.facts.taken if isinstance(each, GangEnded)]
    assert (ended.outcome, ended.requeue) == (Outcome.SUSPENDED, True)
    assert not stage.ordered(Unsuspend)  # it is not known yet whether the budget holds it
    cluster.hear(10)
    stage.turn()
    assert [each.owner.name for each in stage.ordered(Unsuspend)] == [NAME]
    assert cluster.job
    cluster.job["spec"]["suspend"] = False
    cluster.job["metadata"]["annotations"] = {}
    stage.show(cluster.job, _pod("train-y"))
    stage.turn()
    assert not stage.ordered(Bind)
    assert {each.message.partition(":")[0] for each in stage.ordered(Say)} == {"budget"}


@pytest.mark.parametrize("is_told", [True, False])
def test_an_owner_whose_pods_left_for_a_budget_before_goes_on_once_budgets_are_known(
    is_told: bool,
) -> None:
    job, stage = _suspended()[0], Stage()
    stage.show(manifests.node("n0", gpus=8), job)
    stage.turn()
    stage.turn(after_ms=OLD_MS - 1_000)
    assert not stage.ordered(Unsuspend)
    if is_told:
        begin, _ = month_of(stage.now, "UTC")
        standing = StandingBudget(Budget("", 10 * EUR), begin, 10 * EUR, stage.now)
        said = ClusterMoney(stage.now, (), {"east:default": standing})
        stage.controller.scene.state.hear_money(said, stage.now)
        stage.controller.budgets.hear(MoneyWord(said, stage.now))
    stage.turn(after_ms=1 if is_told else 1_000)
    assert [each.owner.name for each in stage.ordered(Unsuspend)] == [NAME]


def test_pods_that_are_marked_for_a_budget_go_on_leaving_under_another_scheduler() -> None:
    pod = manifests.pod("alone", gpus=8, annotations={"ganglion.dev/victim-of": SPENT})
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    pod |= {"status": {"phase": "Running", "conditions": [condition]}}
    pod["spec"]["nodeName"] = "n0"
    stage = Stage()
    stage.show(manifests.node("n0", gpus=8), pod)
    stage.turn()
    (evict,) = stage.ordered(Evict)
    assert (evict.beneficiary, [each.name for each in evict.pods]) == (SPENT, ["alone"])
    assert not stage.ordered(Spare)


def test_a_queue_says_once_how_much_of_its_budget_is_spent() -> None:
    cluster, meta = _job(), Meta(name="default", uid="q")
    item = Anything(api_version="ganglion.dev/v1alpha1", kind="Queue", metadata=meta)
    queue, said = ReportSubject("", "Queue", item), []
    for spent in (7, 8, 8, 10):
        cluster.hear(spent)
        cluster.stage.turn()
        notes = notes_on([queue], cluster.stage.controller.budgets.news)
        said.append([each.message.partition(" of this month")[0] for each in notes])
    begins = "queue east:default has spent "
    assert said[0] == [f"{begins}50 % of its budget"]
    assert said[1] == [f"{begins}80 % of its budget"]
    assert said[2] == []
    assert said[3] == [f"{begins}95 % of its budget", f"{begins}its budget"]
