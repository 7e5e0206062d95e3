"""Tokens of service accounts of Kubernetes, proven by the API server of their cluster."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from ganglion.identity.roles import Role
from ganglion.model.errors import EnvironmentFault, InputError
from ganglion.server.access.reviews import CallerReviews, ReviewedRight, ServiceAccount
from ganglion.server.login.exchange.cluster_rights import QUEUES, missing, parts_of, rights_for
from ganglion.server.login.id_tokens import BadIdToken
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint, in_cluster, load
from ganglion.worlds.kubernetes.sign_in.tls import context_of

IN_CLUSTER = "in-cluster"
"""In place of a kubeconfig file: the cluster that the server's pod runs in."""
NO_TOKEN = "ganglion-asks-whether-tokens-are-reviewed"
"""A token that counts nowhere."""
NO_ACCOUNT = ServiceAccount(
    "system:serviceaccount:default:ganglion-asks-whether-rights-are-reviewed"
)
"""An account that is asked about for the sake of the question."""
REVIEW_S = 5.0
"""Longest that the API server may take to answer."""


class ReviewedAccounts:
    """Asks the API server of one cluster, each time anew: accounts and their rights change.

    Args:
        review: kubeconfig file, of which the current context counts, or `IN_CLUSTER`.
        audience: that tokens have to be made for.
    """

    def __init__(self, review: str, audience: str) -> None:
        self._review, self._audience = review, audience

    async def account(self, token: str) -> ServiceAccount:
        """The account that a token is of, as the API server says.

        Raises:
            BadIdToken: it counts for nothing there.
            EnvironmentFault: the API server does not say, or the kubeconfig file is wrong.
        """
        async with self._asking() as reviews:
            account = await reviews.account(token)
        if account is None:
            raise BadIdToken(
                "the API server of the cluster does not accept the token",
                f"ask for one with the audience {self._audience}; it ends with its pod or account",
            )
        return account

    async def role(self, account: ServiceAccount, role: Role, queues: Sequence[str]) -> Role:
        """How much of a role the roles of the cluster leave an account.

        Args:
            account: as `account` returned it.
            role: that it would have; no more is returned.
            queues: where, with those above it, as `lineage` has them.

        Raises:
            NoClusterRight: nothing of it.
            EnvironmentFault: the API server does not say, or the kubeconfig file is wrong.
        """
        async with self._asking() as reviews:
            for each in parts_of(role):
                for right in rights_for(each, queues):
                    if await reviews.may(account, right):
                        return each
        raise missing(account, role, queues[0])

    def check_file(self) -> None:
        """Check the kubeconfig file and those that it names, without a request.

        Raises:
            EnvironmentFault: one is wrong; the message names it.
        """
        with _wrong_file():
            context_of(self._endpoint())

    async def check(self) -> None:
        """Have the API server look at a token that is none, and at rights of an account.

        Raises:
            EnvironmentFault: the kubeconfig file is wrong, or the API server does not say.
        """
        async with self._asking() as reviews:
            await reviews.account(NO_TOKEN)
            await reviews.may(NO_ACCOUNT, ReviewedRight("use", QUEUES))

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[CallerReviews]:
        with _wrong_file():
            reviews = CallerReviews(Api(self._endpoint(), timeout_s=REVIEW_S), self._audience)
        try:
            yield reviews
        finally:
            await reviews.close()

    def _endpoint(self) -> ApiEndpoint:
        return in_cluster() if self._review == IN_CLUSTER else load(Path(self._review))


@contextmanager
def _wrong_file() -> Iterator[None]:
    """What is wrong with the file is the server's fault, and not that of a caller."""
    try:
        yield
    except InputError as error:
        raise EnvironmentFault(error.message, "correct it, or `review` in login.yaml") from error
