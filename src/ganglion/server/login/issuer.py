"""An issuer of ID tokens over HTTP: its metadata and its keys, which are kept for an hour."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx2
import msgspec
from joserfc.jwk import KeySet
from msgspec import Struct

from ganglion.model.errors import EnvironmentFault
from ganglion.seams.effects import Effects
from ganglion.server.login.id_tokens import usable
from ganglion.transport.tls.authorities import Authorities

PATIENCE_S = 10.0
"""How long an issuer may take for an answer."""
MOST_BYTES = 1 << 20
"""Largest answer of an issuer."""
FRESH_S = 3_600.0
"""How long metadata and keys count without being asked for again."""
AGAIN_S = 60.0
"""How long an issuer is not asked for keys again because a token names an unknown one."""
DISCOVERY = "/.well-known/openid-configuration"


class IssuerMetadata(Struct, frozen=True):
    """What an issuer says about itself (OpenID Connect Discovery, RFC 8414, RFC 9207).

    Issuers where no user signs in, as those of CI, have no endpoints.
    """

    issuer: str
    jwks_uri: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class IssuerAnswer(Struct, frozen=True):
    """What it answers to one request."""

    status: int
    body: bytes


class Issuer:
    """One issuer; asked from one thread.

    Args:
        url: exactly as its tokens name it.
        ca_file: certificates by which it is recognised; empty = those of the machine.
        effects: clock.
    """

    def __init__(self, url: str, ca_file: str, effects: Effects) -> None:
        self.url, self._effects = url, effects
        self._trusted = Authorities(ca_file, effects.files)
        self._known: IssuerMetadata | None = None
        self._keys: KeySet | None = None
        self._known_at = self._keys_at = 0.0

    async def metadata(self) -> IssuerMetadata:
        """What it says about itself.

        Raises:
            EnvironmentFault: it does not answer, or answers something else.
        """
        now = self._effects.clock.monotonic()
        if self._known and now - self._known_at < FRESH_S:
            return self._known
        body = await self._get(self.url.rstrip("/") + DISCOVERY)
        try:
            found = msgspec.json.decode(body, type=IssuerMetadata)
        except msgspec.DecodeError as error:
            raise self.down(f"its metadata cannot be read: {error}") from error
        if found.issuer != self.url:
            raise self.down(f"it calls itself {found.issuer[:200]!r}; write that as `issuer`")
        schemes = ("https",) if self.url.startswith("https://") else ("https", "http")
        endpoints = filter(None, (found.authorization_endpoint, found.token_endpoint))
        for url in (found.jwks_uri, *endpoints):
            if urlsplit(url).scheme not in schemes:
                raise self.down(f"it names {url[:200]!r}, which is not reached by TLS")
        self._known, self._known_at = found, now
        return found

    async def keys_for(self, key: str) -> KeySet:
        """Keys among which is a named one, if it has published that.

        Raises:
            EnvironmentFault: it does not answer.
            BadIdToken: it has no key that ID tokens may be signed with.
        """
        now = self._effects.clock.monotonic()
        age = now - self._keys_at
        known = self._keys
        has = known is not None and (not key or any(each.kid == key for each in known.keys))
        if known is None or age >= FRESH_S or (not has and age >= AGAIN_S):
            body = await self._get((await self.metadata()).jwks_uri)
            try:
                document = msgspec.json.decode(body)
            except msgspec.DecodeError as error:
                raise self.down("its keys are no JSON") from error
            known = self._keys = usable(document)
            self._keys_at = now
        return known

    async def _get(self, url: str) -> bytes:
        found = await self.ask("GET", url)
        if found.status != httpx2.codes.OK:
            raise self.down(f"{url} answers {found.status}")
        return found.body

    async def ask(
        self,
        method: str,
        url: str,
        form: Mapping[str, str] | None = None,
        auth: httpx2.BasicAuth | None = None,
    ) -> IssuerAnswer:
        """Send one request.

        Raises:
            EnvironmentFault: there is no answer, or one that is too long.
        """
        body = bytearray()
        try:
            async with (
                httpx2.AsyncClient(timeout=PATIENCE_S, verify=self._trusted.context()) as client,
                client.stream(method, url, data=form, auth=auth) as answer,
            ):
                async for part in answer.aiter_bytes():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise self.down(f"{url} answers more than {MOST_BYTES:,} bytes")
                return IssuerAnswer(answer.status_code, bytes(body))
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise self.down(str(error) or type(error).__name__) from error

    def down(self, why: str) -> EnvironmentFault:
        """The fault that it does not answer as it should."""
        return EnvironmentFault(
            f"cannot sign in at {self.url}: {why}",
            "sessions that exist go on, and so do personal tokens",
        )
