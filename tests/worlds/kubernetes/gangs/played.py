"""Objects of every kind in a namespace and on nodes of their own, so that all can be tested at
once: what happens in one says nothing about another."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from tests.controlplane.cluster import Cluster, Refused
from tests.worlds.kubernetes.controllers import HELPERS, REAL, made_by
from tests.worlds.kubernetes.scheduling import why

Body = dict[str, Any]
NOT_YET = (404, 429, 503)
POOL = "pool"
ABSENT_S = 60.0
"""Longer than a scheduler waits before it asks again for a kind that was absent."""
Later = Callable[[Body], bool]


def never(_: Body) -> bool:
    """Nothing is late."""
    return False


class Space:
    """A namespace whose pods run on the nodes of a pool of the same name.

    Args:
        cluster: where.
        name: of both.
        node: what its nodes are like; by default 8 GPUs.
    """

    def __init__(self, cluster: Cluster, name: str, **node: Any) -> None:
        self.cluster, self.name = cluster, cluster.add_namespace(name)
        self._node, self._nodes = node, 0

    def add_nodes(self, count: int) -> None:
        """Add this number of nodes."""
        for _ in range(count):
            name = f"{self.name}-n{self._nodes}"
            self.cluster.add_nodes(1, prefix=name, labels={POOL: self.name}, **self._node)
            self._nodes += 1

    def play(self, body: Body, real: frozenset[str] = REAL, late: Later = never) -> list[Body]:
        """Create an object, and what comes of it that no real controller makes.

        Args:
            body: the object.
            real: kinds whose controllers run.
            late: what is not made yet.

        Returns:
            What is late, to be played later.
        """
        helpers = {key: body[key] for key in HELPERS if key in body}
        kept = self.create({key: value for key, value in body.items() if key not in HELPERS})
        held: list[Body] = []
        for made in made_by({**kept, **helpers}) if body["kind"] not in real else ():
            held += [made] if late(made) else self.play(made, real, late)
        return held

    def create(self, body: Body) -> Body:
        """Create one object whose pods, if any, keep to the pool; its kind may be new."""
        given = deepcopy(body)
        given["metadata"]["namespace"] = self.name
        _pin(given, self.name)
        if given["kind"] == "SparkApplication":  # its pods have no templates to be pinned
            given["spec"]["nodeSelector"] = {POOL: self.name}

        def create() -> Body | None:
            try:
                return self.cluster.create(given)[0]
            except Refused as refused:
                if refused.status not in NOT_YET:
                    raise
                return None

        return dict(self.cluster.wait(create, f"{given['kind']} to be served"))

    def pods(self) -> dict[str, Body]:
        """Its living pods by name."""
        return {
            name: pod
            for name, pod in self.cluster.pods(self.name).items()
            if pod["status"].get("phase") not in ("Succeeded", "Failed")
            and "deletionTimestamp" not in pod["metadata"]
        }

    def bound(self) -> dict[str, str]:
        """Its living pods that are bound -> their nodes."""
        return {
            name: pod["spec"]["nodeName"]
            for name, pod in self.pods().items()
            if "nodeName" in pod["spec"]
        }

    def reasons(self) -> dict[str, str]:
        """Its living pods that say why they wait -> why."""
        return {name: why(pod) for name, pod in self.pods().items() if why(pod)}

    def path(self, kind: str, name: str) -> str:
        """Where an object of a kind that comes with Kubernetes is."""
        groups = {"pods": "/api/v1", "jobs": "/apis/batch/v1", "statefulsets": "/apis/apps/v1"}
        return f"{groups[kind]}/namespaces/{self.name}/{kind}/{name}"

    def delete_pod(self, name: str) -> None:
        """Delete a pod at once."""
        self.cluster.delete(self.path("pods", name), grace=0)

    def wait(self, ready: Callable[[], object], what: str) -> Any:
        """Ask until it is so; what is the case if it never is."""
        try:
            return self.cluster.wait(ready, what, ABSENT_S)
        except AssertionError as error:
            raise AssertionError(f"{self.name}: {error}; {self.seen()}") from None

    def wait_told(self, pods: int) -> None:
        """Wait until this number of pods is there and all say why they wait; none may be bound."""
        self.wait_waiting(pods)
        assert not self.bound(), self.seen()

    def wait_waiting(self, pods: int) -> None:
        """Wait until this number of pods says why they wait, whatever others do."""
        self.wait(lambda: len(self.reasons()) == pods, f"{pods} pods that say why they wait")

    def wait_bound(self, pods: int) -> dict[str, str]:
        """Wait until this number of pods is bound; their nodes."""
        self.wait(lambda: len(self.bound()) == pods, f"{pods} pods bound")
        return self.bound()

    def seen(self) -> dict[str, str]:
        """Every pod -> its node, or why it waits."""
        return {
            name: pod["spec"].get("nodeName") or why(pod) or "-"
            for name, pod in self.pods().items()
        }


def _pin(found: Any, pool: str) -> None:
    if isinstance(found, list):
        for each in found:
            _pin(each, pool)
    elif isinstance(found, dict):
        if "containers" in found:
            found["nodeSelector"] = {POOL: pool}
        for each in found.values():
            _pin(each, pool)
