"""Looks at a workspace of a cluster: its notebook server, and what DCGM reports of its GPUs."""

from collections.abc import Callable, Sequence

import httpx2
from msgspec import Struct

from ganglion.lifecycle.workspaces.dcgm import labels_of, pod_of, readings
from ganglion.lifecycle.workspaces.gpus import GpuReading, gpu_sight
from ganglion.lifecycle.workspaces.kernels import Notebooks, kernel_sight
from ganglion.lifecycle.workspaces.look import Look, Loss
from ganglion.lifecycle.workspaces.observations import Sight, Witness
from ganglion.model.behaviour import Idle
from ganglion.worlds.dcgm import SPAN_MS
from ganglion.worlds.jupyter import JupyterProbe

TIMEOUT_S = 3.0


class WorkspacePlace(Struct, frozen=True):
    """Where a workspace is.

    Attributes:
        namespace, pod: its pod.
        url: of its notebook server.
        token: what that wants to see; empty = nothing.
        gpus: how many GPUs it has.
        shared: whether others compute on them too.
        exporters: URLs of DCGM exporters on its node.
        idle: below what GPUs do nothing.
    """

    namespace: str
    pod: str
    url: str
    token: str = ""
    gpus: int = 0
    shared: bool = False
    exporters: tuple[str, ...] = ()
    idle: Idle = Idle()


class ClusterOnlooker:
    """Looks at one pod; see `ganglion.worlds.onlooker.Onlooker`.

    Args:
        place: the pod.
        clock: the time in ms.
    """

    def __init__(self, place: WorkspacePlace, clock: Callable[[], int]) -> None:
        self._place, self._clock = place, clock
        self._jupyter = JupyterProbe(place.url, place.token, TIMEOUT_S)
        self._http = httpx2.Client(timeout=TIMEOUT_S, trust_env=False)

    @property
    def required(self) -> frozenset[Witness]:
        """The notebook server, and GPUs where there are any."""
        return frozenset({Witness.KERNELS} | ({Witness.GPU} if self._place.gpus else set()))

    def look(self) -> Look:
        """What can be seen now."""
        now = self._clock()
        notebooks = self._jupyter.ask(now)
        sights = [kernel_sight(notebooks, now)]
        found = self._gpus(now) if self._place.gpus else []
        if self._place.gpus:
            sights.append(self._gpu_sight(found, now))
        return Look(now, tuple(sights), _loss(notebooks, found))

    def close(self) -> None:
        """Close connections."""
        self._jupyter.close()
        self._http.close()

    def _gpu_sight(self, found: Sequence[GpuReading], now: int) -> Sight:
        lacking = [None] * max(0, self._place.gpus - len(found))
        return gpu_sight([*found, *lacking], self._place.idle, now, shared=self._place.shared)

    def _gpus(self, now: int) -> list[GpuReading]:
        return [
            each
            for url in self._place.exporters
            for each in readings(self._own_lines(url), now, SPAN_MS).values()
        ]

    def _own_lines(self, url: str) -> str:
        """What an exporter says of this pod."""
        try:
            response = self._http.get(url)
            response.raise_for_status()
        except httpx2.HTTPError:
            return ""  # without a word the workspace is neither idle nor busy
        return "\n".join(each for each in response.text.splitlines() if self._is_own(each))

    def _is_own(self, line: str) -> bool:
        return (self._place.namespace, self._place.pod) == pod_of(labels_of(line))


def _loss(notebooks: Notebooks | None, gpus: Sequence[GpuReading]) -> Loss:
    return Loss(
        kernels=len(notebooks.kernels) if notebooks else 0,
        terminals=len(notebooks.terminals) if notebooks else 0,
        gpu_memory_mib=sum(each.memory_mib for each in gpus),
    )
