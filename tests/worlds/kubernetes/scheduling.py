"""A scheduler at work on a cluster, with the rights that the manifests give it and no others."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ganglion.extensions import load
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import load as endpoint_of
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.rbac import Right, bind_chart_role

USER = "scheduler"


@contextmanager
def scheduling(
    cluster: Cluster,
    settings: Settings | None = None,
    *,
    rights: Sequence[Right] | None = None,
    **more: Any,
) -> Iterator[Scheduler]:
    """A scheduler at work; at the end nothing may have gone wrong.

    Args:
        cluster: where.
        settings: of the scheduler.
        rights: other rights than those of the manifests.
        more: further arguments of the scheduler.
    """
    endpoint = endpoint_of(bind_chart_role(cluster, USER, rights))
    options = {"may": lambda: True, "load": load, "settings": settings, **more}
    scheduler = Scheduler({"": endpoint}, "test", **options)
    scheduler.start()
    try:
        yield scheduler
        assert not scheduler.trouble
        assert [each for each in scheduler.troubles().values() if "forbidden" in each] == []
        with scheduler.read() as controller:
            controller.scene.state.validate()
    finally:
        scheduler.stop()


def why(pod: dict[str, Any]) -> str:
    """Why a pod waits, as it says; empty = it does not say."""
    conditions = pod["status"].get("conditions", ())
    found = (each for each in conditions if each["type"] == "PodScheduled")
    return next((each.get("message", "") for each in found if each["status"] == "False"), "")
