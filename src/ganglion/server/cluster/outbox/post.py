"""Sending records to a server over HTTP, with the token of a role that may do nothing else."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec

from ganglion.api.events import DeliveryBatch, DeliveryPosition
from ganglion.model.errors import EnvironmentFault, GanglionError, InputError
from ganglion.model.events import DeliveryRecord
from ganglion.model.events.policy import ClusterMoney
from ganglion.transport.http import Bearer, proven_transport, tls_context, tls_trouble

TIMEOUT_S = 30.0
_ENCODE = msgspec.json.Encoder()
_JSON = {"Content-Type": "application/json"}


class DeliveryRefused(EnvironmentFault):
    """A server does not take the records of a cluster.

    Attributes:
        status: of its answer; 0 = that was no refusal, and cannot be understood.
    """

    code = "environment.delivery"
    status = 0


class ServerLine:
    """One server, for the scheduler of one cluster. Safe from any thread.

    Over plain HTTP the server has to prove that it knows the token before the token is sent;
    over TLS its certificate says who it is, by `$GANGLION_CA_FILE` where that is set.

    Args:
        url: of the server.
        cluster: name under which the scheduler is known there.
        token: reads the token, which may change.
        transport: replaces the network, for tests.

    Raises:
        InputError: the URL is none.
    """

    def __init__(
        self,
        url: str,
        cluster: str,
        token: Callable[[], str],
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        try:
            parsed = httpx2.URL(url)
        except httpx2.InvalidURL:
            parsed = httpx2.URL("")
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise InputError(f"not the URL of a server: {url!r}", "as http://ganglion-server:7077")
        self._url, self._path = url.rstrip("/"), f"/api/v1/clusters/{quote(cluster)}"
        self._bearer = bearer = Bearer(token)
        if transport is None and parsed.scheme == "http":
            transport = proven_transport(bearer)
        how: dict[str, Any] = {} if transport else {"verify": tls_context()}
        timeout = httpx2.Timeout(TIMEOUT_S)
        self._client = httpx2.Client(
            base_url=self._url, auth=bearer, timeout=timeout, transport=transport, **how
        )

    def send(self, what: str, body: object, timeout_s: float = TIMEOUT_S) -> bytes:
        """Send something of the cluster; returns the answer.

        Args:
            what: end of the path, as `records`.
            body: is sent as JSON.
            timeout_s: how long the answer may take.

        Raises:
            EnvironmentFault: the server cannot be reached, or is not ready.
            DeliveryRefused: it does not take it.
        """
        if not self._bearer.token and not self._bearer.renew():
            raise EnvironmentFault(
                "there is no token for the server", "put it into the file of --deliver-token"
            )
        path, content = f"{self._path}/{what}", _ENCODE.encode(body)
        try:
            answer = self._client.post(path, content=content, headers=_JSON, timeout=timeout_s)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        if answer.is_error:
            raise self._refused(answer)
        return answer.content

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _unreachable(self, error: httpx2.HTTPError) -> EnvironmentFault:
        trouble = tls_trouble(error, self._url)
        said = str(error) or type(error).__name__
        return trouble or EnvironmentFault(
            f"cannot reach {self._url}: {said}", "records wait in the outbox"
        )

    def _refused(self, answer: httpx2.Response) -> GanglionError:
        try:
            said = msgspec.json.decode(answer.content, type=dict[str, object])
        except msgspec.MsgspecError:
            said = {}
        message = f"{self._url} answered {answer.status_code}: {said.get('detail', '')}"
        hint = str(said.get("hint", ""))
        if answer.status_code >= httpx2.codes.INTERNAL_SERVER_ERROR:
            return EnvironmentFault(message, hint)
        refused = DeliveryRefused(message, hint)
        refused.status = answer.status_code
        return refused


class DeliveryLine(ServerLine):
    """One server, for the records of one cluster; the arguments are those of `ServerLine`."""

    def post(self, scheduler: str, records: Sequence[DeliveryRecord]) -> int:
        """Send records; returns the number of the scheduler's last one in the ledger.

        Raises:
            EnvironmentFault, DeliveryRefused: as `send`.
        """
        return self._answer(scheduler, records).position

    def money(self, scheduler: str) -> ClusterMoney | None:
        """Ask for prices and budgets; None = the server is of a version that has none for clusters.

        Raises:
            EnvironmentFault, DeliveryRefused: as `send`.
        """
        found = self._answer(scheduler, ()).money
        try:
            return None if found is None else msgspec.convert(found, ClusterMoney)
        except msgspec.ValidationError as error:
            raise DeliveryRefused(f"{self._url}: unexpected budgets: {error}") from error

    def _answer(self, scheduler: str, records: Sequence[DeliveryRecord]) -> DeliveryPosition:
        content = self.send("records", DeliveryBatch(scheduler, tuple(records)))
        try:
            return msgspec.json.decode(content, type=DeliveryPosition)
        except msgspec.MsgspecError as error:
            raise DeliveryRefused(f"{self._url}: unexpected answer: {error}") from error
