"""Logs of pods, read through the API server with the account of the scheduler."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import NamedTuple

from msgspec.structs import replace

from ganglion.api.asked.answers import LogLines, QuestionAnswer
from ganglion.api.asked.questions import ClusterQuestion, LogQuestion
from ganglion.model.errors import Conflict, EnvironmentFault, NotFound
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.server.cluster.questions.lines import NewLines, Rotated
from ganglion.server.cluster.questions.pods import (
    GangSeat,
    check_begun,
    container_of,
    is_over,
    pods_of,
    seat,
    status_of,
)
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import (
    Absent,
    ApiError,
    ApiUnavailable,
    ForbiddenRequest,
    InvalidRequest,
)
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.types.pod import Pod

LARGEST = 512 << 10
"""Most bytes of one answer."""
MOST_READ = 64 << 20
"""Most bytes that are read of a log for one answer: those that are known are skipped."""
SPARE_S = 0.5
"""How much earlier than it is waited for an answer is given up: it is said why."""


class LogsForbidden(EnvironmentFault):
    """The account of the scheduler may not read logs of pods."""

    code = "environment.logs"


class _Chosen(NamedTuple):
    pod: Pod
    container: str
    previous: bool


class LogAnswers:
    """Reads logs for a server.

    Args:
        scheduler: knows which pods have which ranks.
        endpoints: clusters by name.
        open_api: connects to one, within the loop of one answer.
        clock: the time.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        endpoints: Mapping[str, ApiEndpoint],
        open_api: Callable[[ApiEndpoint], Api] = Api,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._scheduler, self._endpoints = scheduler, endpoints
        self._open, self._clock = open_api, clock

    def __call__(self, question: ClusterQuestion, within_s: float) -> QuestionAnswer:
        """Read a part of a log. The state is held for a look at the seat, and not for reading.

        Raises:
            NotFound: there is no such pod, or no longer.
            Conflict: nothing was written yet.
            LogsForbidden: the scheduler may not read logs.
            EnvironmentFault: the kubelet or the API server does not answer.
        """
        assert isinstance(question, LogQuestion)
        with self._scheduler.read() as controller:
            known = seat(controller, question.gang, question.rank)
        part = asyncio.run(self._within(known, question, max(within_s - SPARE_S, SPARE_S)))
        return QuestionAnswer("", "", self._clock.now_ms(), log=part)

    async def _within(self, known: GangSeat, question: LogQuestion, within_s: float) -> LogLines:
        api = self._open(self._endpoints[known.cluster])
        try:
            async with asyncio.timeout(within_s):
                return await self._part(api, known, question)
        except TimeoutError:
            node = known.pod.spec.node_name if known.pod else ""
            where = f"the kubelet of node {node}" if node else "its cluster"
            raise EnvironmentFault(
                f"{where} did not send the log within {within_s:g} s",
                "see whether the node is ready: kubectl get nodes",
            ) from None
        finally:
            await api.close()

    async def _part(self, api: Api, known: GangSeat, question: LogQuestion) -> LogLines:
        try:
            chosen = await self._chosen(api, known, question)
            check_begun(chosen.pod, chosen.container)
            try:
                return await self._read(api, chosen, question)
            except Rotated:  # what is known of it is older than the file that is left
                return await self._read(api, chosen, replace(question, skip=0, mark=""))
        except ApiError as error:
            raise _said(error, known, question) from error

    async def _chosen(self, api: Api, known: GangSeat, question: LogQuestion) -> _Chosen:
        """The pod and container that are meant.

        Raises:
            NotFound: there is none.
        """
        pod = known.pod
        if pod and not question.previous:
            return _Chosen(pod, container_of(pod), previous=False)
        if pod and status_of(pod, container_of(pod)).restart_count:
            return _Chosen(pod, container_of(pod), previous=True)
        found = await pods_of(api, question.namespace, known.gang, question.rank)
        if question.previous:
            found = found[:-1]
        if not found:
            what = "no pod before this one" if question.previous else "no pod"
            raise NotFound(
                f"{question.gang} has {what} of rank {question.rank} any more, or not yet",
                "a cluster keeps logs for as long as their pods are there",
            )
        return _Chosen(found[-1], container_of(found[-1]), previous=False)

    async def _read(self, api: Api, chosen: _Chosen, question: LogQuestion) -> LogLines:
        pod = chosen.pod
        fresh = NewLines(
            min(question.limit or LARGEST, LARGEST),
            question.skip,
            question.mark,
            question.after if question.after and not question.mark else "",
        )
        path = f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}/log"
        async with aclosing(api.pieces(path, _query(chosen, question))) as pieces:
            async for piece in pieces:
                if fresh.take(piece):
                    break
        over = chosen.previous or is_over(pod, chosen.container)
        text = fresh.text(over=over)
        return LogLines(
            text,
            pod.metadata.name,
            pod.metadata.uid,
            chosen.container,
            fresh.more,
            over and not fresh.more,
        )


def _query(chosen: _Chosen, question: LogQuestion) -> dict[str, str | int | bool]:
    wanted: dict[str, str | int | bool] = {
        "container": chosen.container,
        "timestamps": True,
        "limitBytes": MOST_READ,
    }
    if question.tail is not None:
        wanted["tailLines"] = question.tail
    if question.since:
        wanted["sinceTime"] = question.since
    if chosen.previous:
        wanted["previous"] = True
    return wanted


def _said(error: ApiError, known: GangSeat, question: LogQuestion) -> Exception:
    """What a refusal of the API server, or of the kubelet behind it, means."""
    name = known.pod.metadata.name if known.pod else f"rank {question.rank} of {question.gang}"
    if isinstance(error, ForbiddenRequest):
        return LogsForbidden(
            f"the scheduler may not read logs of pods: {error.said}",
            "let it: history.logs of the chart, which is the right get pods/log",
        )
    if isinstance(error, Absent):
        return NotFound(f"the log of {name} is gone: {error.said}", "its pod was deleted")
    if isinstance(error, InvalidRequest):
        return Conflict(f"{name} has no log: {error.said}", "to wait for one, follow the log")
    if isinstance(error, ApiUnavailable):
        node = known.pod.spec.node_name if known.pod else ""
        behind = f"the kubelet of node {node}" if node else "the API server"
        return EnvironmentFault(
            f"{behind} does not send the log of {name}: {error.said or error.message}",
            "see whether the node is ready: kubectl get nodes",
        )
    return error
