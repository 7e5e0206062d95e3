"""What can be seen at one moment, and waiting until something can be."""

import time
from collections.abc import Callable, Iterator

from msgspec import Struct

from ganglion.api.workloads import WorkloadDetail, WorkloadView
from ganglion.client import Client
from ganglion.model.errors import GanglionError
from ganglion.model.placement import Placement

PERIOD_S = 0.4
HOLDING = ("starting", "running", "stopping")


class DemoFailed(GanglionError):
    """Something that the demo promises did not happen."""

    code = "demo"


class ClusterMoment(Struct):
    """The cluster at one moment.

    Attributes:
        workloads: in order of submission; those that are not over with their gangs.
    """

    workloads: list[WorkloadView | WorkloadDetail]

    @property
    def placed(self) -> Iterator[tuple[WorkloadDetail, Placement]]:
        """Every gang that holds devices: its workload and where."""
        for view in self.workloads:
            if isinstance(view, WorkloadDetail):
                for gang in view.gangs:
                    if gang.phase in HOLDING and gang.placement:
                        yield view, gang.placement

    def of(self, name: str) -> WorkloadView | WorkloadDetail:
        """Return the newest workload of a name. Raises DemoFailed when there is none."""
        for view in reversed(self.workloads):
            if view.name == name:
                return view
        raise DemoFailed(f"the server does not know {name}")

    def where(self, ref: str) -> dict[str, int]:
        """Return how many thousandths of GPUs a workload holds, by node."""
        held: dict[str, int] = {}
        for view, placement in self.placed:
            for pod in placement.pods if view.id == ref else ():
                held[pod.node] = held.get(pod.node, 0) + len(pod.devices) * (pod.milli or 1000)
        return held


class ClusterWatch:
    """Looks at the server again and again.

    Args:
        client: connection to it.
        show: called with every scene.
        deadline_s: how long the whole demo may take.
    """

    def __init__(
        self, client: Client, show: Callable[[ClusterMoment], None], deadline_s: float = 230.0
    ) -> None:
        self._client, self._show = client, show
        self._deadline = time.monotonic() + deadline_s

    def look(self) -> ClusterMoment:
        """Return the present scene, after it was shown."""
        page = self._client.workloads(ended=True, limit=100)
        views = sorted(page.items, key=lambda view: int(view.id.rpartition("-")[2]))
        scene = ClusterMoment(
            [view if view.over else self._client.workload(view.id) for view in views]
        )
        self._show(scene)
        return scene

    def until(self, what: str, holds: Callable[[ClusterMoment], bool]) -> ClusterMoment:
        """Look until `holds`; return that scene. Raises DemoFailed when time is up."""
        while True:
            scene = self.look()
            if holds(scene):
                return scene
            if time.monotonic() > self._deadline:
                states = ", ".join(f"{each.id} {each.state}" for each in scene.workloads)
                raise DemoFailed(f"time is up while waiting until {what}", states)
            time.sleep(PERIOD_S)
