"""Logs of pods, through the API server: one of each pod, whatever runs in it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from time import monotonic
from typing import NamedTuple

from ganglion.cli.cluster.seats import ClusterGang, crowds
from ganglion.model.errors import NotFound, StateError
from ganglion.specs.grammar.times.durations import parse_duration
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent, InvalidRequest
from ganglion.worlds.kubernetes.submit.finding import find
from ganglion.worlds.kubernetes.submit.manifests.pod import CONTAINER
from ganglion.worlds.kubernetes.submit.objects import SeenPod
from ganglion.worlds.kubernetes.submit.places import place

PERIOD_S = 0.5
"""How often a pod that has not begun, or its successor, is looked for."""
SILENCE_S = 86_400.0
"""Longest silence of a log that is followed."""
BEGUN = ("Running", "Succeeded", "Failed")


class LogPart(NamedTuple):
    """Which part of a log is wanted.

    Attributes:
        tail: only this number of last lines.
        since: only what was written within that time, as `10m`.
        follow: go on until the gang has ended.
        previous: of the pod, or the container, before.
    """

    tail: int | None = None
    since: str | None = None
    follow: bool = False
    previous: bool = False


class Log:
    """The log of one seat of a gang.

    Args:
        api: the cluster.
        namespace: where the workload is.
        name: of the workload.
        index: number of the gang.
        rank: number of the pod in it.
    """

    def __init__(self, api: Api, namespace: str, name: str, index: int, rank: int) -> None:
        self._api, self._namespace, self._name = api, namespace, name
        self._index, self._rank = index, rank

    async def read(self, part: LogPart) -> AsyncGenerator[bytes, None]:
        """Yield the log in pieces of whole lines.

        Raises:
            NotFound: there is no such workload, gang or pod.
            StateError: nothing has been written yet.
        """
        source = self._followed(part) if part.follow else self._once(part)
        async for piece in source:
            yield piece

    async def _once(self, part: LogPart) -> AsyncGenerator[bytes, None]:
        crowd = await self._crowd()
        pod, previous = self._chosen(crowd, earlier=part.previous)
        params = _params(part) | ({"previous": "true"} if previous else {})
        try:
            async for piece in self._pieces(pod, params):
                yield piece
        except InvalidRequest as error:
            hint = f"see `ganglion why {self._name}`"
            raise StateError(f"{pod.metadata.name} has no log: {error.said}", hint) from error

    async def _followed(self, part: LogPart) -> AsyncGenerator[bytes, None]:
        """The pod in the seat, then the one that takes its place, to the end of the gang."""
        params = _params(part) | {"follow": "true"}
        done: set[str] = set()
        while True:
            crowd = await self._crowd(gone_is_over=bool(done))
            pod = self._newest(crowd) if crowd else None
            if pod and pod.metadata.uid not in done and pod.status.phase in BEGUN:
                began = monotonic()
                async for piece in self._kept(pod, params):
                    yield piece
                # The stream of a pod that runs on is resumed from where it broke off.
                if await self._runs_on(pod):
                    params = {"follow": "true", "sinceSeconds": str(int(monotonic() - began) or 1)}
                    continue
                done.add(pod.metadata.uid)
                params = {"follow": "true"}
            elif crowd is None or crowd.ended() is not None or _is_leaving(crowd):
                return
            else:
                await asyncio.sleep(PERIOD_S)

    async def _kept(self, pod: SeenPod, params: dict[str, str]) -> AsyncGenerator[bytes, None]:
        """The log of a pod; one that is deleted while it is read has ended."""
        try:
            async for piece in self._pieces(pod, params):
                yield piece
        except (Absent, InvalidRequest):
            await asyncio.sleep(PERIOD_S)

    async def _pieces(self, pod: SeenPod, params: dict[str, str]) -> AsyncGenerator[bytes, None]:
        path = f"{place('Pod', self._namespace, pod.metadata.name)}/log"
        query = {"container": CONTAINER, **params}
        async for lines in self._api.batches(path, query, silence_s=SILENCE_S):
            yield b"".join(line + b"\n" for line in lines)

    async def _runs_on(self, pod: SeenPod) -> bool:
        try:
            now = await self._api.get(place("Pod", self._namespace, pod.metadata.name), SeenPod)
        except Absent:
            return False
        return now.metadata.uid == pod.metadata.uid and now.status.phase == "Running"

    async def _crowd(self, *, gone_is_over: bool = False) -> ClusterGang | None:
        found = await find(self._api, self._namespace, self._name)
        if not found and gone_is_over:
            return None
        gangs = crowds(found[0]) if found else []
        if not found:
            raise NotFound(f"there is no workload {self._name!r} in {self._namespace}")
        return _numbered(gangs, self._index, self._name)

    def _newest(self, crowd: ClusterGang) -> SeenPod | None:
        pods = crowd.seats().get(self._rank)
        if pods:
            return pods[-1]
        if self._rank >= max(crowd.wanted, 1):
            hint = f"they are numbered 0 to {crowd.wanted - 1}"
            raise NotFound(f"{self._name}/{self._index} has no pod {self._rank}", hint)
        return None

    def _chosen(self, crowd: ClusterGang | None, *, earlier: bool) -> tuple[SeenPod, bool]:
        """The pod to read, and whether its container before the last restart is meant."""
        newest = self._newest(crowd) if crowd else None
        if newest is None or crowd is None:
            hint = f"see `ganglion why {self._name}`"
            raise StateError(f"{self._name}/{self._index} has no pod {self._rank} yet", hint)
        if not earlier:
            return newest, False
        before = crowd.seats()[self._rank][:-1]
        if any(each.restart_count for each in newest.status.container_statuses):
            return newest, True
        if not before:
            raise NotFound(f"{newest.metadata.name} is the first pod in its place")
        return before[-1], False


def _numbered(gangs: Sequence[ClusterGang], index: int, name: str) -> ClusterGang:
    found = next((crowd for crowd in gangs if crowd.index == index), None)
    if found is None:
        raise NotFound(f"{name} has no number {index}", f"it has {len(gangs)}, from 0")
    return found


def _is_leaving(crowd: ClusterGang) -> bool:
    return any(main.metadata.deletion_timestamp for main in crowd.mains)


def _params(part: LogPart) -> dict[str, str]:
    found = {} if part.tail is None else {"tailLines": str(part.tail)}
    if part.since is not None:
        found["sinceSeconds"] = str(max(1, parse_duration(part.since) // 1000))
    return found
