"""Whose a service account token is, and what that account may do, as the API server says.

Answers are kept for `LASTS_S`, whatever they are; an API server that gives none is an error each
time, and never a yes.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Generic, TypeVar

from msgspec import Struct

from ganglion.model.errors import EnvironmentFault
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import ApiError, ForbiddenRequest

TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
LASTS_S = 10.0
"""How long an answer counts."""
MOST_KEPT = 1_000
"""Answers of each sort that are kept."""
LONGEST_TOKEN = 16_384
"""Characters of a token; longer ones are not passed on."""
ACCOUNT = "system:serviceaccount:"
"""How the user names of service accounts begin."""
GROUP = "ganglion.dev"
MISSING = "it needs ClusterRole system:auth-delegator; of the chart, features.callers"
TRIES = 2
"""A review changes nothing, and may be repeated."""
WAIT_S = 5
"""When to ask again where the API server does not say."""

K = TypeVar("K")
V = TypeVar("V")


class ReviewsUnavailable(EnvironmentFault):
    """The API server does not say who a caller is, or what it may do.

    Args:
        message: what went wrong.
        hint: what to do about it.
        wait_s: when to try again.
    """

    code = "environment.reviews"

    def __init__(self, message: str, hint: str, wait_s: int) -> None:
        super().__init__(message, hint)
        self.wait_s = wait_s


class ServiceAccount(Struct, frozen=True):
    """A caller, as the API server knows it.

    Attributes:
        username: `system:serviceaccount:NAMESPACE:NAME`.
        uid: of the account.
        groups: that it is in.
        extra: further facts, by name.
    """

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class ReviewedRight(Struct, frozen=True):
    """What is asked for.

    Attributes:
        verb: as `list`.
        resource: of the group `ganglion.dev`, as `workloads`.
        namespace: where; empty = in all of them, or it is of none.
        name: of the one object; empty = all of them.
    """

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        """Name it as people do."""
        where = f"namespace {self.namespace}" if self.namespace else "all namespaces"
        return f"{self.verb} {self.resource}.{GROUP} in {where}"


class _TokenStatus(Struct, frozen=True):
    authenticated: bool = False
    user: ServiceAccount = ServiceAccount()
    audiences: tuple[str, ...] = ()


class _TokenReview(Struct, frozen=True):
    status: _TokenStatus = _TokenStatus()


class _AccessStatus(Struct, frozen=True):
    allowed: bool = False
    denied: bool = False


class _AccessReview(Struct, frozen=True):
    status: _AccessStatus = _AccessStatus()


class _Kept(Generic[K, V]):
    """Answers for a while, the oldest first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._all: dict[K, tuple[V, float]] = {}

    def get(self, key: K) -> tuple[V] | None:
        """The answer, in a tuple; None = there is none, or it counts no more."""
        found = self._all.get(key)
        return (found[0],) if found and self._clock.monotonic() - found[1] < LASTS_S else None

    def put(self, key: K, value: V) -> None:
        """Keep an answer; forget those that count no more, and the oldest beyond the limit."""
        now = self._clock.monotonic()
        self._all.pop(key, None)
        self._all[key] = (value, now)
        for old in list(self._all):
            if len(self._all) <= MOST_KEPT and now - self._all[old][1] < LASTS_S:
                return
            del self._all[old]


class CallerReviews:
    """Asks one API server; belongs to one event loop.

    Args:
        api: of the cluster.
        audience: that tokens have to be made for.
        clock: by which answers end.
    """

    def __init__(self, api: Api, audience: str, clock: Clock = SYSTEM_CLOCK) -> None:
        self._api, self._audience = api, audience
        self._accounts = _Kept[bytes, ServiceAccount | None](clock)
        self._rights = _Kept[tuple[str, str, ReviewedRight], bool](clock)

    async def close(self) -> None:
        """Close its connections."""
        await self._api.close()

    async def account(self, token: str) -> ServiceAccount | None:
        """Return the service account of a token; None = it counts for nothing here.

        Raises:
            ReviewsUnavailable: the API server does not say.
        """
        if not token or len(token) > LONGEST_TOKEN:
            return None
        key = sha256(token.encode("utf-8", "replace")).digest()
        known = self._accounts.get(key)
        if known:
            return known[0]
        spec = {"token": token, "audiences": [self._audience]}
        found = (await self._review(TOKENS, "TokenReview", spec, _TokenReview)).status
        # An authenticator that knows no audiences names none: its tokens are for the API server.
        is_meant = found.authenticated and self._audience in found.audiences
        account = found.user if is_meant and found.user.username.startswith(ACCOUNT) else None
        self._accounts.put(key, account)
        return account

    async def may(self, account: ServiceAccount, right: ReviewedRight) -> bool:
        """Return whether an account may do something.

        Raises:
            ReviewsUnavailable: the API server does not say.
        """
        # An account that was deleted and made anew has another uid.
        key = (account.username, account.uid, right)
        known = self._rights.get(key)
        if known:
            return known[0]
        spec = {
            "user": account.username,
            "uid": account.uid,
            "groups": account.groups,
            "extra": account.extra,
            "resourceAttributes": {
                "group": GROUP,
                "verb": right.verb,
                "resource": right.resource,
                "namespace": right.namespace,
                "name": right.name,
            },
        }
        found = (await self._review(ACCESS, "SubjectAccessReview", spec, _AccessReview)).status
        allowed = found.allowed and not found.denied
        self._rights.put(key, allowed)
        return allowed

    async def _review(self, path: str, kind: str, spec: Mapping[str, object], form: type[V]) -> V:
        """Send a review. Raises ReviewsUnavailable."""
        group = path.removeprefix("/apis/").rpartition("/")[0]
        body = {"apiVersion": group, "kind": kind, "spec": spec}
        try:
            return await self._api.create(path, body, form, tries=TRIES)
        except ApiError as error:
            hint = MISSING if _is_right(error) else error.hint
            raise _unavailable(kind, error, hint, error.retry_after_s) from error
        except EnvironmentFault as error:
            raise _unavailable(kind, error, error.hint) from error


def _is_right(error: ApiError) -> bool:
    return isinstance(error, ForbiddenRequest)


def _unavailable(
    kind: str, error: EnvironmentFault, hint: str, wait_s: int = 0
) -> ReviewsUnavailable:
    message = f"the API server answers no {kind}: {error.message}"
    return ReviewsUnavailable(message, hint or "retry", wait_s or WAIT_S)
