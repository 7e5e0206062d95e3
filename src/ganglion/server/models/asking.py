"""One question to a registry over HTTP: bounded in time and size, credentials never in errors."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
from msgspec import Struct

from ganglion.model.errors import FieldError, GanglionError, ModelRegistryDown
from ganglion.server.models.settings import HttpRegistry
from ganglion.specs.grammar.rules.models import ModelReference
from ganglion.specs.grammar.words import SECRET

MOST_BYTES = 1 << 20
"""Larger answers are not read."""
AGAIN = "nothing was changed; try again when the registry answers"
URL = "check the URL of the registry in models.yaml"
SIGN_IN = (401, 403)
MISSING = frozenset({400, 404, 410})
"""How registries answer that do not know what they are asked about."""

STALLED_S = 30.0
"""How long a registry may send nothing of a file."""
MOST_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
ANYWHERE = frozenset({"range", "accept-encoding"})
"""Headers that other places than the registry get, where it redirects to them."""

SecretValue = Callable[[str], str | None]
"""Name of a secret of the server's owner -> its value; None = none is kept."""


class RegistryAnswer(Struct, frozen=True):
    """What came back, whatever its status.

    Attributes:
        status: of HTTP.
        headers: by their names in lower case.
        body: at most `MOST_BYTES`.
    """

    status: int
    headers: dict[str, str]
    body: bytes


class RegistryContent:
    """A file while it arrives.

    Args:
        said: the answer.

    Attributes:
        status: of HTTP.
        headers: by their names in lower case.
    """

    def __init__(self, said: httpx2.Response) -> None:
        self.status, self.headers = said.status_code, dict(said.headers.items())
        self._said = said

    async def parts(self) -> AsyncGenerator[bytes]:
        """What has arrived, part by part. Raises ModelRegistryDown when nothing more does."""
        arriving = aiter(self._said.aiter_raw())
        try:
            while True:
                async with asyncio.timeout(STALLED_S):
                    part = await anext(arriving, None)
                if part is None:
                    return
                yield part
        except httpx2.HTTPError as error:
            raise _silent(str(self._said.url), error) from None
        except TimeoutError:
            problem = f"{self._said.url.host} has sent nothing of a file for {STALLED_S:g} s"
            raise ModelRegistryDown(problem, AGAIN) from None


class RegistryClient:
    """Asks registries.

    Args:
        secret: reads secrets of the server's owner.
        transport: carries requests; None = over the network.
    """

    def __init__(
        self, secret: SecretValue, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._secret, self._transport = secret, transport

    async def ask(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        method: str = "GET",
        params: Mapping[str, str] | None = None,
        answers: frozenset[int] = frozenset(),
        most: int = MOST_BYTES,
    ) -> RegistryAnswer:
        """Ask once; redirects are not followed.

        Args:
            url: what is asked.
            headers: of the request.
            method: of HTTP.
            params: of the query, where `url` has none.
            answers: statuses of failure or refusal from which the caller learns something.
            most: bytes of the answer that are read.

        Raises:
            ModelRegistryDown: it does not answer, or with a failure of its own.
        """
        host = urlsplit(url).netloc
        try:
            found = await self._asked(method, url, headers, params, most)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise _silent(url, error) from None
        if found is None:
            raise ModelRegistryDown(f"{host} answers with more than {most >> 20} MiB", URL)
        if found.status in answers:
            return found
        if found.status in SIGN_IN:
            raise refused(url, found.status)
        if found.status >= 500 or found.status == 429 or 300 <= found.status < 400:
            raise ModelRegistryDown(
                f"the registry of models at {host} answers HTTP {found.status}", AGAIN
            )
        return found

    async def _asked(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None,
        most: int,
    ) -> RegistryAnswer | None:
        """The answer; None = it is too long."""
        body = bytearray()
        client = httpx2.AsyncClient(transport=self._transport, timeout=None, trust_env=False)
        async with client, client.stream(method, url, params=params, headers=headers) as said:
            async for part in said.aiter_bytes():
                body += part
                if len(body) > most:
                    return None
            return RegistryAnswer(said.status_code, dict(said.headers.items()), bytes(body))

    @asynccontextmanager
    async def content(
        self, url: str, headers: Mapping[str, str], patience_s: float = STALLED_S
    ) -> AsyncIterator[RegistryContent]:
        """Ask for a file; redirects are followed, and other places get no credentials.

        Args:
            url: of the file.
            headers: of the request.
            patience_s: how long the first byte may take.

        Raises:
            ModelRegistryDown: nothing answers, or with redirects without end.
        """
        sent = {"accept-encoding": "identity", **headers}
        transport, limit = self._transport, httpx2.Timeout(STALLED_S, read=patience_s)
        async with httpx2.AsyncClient(
            transport=transport, timeout=limit, trust_env=False
        ) as client:
            for _ in range(MOST_REDIRECTS):
                request = client.build_request("GET", url, headers=sent)
                try:
                    said = await client.send(request, stream=True)
                except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                    raise _silent(url, error) from None
                try:
                    if said.status_code not in REDIRECTS:
                        yield RegistryContent(said)
                        return
                    url, sent = _redirected(said, sent)
                finally:
                    await said.aclose()
        raise ModelRegistryDown(f"{urlsplit(url).netloc} redirects without end", URL)

    def credentials(self, registry: HttpRegistry) -> dict[str, str]:
        """Headers that sign in.

        Raises:
            ModelRegistryDown: a secret is not kept.
        """
        if registry.token:
            return {"authorization": f"Bearer {self.secret(registry.token)}"}
        if registry.user:
            auth = httpx2.BasicAuth(registry.user, self.secret(registry.password))
            request = next(auth.auth_flow(httpx2.Request("GET", registry.url)))
            return {"authorization": request.headers["authorization"]}
        return {}

    def secret(self, reference: str) -> str:
        """The value of `secret:NAME`; empty = none is named.

        Raises:
            ModelRegistryDown: it is not kept.
        """
        name = reference.removeprefix(SECRET)
        found = self._secret(name) if name else ""
        if found is None:
            raise ModelRegistryDown(
                f"models.yaml names the secret {name}, which is not kept",
                f"the server's owner sets it: ganglion secret set {name}",
            )
        return found.strip()


def _silent(url: str, error: Exception) -> ModelRegistryDown:
    why, host = str(error) or type(error).__name__, urlsplit(url).netloc
    return ModelRegistryDown(f"the registry of models at {host} does not answer: {why}", AGAIN)


def _redirected(said: httpx2.Response, sent: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Where a file lies, and the headers of the request there."""
    old = said.url
    try:
        new = old.join(said.headers.get("location", ""))
    except httpx2.InvalidURL:
        raise strange(str(old)) from None
    if new.scheme not in ("http", "https") or (old.scheme == "https" and new.scheme != "https"):
        raise ModelRegistryDown(f"{old.host} redirects to a place without TLS, {new.host}", URL)
    if (new.scheme, new.host, new.port) != (old.scheme, old.host, old.port):
        sent = {name: value for name, value in sent.items() if name in ANYWHERE}
    return str(new), sent


def explained(error: GanglionError) -> str:
    """What is wrong and what helps, outside of a submission."""
    problem = error.problem if isinstance(error, FieldError) else error.message
    return f"{problem}; {error.hint}" if error.hint and error.hint != AGAIN else problem


def unknown(wanted: ModelReference, said: str = "") -> FieldError:
    """That a registry does not know a model."""
    more = f": {said[:200]}" if said else ""
    where = wanted.name if wanted.scheme != "file" else f"/{wanted.name.lstrip('/')}"
    hint = f"look {where} up in the registry; an alias or tag may be gone"
    return FieldError(f"{wanted} is not there{more}", key="model", hint=hint)


def refused(url: str, status: int) -> ModelRegistryDown:
    """That the server's credentials are not enough."""
    return ModelRegistryDown(
        f"the registry of models at {urlsplit(url).netloc} refuses the server: HTTP {status}",
        "the server's owner gives models.yaml credentials that may read this",
    )


def decoded(said: RegistryAnswer, url: str) -> dict[str, Any]:
    """An answer in JSON. Raises ModelRegistryDown where it is none."""
    try:
        return msgspec.json.decode(said.body or b"{}", type=dict[str, Any])
    except msgspec.DecodeError:
        raise strange(url) from None


def strange(url: str) -> ModelRegistryDown:
    """That an answer is not what its API promises."""
    return ModelRegistryDown(
        f"{url.partition('?')[0]} does not answer as its API should",
        URL,
    )
