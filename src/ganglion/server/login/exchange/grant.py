"""The exchange of an ID token for a personal token at `/login/token`, as RFC 8693.

Which tokens are exchanged is said by rules of `login.yaml`; the first that fits counts.
"""

from typing import TYPE_CHECKING

import anyio
import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ganglion.identity.grants import TokenScope, lineage
from ganglion.model.errors import EnvironmentFault, Forbidden, GanglionError, NoClusterRight
from ganglion.model.events import TokenCreated
from ganglion.seams.effects import Effects
from ganglion.server.access.denials import Denials
from ganglion.server.access.permissions import Permissions
from ganglion.server.access.reviews import ReviewsUnavailable, ServiceAccount
from ganglion.server.access.tries.limits import RateLimit, Tries
from ganglion.server.commands.access import WantedToken, exchange_token, new_token
from ganglion.server.login.exchange.accounts import ReviewedAccounts
from ganglion.server.login.exchange.cluster_rights import claims_of
from ganglion.server.login.exchange.rules import ExchangeRule, label_of, unfit
from ganglion.server.login.exchange.spent import SpentTokens, mark_of
from ganglion.server.login.forms import NO_STORE, Form, address_of, field_of, oauth_error
from ganglion.server.login.id_tokens import (
    BadIdToken,
    Claims,
    IdTokenRules,
    key_id,
    unverified,
    verified,
)
from ganglion.server.login.issuer import Issuer
from ganglion.server.login.settings import LEEWAY_S, LoginSettings
from ganglion.transport.limits import network_of

if TYPE_CHECKING:
    from ganglion.server.loop.service import Service

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_TYPE = "urn:ietf:params:oauth:token-type:"
ID_TOKEN, JWT, ACCESS_TOKEN = f"{_TYPE}id_token", f"{_TYPE}jwt", f"{_TYPE}access_token"
UNKNOWN = ("actor_token", "resource")
"""Parameters of RFC 8693 that change what is asked for, and that are refused."""
OPERATION = "exchange"
"""What denials call it."""
PER_ADDRESS = RateLimit(tries=30, per_s=60.0)
"""Exchanges that are tried."""
SCOPE = "queue:"
"""How a scope of requests begins: the queue that the personal token is to be limited to."""
MOST_NAMED = 5
"""Rules of which an event says why they do not fit."""

log = structlog.get_logger(__name__)


class TokenExchange:
    """Gives personal tokens for ID tokens.

    Args:
        settings: of this server.
        service: owns the state.
        permissions: know the tree of queues.
        denials: takes down what was refused.
        effects: clock and chance.
    """

    def __init__(
        self,
        settings: LoginSettings,
        service: "Service",
        permissions: Permissions,
        denials: Denials,
        effects: Effects,
    ) -> None:
        self._rules, self._own = settings.exchange, settings.public_url.rstrip("/")
        self._service, self._denials, self._effects = service, denials, effects
        self._permissions = permissions
        self._issuers = {
            (each.issuer, each.ca_file): Issuer(each.issuer, each.ca_file, effects)
            for each in self._rules
        }
        self._audience = settings.audience_of
        self._reviewed = {
            (each.review, self._audience(each)): ReviewedAccounts(each.review, self._audience(each))
            for each in self._rules
            if each.review
        }
        self._tries, self._spent = Tries(PER_ADDRESS), SpentTokens()
        self._begun_s = effects.clock.now_ms() // 1000

    async def answer(self, request: Request, form: Form) -> Response:
        """Answer a program that has an ID token."""
        address = address_of(request)
        wait_s = self._tries.wait_s(network_of(address), self._effects.clock.monotonic())
        if wait_s:
            why = f"too many ID tokens came from {address}; try again in {wait_s} s"
            return oauth_error("slow_down", why, 429, wait_s)
        if not self._rules:
            why = "login.yaml of this server has no rules of exchange"
            return oauth_error("unsupported_grant_type", why)
        trouble = self._trouble(form)
        if trouble:
            return oauth_error(*trouble)
        try:
            wish = field_of(form, "scope").removeprefix(SCOPE)
            made, token = await self._exchanged(field_of(form, "subject_token"), wish)
        except GanglionError as error:
            return _refusal(error)
        body = {
            "access_token": token,
            "issued_token_type": ACCESS_TOKEN,
            "token_type": "Bearer",
            "expires_in": max(0, made.until_ms - self._service.now()) // 1000,
            "user": made.user,
            "scope": f"role:{made.role}" + (f" {SCOPE}{made.queue}" if made.queue else ""),
        }
        return JSONResponse(body, headers=NO_STORE)

    def _trouble(self, form: Form) -> tuple[str, str] | None:
        """The error of a request that asks for something else, and why; None = there is none."""
        if not field_of(form, "subject_token"):
            return "invalid_request", "subject_token is missing, or was sent twice"
        if field_of(form, "subject_token_type") not in (ID_TOKEN, JWT):
            return "invalid_request", f"subject_token_type: {ID_TOKEN} or {JWT}"
        if form.get("requested_token_type", [ACCESS_TOKEN]) != [ACCESS_TOKEN]:
            return "invalid_request", f"requested_token_type: the only one is {ACCESS_TOKEN}"
        unknown = [name for name in UNKNOWN if name in form]
        if unknown:
            return "invalid_request", f"{unknown[0]} is not supported: rules say what is given"
        target = form.get("audience", [self._own])
        if [each.rstrip("/") for each in target] != [self._own]:
            return "invalid_target", f"personal tokens of this server are for {self._own} alone"
        return _wrong_scope(form)

    async def _exchanged(self, token: str, queue: str) -> tuple[TokenCreated, str]:
        """Make the personal token; records why not.

        Args:
            token: the ID token.
            queue: that the personal token is to be limited to; empty = as the rule says.

        Raises:
            EnvironmentFault: the issuer does not answer.
            GanglionError: the token is refused.
        """
        try:
            rules = self._of_issuer(token)
        except GanglionError as error:
            # Anyone can send any text, so that events do not repeat what is wrong with it.
            log.info("no issuer of an ID token", reason=error.message)
            await self._denials.note("", OPERATION, "no ID token of an issuer that has a rule")
            raise
        about = f"an ID token of {rules[0].issuer}"
        try:
            rule, proven = await self._proven(token, rules)
            about += f", by the rule for {rule.user}"
            scope = await self._scope(rule, proven, queue)
            return await self._given(token, _claims(proven), rule, scope)
        except EnvironmentFault:
            raise
        except GanglionError as error:
            why = error.detail if isinstance(error, _Unfit) else error.message
            await self._denials.note("", OPERATION, f"{about}: {why}")
            raise

    def _of_issuer(self, token: str) -> list[ExchangeRule]:
        """The rules for what a token says of itself; those of its audience, if there are any.

        Raises:
            BadIdToken: it is none.
            Forbidden: there is no rule for its issuer.
        """
        said = unverified(token)
        found = [each for each in self._rules if each.issuer == said.get("iss")]
        if not found:
            raise Forbidden(
                f"no rule of exchange names the issuer {str(said.get('iss'))[:200]!r}",
                "compare `issuer` in login.yaml: it has to be exactly the same",
            )
        given = said.get("aud")
        named = given if isinstance(given, list) else [given]
        return [each for each in found if self._audience(each) in named] or found

    async def _proven(
        self, token: str, rules: list[ExchangeRule]
    ) -> tuple[ExchangeRule, Claims | ServiceAccount]:
        """The first rule that a token fits, and its claims, which are verified, or its account.

        Raises:
            EnvironmentFault: the issuer does not answer.
            BadIdToken: the token proves nothing.
            Forbidden: it fits no rule.
        """
        reasons = list[str]()
        for rule in rules:
            proven = await self._verified(token, rule)
            wrong = unfit(rule, _claims(proven))
            if not wrong:
                return rule, proven
            reasons.append(f"the rule for {rule.user} wants another {wrong}")
        raise _Unfit("; ".join(reasons[:MOST_NAMED]))

    async def _verified(self, token: str, rule: ExchangeRule) -> Claims | ServiceAccount:
        """What a token says, once it is proven. Raises what `_proven` does, but for Forbidden."""
        if rule.review:
            return await self._reviewed[rule.review, self._audience(rule)].account(token)
        issuer = self._issuers[rule.issuer, rule.ca_file]
        keys, now_ms = await issuer.keys_for(key_id(token)), self._effects.clock.now_ms()
        wanted = IdTokenRules(rule.issuer, self._audience(rule), LEEWAY_S)
        return verified(token, keys, wanted, None, now_ms)

    async def _scope(
        self, rule: ExchangeRule, proven: Claims | ServiceAccount, wish: str
    ) -> TokenScope:
        """What a personal token is limited to: by its rule, by request, and by the cluster.

        Raises:
            Forbidden: the queue is not one of the rule, or the cluster does not allow it.
            EnvironmentFault: the API server does not say.
        """
        queue, role = wish or rule.queue, rule.role
        tree = (await anyio.to_thread.run_sync(self._permissions.rules)).tree
        queues = lineage(queue, tree)
        if rule.queue not in queues:
            raise Forbidden(f"the rule for {rule.user} is limited to queue {rule.queue}")
        if isinstance(proven, ServiceAccount):
            reviewed = self._reviewed[rule.review, self._audience(rule)]
            role = await reviewed.role(proven, role, queues)
        return TokenScope(role, queue)

    async def _given(
        self, text: str, claims: Claims, rule: ExchangeRule, scope: TokenScope
    ) -> tuple[TokenCreated, str]:
        """Make the personal token of an ID token that fits a rule, once.

        Raises:
            GanglionError: the ID token was exchanged before, or the rule cannot be followed.
        """
        # A service account's token is in use until its pod ends; the API server forgets it then.
        mark = b"" if rule.review else self._spend(text, claims)
        token, now_ms = new_token(self._effects.randomness), self._service.now()
        wish = WantedToken(
            rule.user,
            str(scope.role),
            scope.queue,
            (),
            label_of(rule.issuer, claims),
            1,
            now_ms + rule.lasting_ms,
        )
        try:
            made = await self._service.answer(lambda draft: exchange_token(draft, wish, token))
        except GanglionError:
            if mark:
                self._spent.give_back(mark)
            raise
        log.info("an ID token was exchanged", user=made.user, token=made.token, label=made.label)
        return made, token

    def _spend(self, text: str, claims: Claims) -> bytes:
        """Take down that an ID token is exchanged; returns what it is known by.

        Raises:
            GanglionError: it was before, or may have been.
        """
        now_s = self._effects.clock.now_ms() // 1000
        if claims["iat"] < self._begun_s:
            # What was exchanged before is not known any more.
            raise BadIdToken(
                "the ID token was issued before this server was started", "ask for another one"
            )
        if not self._spent.has_room(now_s):
            raise EnvironmentFault("too many ID tokens were exchanged that have not expired yet")
        mark = mark_of(text, claims)
        if not self._spent.spend(mark, claims["exp"] + LEEWAY_S):
            raise BadIdToken("the ID token was exchanged before", "ask for another one")
        return mark


def _wrong_scope(form: Form) -> tuple[str, str] | None:
    """The error of a scope that is none, and why; None = there is none."""
    given = form.get("scope", [SCOPE])
    if len(given) == 1 and given[0].startswith(SCOPE) and " " not in given[0]:
        return None
    return "invalid_scope", f"scope: {SCOPE}NAME, which the token is to be limited to"


def _refusal(error: GanglionError) -> Response:
    """Answer that no personal token is given, and why."""
    if isinstance(error, EnvironmentFault):
        log.warning("no ID token can be exchanged", reason=error.message)
        wait_s = error.wait_s if isinstance(error, ReviewsUnavailable) else 0
        return oauth_error("temporarily_unavailable", error.message, 503, wait_s, error.code)
    if isinstance(error, NoClusterRight):
        said, hint = error.message, error.hint
        return oauth_error("access_denied", said, 403, code=error.code, hint=hint)
    why = f"{error.message}; {error.hint}" if error.hint else error.message
    return oauth_error("invalid_request", why, code=error.code)


def _claims(proven: Claims | ServiceAccount) -> Claims:
    return claims_of(proven) if isinstance(proven, ServiceAccount) else proven


class _Unfit(Forbidden):
    """No rule fits; the caller may be anyone at the issuer, and gets no names of the rules.

    Args:
        detail: for the ledger.
    """

    def __init__(self, detail: str) -> None:
        super().__init__(
            "no rule of exchange fits the claims of the ID token",
            "the event access_denied names the claim",
        )
        self.detail = detail
