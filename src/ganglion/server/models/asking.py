"""One question to a registry over HTTP: bounded in time and size, credentials never in errors."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
from msgspec import Struct

from ganglion.model.errors import FieldError, ModelRegistryDown
from ganglion.server.models.settings import HttpRegistry
from ganglion.specs.grammar.rules.models import ModelReference
from ganglion.specs.grammar.words import SECRET

MOST_BYTES = 1 << 20
"""Larger answers are not read."""
AGAIN = "nothing was submitted; try again when the registry answers"
SIGN_IN = (401, 403)
MISSING = frozenset({400, 404, 410})
"""How registries answer that do not know what they are asked about."""

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
    ) -> RegistryAnswer:
        """Ask once; redirects are not followed.

        Args:
            url: what is asked.
            headers: of the request.
            method: of HTTP.
            params: of the query, where `url` has none.
            answers: statuses of failure or refusal from which the caller learns something.

        Raises:
            ModelRegistryDown: it does not answer, or with a failure of its own.
        """
        host = urlsplit(url).netloc
        try:
            found = await self._asked(method, url, headers, params)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            why = str(error) or type(error).__name__
            raise ModelRegistryDown(
                f"the registry of models at {host} does not answer: {why}", AGAIN
            ) from None
        if found is None:
            raise ModelRegistryDown(f"{host} answers with more than {MOST_BYTES >> 20} MiB")
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
        self, method: str, url: str, headers: Mapping[str, str], params: Mapping[str, str] | None
    ) -> RegistryAnswer | None:
        """The answer; None = it is too long."""
        body = bytearray()
        client = httpx2.AsyncClient(transport=self._transport, timeout=None, trust_env=False)
        async with client, client.stream(method, url, params=params, headers=headers) as said:
            async for part in said.aiter_bytes():
                body += part
                if len(body) > MOST_BYTES:
                    return None
            return RegistryAnswer(said.status_code, dict(said.headers.items()), bytes(body))

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
        "check the URL of the registry in models.yaml",
    )
