"""Tokens of service accounts of Kubernetes, proven by the API server of their cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ganglion.model.errors import EnvironmentFault, InputError
from ganglion.server.access.reviews import CallerReviews, ServiceAccount
from ganglion.server.login.id_tokens import BadIdToken
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint, in_cluster, load
from ganglion.worlds.kubernetes.sign_in.tls import context_of

IN_CLUSTER = "in-cluster"
"""In place of a kubeconfig file: the cluster that the server's pod runs in."""
NO_TOKEN = "ganglion-asks-whether-tokens-are-reviewed"
"""A token that counts nowhere."""
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

    async def claims(self, token: str) -> dict[str, Any]:
        """What the API server says of a token: `sub`, `uid`, `namespace` and `name`.

        Raises:
            BadIdToken: it counts for nothing there.
            EnvironmentFault: the API server does not say, or the kubeconfig file is wrong.
        """
        account = await self._account(token)
        if account is None:
            raise BadIdToken(
                "the API server of the cluster does not accept the token",
                f"ask for one with the audience {self._audience}; it ends with its pod or account",
            )
        namespace, _, name = account.username.rpartition("serviceaccount:")[2].partition(":")
        return {
            "sub": account.username,
            "uid": account.uid,
            "namespace": namespace,
            "name": name,
        }

    def check_file(self) -> None:
        """Check the kubeconfig file and those that it names, without a request.

        Raises:
            EnvironmentFault: one is wrong; the message names it.
        """
        with _wrong_file():
            context_of(self._endpoint())

    async def check(self) -> None:
        """Have the API server look at a token that is none.

        Raises:
            EnvironmentFault: the kubeconfig file is wrong, or the API server does not say.
        """
        await self._account(NO_TOKEN)

    async def _account(self, token: str) -> ServiceAccount | None:
        with _wrong_file():
            reviews = CallerReviews(Api(self._endpoint(), timeout_s=REVIEW_S), self._audience)
        try:
            return await reviews.account(token)
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
