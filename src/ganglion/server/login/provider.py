"""The identity provider over HTTP: where a browser signs in, and the exchange of a code."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2
import msgspec

from ganglion.model.errors import EnvironmentFault, Forbidden
from ganglion.seams.effects import Effects
from ganglion.server.login.id_tokens import Claims, IdTokenRules, key_id, verified
from ganglion.server.login.issuer import Issuer, IssuerMetadata
from ganglion.server.login.pending import PendingSignIn
from ganglion.server.login.settings import LEEWAY_S, LoginSettings, secret_of

CALLBACK = "/login/callback"


class Provider:
    """One provider; asked from one thread.

    Args:
        settings: name it.
        effects: clock, and the file of the secret.
    """

    def __init__(self, settings: LoginSettings, effects: Effects) -> None:
        self._settings, self._effects = settings, effects
        self._rules = IdTokenRules(settings.issuer, settings.client_id, LEEWAY_S)
        self._issuer = Issuer(settings.issuer, settings.ca_file, effects)

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

    async def metadata(self) -> IssuerMetadata:
        """What the provider says about itself.

        Raises:
            EnvironmentFault: it does not answer, or answers something else.
        """
        known = await self._issuer.metadata()
        if not known.authorization_endpoint or not known.token_endpoint:
            raise self._issuer.down("it names no endpoints for signing in")
        return known

    async def claims(self, attempt: PendingSignIn, code: str) -> Claims:
        """Exchange a code, and check the ID token that comes for it.

        Raises:
            EnvironmentFault: the provider does not answer.
            Forbidden: it refuses the code.
            BadIdToken: the token proves nothing.
            FileError: the secret cannot be read.
        """
        token = await self._exchanged(attempt, code)
        keys = await self._issuer.keys_for(key_id(token))
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
        found = await self._issuer.ask("POST", known.token_endpoint, form, auth)
        try:
            said = msgspec.json.decode(found.body)
        except msgspec.DecodeError as error:
            raise self._issuer.down(f"its answer to a code has status {found.status}") from error
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
        return self._issuer.down(f"it refuses this server: {why or status}; compare login.yaml")
