"""The identity provider over HTTP: its metadata, its keys, and the exchange of a code."""

import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2
import msgspec
from joserfc.jwk import KeySet
from msgspec import Struct

from ganglion.model.errors import EnvironmentFault, Forbidden
from ganglion.seams.effects import Effects
from ganglion.server.login.id_tokens import (
    Claims,
    IdTokenRules,
    key_id,
    usable,
    verified,
)
from ganglion.server.login.pending import PendingSignIn
from ganglion.server.login.settings import LEEWAY_S, LoginSettings, secret_of

PATIENCE_S = 10.0
"""How long the provider may take for an answer."""
MOST_BYTES = 1 << 20
"""Largest answer of the provider."""
FRESH_S = 3_600.0
"""How long metadata and keys count without being asked for again."""
AGAIN_S = 60.0
"""How long the provider is not asked for keys again because a token names an unknown one."""
CALLBACK = "/login/callback"
DISCOVERY = "/.well-known/openid-configuration"


class ProviderMetadata(Struct, frozen=True):
    """What the provider says about itself (OpenID Connect Discovery, RFC 8414, RFC 9207)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class _Answer(Struct, frozen=True):
    status: int
    body: bytes


class Provider:
    """One provider; asked from one thread.

    Args:
        settings: name it.
        effects: clock, and the file of the secret.
    """

    def __init__(self, settings: LoginSettings, effects: Effects) -> None:
        self._settings, self._effects = settings, effects
        self._rules = IdTokenRules(settings.issuer, settings.client_id, LEEWAY_S)
        self._known: ProviderMetadata | None = None
        self._keys: KeySet | None = None
        self._known_at = self._keys_at = 0.0

    @property
    def redirect_uri(self) -> str:
        """Where the provider sends browsers back to."""
        return self._settings.public_url.rstrip("/") + CALLBACK

    async def address(self, attempt: PendingSignIn) -> str:
        """Where a browser signs in.

        Raises:
            EnvironmentFault: the provider does not answer.
        """
        known = await self.metadata()
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": " ".join(("openid", *self._settings.scopes)),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        joint = "&" if urlsplit(known.authorization_endpoint).query else "?"
        return known.authorization_endpoint + joint + urlencode(asked)

    async def metadata(self) -> ProviderMetadata:
        """What the provider says about itself.

        Raises:
            EnvironmentFault: it does not answer, or answers something else.
        """
        now = self._effects.clock.monotonic()
        if self._known and now - self._known_at < FRESH_S:
            return self._known
        body = await self._get(self._settings.issuer.rstrip("/") + DISCOVERY)
        try:
            found = msgspec.json.decode(body, type=ProviderMetadata)
        except msgspec.DecodeError as error:
            raise self._down(f"its metadata cannot be read: {error}") from error
        if found.issuer != self._settings.issuer:
            raise self._down(f"it calls itself {found.issuer[:200]!r}; write that as `issuer`")
        secure = self._settings.issuer.startswith("https://")
        for url in (found.authorization_endpoint, found.token_endpoint, found.jwks_uri):
            if urlsplit(url).scheme != "https" and (secure or urlsplit(url).scheme != "http"):
                raise self._down(f"it names {url[:200]!r}, which is not reached by TLS")
        self._known, self._known_at = found, now
        return found

    async def claims(self, attempt: PendingSignIn, code: str) -> Claims:
        """Exchange a code, and check the ID token that comes for it.

        Raises:
            EnvironmentFault: the provider does not answer.
            Forbidden: it refuses the code.
            BadIdToken: the token proves nothing.
            FileError: the secret cannot be read.
        """
        token = await self._exchanged(attempt, code)
        keys = await self._keys_for(key_id(token))
        return verified(token, keys, self._rules, attempt.nonce, self._effects.clock.now_ms())

    async def _exchanged(self, attempt: PendingSignIn, code: str) -> str:
        known = await self.metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": attempt.verifier,
        }
        secret = secret_of(self._settings, self._effects.files)
        auth = None
        if secret and "client_secret_basic" in known.token_endpoint_auth_methods_supported:
            name = quote(self._settings.client_id, safe="")
            auth = httpx2.BasicAuth(name, quote(secret, safe=""))
        else:
            form |= {"client_id": self._settings.client_id}
            form |= {"client_secret": secret} if secret else {}
        found = await self._ask("POST", known.token_endpoint, form, auth)
        try:
            said = msgspec.json.decode(found.body)
        except msgspec.DecodeError as error:
            raise self._down(f"its answer to a code has status {found.status}") from error
        said = said if isinstance(said, dict) else {}
        if found.status != httpx2.codes.OK:
            raise self._refused(said, found.status)
        token = said.get("id_token")
        if not isinstance(token, str):
            raise Forbidden("the provider sends no ID token", "it has to be OpenID Connect")
        return token

    def _refused(self, said: Mapping[str, Any], status: int) -> EnvironmentFault | Forbidden:
        error = str(said.get("error", ""))[:100]
        if error == "invalid_grant":
            return Forbidden("the provider does not know the code of this sign-in", "sign in again")
        why = f"{error} {str(said.get('error_description', ''))[:300]}".strip()
        return self._down(f"it refuses this server: {why or status}; compare login.yaml")

    async def _keys_for(self, key: str) -> KeySet:
        """Keys among which is a named one, if the provider has published it."""
        now = self._effects.clock.monotonic()
        age = now - self._keys_at
        known = self._keys
        has = known is not None and (not key or any(each.kid == key for each in known.keys))
        if known is None or age >= FRESH_S or (not has and age >= AGAIN_S):
            body = await self._get((await self.metadata()).jwks_uri)
            try:
                document = msgspec.json.decode(body)
            except msgspec.DecodeError as error:
                raise self._down("its keys are no JSON") from error
            known = self._keys = usable(document)
            self._keys_at = now
        return known

    async def _get(self, url: str) -> bytes:
        found = await self._ask("GET", url)
        if found.status != httpx2.codes.OK:
            raise self._down(f"{url} answers {found.status}")
        return found.body

    async def _ask(
        self,
        method: str,
        url: str,
        form: Mapping[str, str] | None = None,
        auth: httpx2.BasicAuth | None = None,
    ) -> _Answer:
        body = bytearray()
        try:
            async with (
                httpx2.AsyncClient(timeout=PATIENCE_S, verify=self._trusted()) as client,
                client.stream(method, url, data=form, auth=auth) as answer,
            ):
                async for part in answer.aiter_bytes():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise self._down(f"{url} answers more than {MOST_BYTES:,} bytes")
                return _Answer(answer.status_code, bytes(body))
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise self._down(str(error) or type(error).__name__) from error

    def _trusted(self) -> ssl.SSLContext:
        """By what certificates the provider is recognised."""
        return ssl.create_default_context(cafile=self._settings.ca_file or None)

    def _down(self, why: str) -> EnvironmentFault:
        return EnvironmentFault(
            f"cannot sign in at {self._settings.issuer}: {why}",
            "sessions that exist go on, and so do personal tokens",
        )
