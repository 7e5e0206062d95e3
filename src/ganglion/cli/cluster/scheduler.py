"""What the scheduler of a cluster knows: its views, through the service proxy of the API server."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from urllib.parse import quote

from ganglion.api.reasons import Verdict, Why
from ganglion.api.workloads import WorkloadDetail, WorkloadPage, WorkloadView
from ganglion.cli.output.screen import note
from ganglion.model.errors import InputError, NotFound, StateError
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import (
    Absent,
    ApiError,
    ApiUnavailable,
    ForbiddenRequest,
    InvalidRequest,
    ObjectConflict,
)
from ganglion.worlds.kubernetes.submit.manifests.pod import Manifest

T = TypeVar("T")

VARIABLE = "GANGLION_SCHEDULER"
DEFAULT = "ganglion-system/ganglion:8080"
"""Namespace, service and port where the chart puts it."""
MOST_ROWS = 1000
STANDBY = "environment.standby"
"""Code of the answer of a scheduler that does not lead."""
MOST_TRIES = 12
"""The proxy asks any of them: of three, the one that leads is met in 99 of 100 commands."""
PAUSE_S = 0.05
UNAVAILABLE = 503
"""Of one that stands by, or of the proxy when it met one that is gone."""

_WHERE = re.compile(r"([a-z0-9-]+)/([a-z0-9-]+):([a-z0-9-]+)")


class SchedulerViews:
    """Asks the scheduler as long as it can be asked.

    Args:
        api: the cluster.
        namespace: whose workloads are of interest.

    Raises:
        InputError: `$GANGLION_SCHEDULER` is no `NAMESPACE/SERVICE:PORT`.
    """

    def __init__(self, api: Api, namespace: str) -> None:
        where = os.environ.get(VARIABLE) or DEFAULT
        found = _WHERE.fullmatch(where)
        if not found:
            raise InputError(f"${VARIABLE} is {where!r}", f"as {DEFAULT}")
        self._api, self._namespace, self._where = api, namespace, where
        home, service, port = found.groups()
        self._root = f"/api/v1/namespaces/{home}/services/http:{service}:{port}/proxy/v1"
        self._silent = False

    async def workloads(self) -> list[WorkloadView] | None:
        """What it knows of the namespace; None = it cannot be asked."""
        found: list[WorkloadView] = []
        after = ""
        while True:
            params = {"user": self._namespace, "limit": str(MOST_ROWS)}
            page = await self._get(
                "/workloads", WorkloadPage, params | ({"after": after} if after else {})
            )
            if page is None:
                return None
            found += page.items
            if not page.next:
                return found
            after = page.next

    async def workload(self, key: str) -> WorkloadDetail | None:
        """Everything about a workload; None = it cannot be asked, or knows nothing of it."""
        return await self._get(f"/workloads/{quote(key)}", WorkloadDetail)

    async def why(self, key: str) -> Why | None:
        """Why a workload waits; None = it cannot be asked, or knows nothing of it."""
        return await self._get(f"/workloads/{quote(key)}/why", Why)

    async def verdict(self, objects: Sequence[Manifest]) -> Verdict | None:
        """What would happen to objects that the cluster does not have; None = it cannot be asked.

        Raises:
            StateError: they would not be taken; says why.
        """
        path, body = f"{self._root}/rehearsals", {"objects": objects}
        params = {"user": self._namespace}
        try:
            return await self._known(
                lambda: self._api.create(path, body, Verdict, params=params, tries=1)
            )
        except (InvalidRequest, ObjectConflict) as error:
            raise StateError(f"the scheduler would not place it: {error.said}") from error

    async def _get(
        self, path: str, kind: type[T], params: dict[str, str] | None = None
    ) -> T | None:
        return await self._known(
            lambda: self._api.get(self._root + path, kind, params=params or {}, tries=1)
        )

    async def _known(self, ask: Callable[[], Awaitable[T]]) -> T | None:
        if self._silent:
            return None
        try:
            return await self._until_met(ask)
        except (Absent, ApiUnavailable, ForbiddenRequest) as error:
            if error.reason != NotFound.code:
                self._give_up(error)
            return None

    async def _until_met(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until one that leads is met; those that stand by know nothing."""
        failed: ApiUnavailable | None = None
        for _ in range(MOST_TRIES):
            try:
                return await ask()
            except ApiUnavailable as error:
                if error.status != UNAVAILABLE:
                    raise
                if failed is None or error.reason == STANDBY:
                    failed = error
            await asyncio.sleep(PAUSE_S)
        assert failed
        raise failed

    def _give_up(self, error: ApiError) -> None:
        """Say once that, and why, only the cluster itself is asked."""
        self._silent = True
        note(f"The scheduler at {self._where} cannot be used: {_why(error)}. The following")
        note(f"comes from the cluster alone. ${VARIABLE} can name another scheduler.")


def _why(error: ApiError) -> str:
    if error.reason == STANDBY:
        return f"no leader was reached ({error.said})"
    why = {ForbiddenRequest: "you may not use its service", Absent: "there is no such service"}
    return why.get(type(error), "it does not answer")
