"""A training of a queue whose budget is spent waits, and goes on once it is raised; on a real API
server.
"""

import time

import pytest

from ganglion.lifecycle.budgets import MoneyWord
from ganglion.model.events import GangEnded, Outcome, PriceSet
from ganglion.model.events.policy import ClusterMoney, StandingBudget
from ganglion.model.queue import Budget
from ganglion.pricing.zones import month_of
from ganglion.worlds.kubernetes.submit import compile_workload
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.pricing.build import priced
from tests.worlds.kubernetes.lifecycle.test_saved_work import JOB, Heard, the_pod
from tests.worlds.kubernetes.scheduling import scheduling, why
from tests.worlds.kubernetes.submit.make import workload

EUR = 1_000_000
GRACE_MS = 1_000
FILE = "{name: llama, image: i, run: [train], gpus: 2, checkpoint: {grace: 5s}}"
SUSPENDED = "suspended: the budget of queue east:default is spent"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"

pytestmark = pytest.mark.usefixtures("manager", "kubelets")


class _Server:
    """What a server says of the budget of `default`.

    Attributes:
        word: what it said last.
    """

    def __init__(self) -> None:
        self.word: MoneyWord | None = None

    def say(self, flavor: str, spent: int, limit: int) -> None:
        now = time.time_ns() // 1_000_000
        begin, _ = month_of(now, "UTC")
        budget = Budget("", limit * EUR, grace_ms=GRACE_MS)
        since = now - GRACE_MS if spent >= limit else 0
        standing = StandingBudget(budget, begin, spent * EUR, since)
        prices = (PriceSet(1, priced(EUR, flavor=flavor)),)
        self.word = MoneyWord(ClusterMoney(now, prices, {"east:default": standing}), now)


def test_a_training_is_suspended_for_a_spent_budget_and_goes_on_once_it_is_raised(
    cluster: Cluster,
) -> None:
    cluster.create(manifests.node("node-0", gpus=2))
    cluster.create(*compile_workload(workload(FILE), namespace="default"))
    server, heard = _Server(), Heard()
    with scheduling(cluster, turned=heard, money=lambda: server.word) as scheduler:
        first = cluster.wait(lambda: the_pod(cluster), "it runs")["metadata"]["uid"]
        with scheduler.read() as controller:
            (flavor,) = controller.scene.state.fleet.totals.flavors()
        server.say(flavor, 10, 10)

        def waiting() -> bool:
            pods = cluster.pods("default", labelSelector="ganglion.dev/workload=llama").values()
            new = [each for each in pods if each["metadata"]["uid"] != first]
            return len(pods) == 1 and any(why(each).startswith("budget: ") for each in new)

        cluster.wait(waiting, "its pod was made anew, and says that it waits for the budget")
        ends = [each for each in heard.events if isinstance(each, GangEnded)]
        assert [(each.outcome, each.requeue) for each in ends] == [(Outcome.SUSPENDED, True)]

        def told() -> set[str]:  # events are written after what matters more
            events = cluster.get(EVENTS)["items"]
            notes = {each["note"] for each in events if each["reason"] == "Budget"}
            return (
                notes if "suspended: the budget of queue east:default is spent" in notes else set()
            )

        notes = cluster.wait(told, "an event says why it was suspended")
        assert any("at its next checkpoint after a grace of 1 s" in each for each in notes)
        assert cluster.get(JOB)["status"].get("failed", 0) == 0
        server.say(flavor, 10, 100)
        cluster.wait(lambda: the_pod(cluster, first), "it runs again")
