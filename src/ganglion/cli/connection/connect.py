"""The connection that commands share, and live names for shell completion."""

from typing import TYPE_CHECKING, overload

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from ganglion.cli.connection.contexts import ChosenCluster
    from ganglion.client import Client
    from ganglion.client.workload_client import WorkloadClient

COMPLETION_TIMEOUT_S = 1.0
"""Longest that pressing Tab may wait for the server."""


@overload
def connect(timeout_s: float = 30.0, where: None = None) -> "Client": ...
@overload
def connect(timeout_s: float = 30.0, *, where: "ChosenCluster | None") -> "WorkloadClient": ...
def connect(timeout_s: float = 30.0, where: "ChosenCluster | None" = None) -> "WorkloadClient":
    """Connect to the server of this user, or to a cluster.

    Args:
        timeout_s: longest silence, in seconds.
        where: which cluster; None = the server.

    Raises:
        EnvironmentFault: no server is running, or no cluster is configured.
    """
    if where is not None:
        return where.open(timeout_s)
    from ganglion.client import Client

    return Client.from_home(timeout_s=timeout_s)


class NameCompletion:
    """Completes a word with live names from the server.

    Args:
        what: `jobs`, `queues` or `nodes`.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __call__(
        self, _ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer names that begin so; nothing when the server does not answer in time."""
        return _offer(self._what, incomplete)


complete_jobs = NameCompletion("jobs")
complete_queues = NameCompletion("queues")
complete_nodes = NameCompletion("nodes")


def _offer(what: str, incomplete: str) -> list[CompletionItem]:
    """Ask the server for names.

    A failure of any kind offers nothing: an error message in the middle of the line that
    a person types would be worse than no offer, and the command itself will report it.
    """
    try:
        with connect(COMPLETION_TIMEOUT_S) as client:
            names = _names(client, what)
    except Exception:
        return []
    return [CompletionItem(name, help=text) for name, text in names if name.startswith(incomplete)]


def _names(client: "Client", what: str) -> list[tuple[str, str]]:
    if what == "jobs":
        return [(view.id, view.state) for view in client.workloads().items]
    if what == "queues":
        return [(queue.name, queue.parent) for queue in client.queues()]
    return [(node.name, node.flavor) for node in client.nodes() if not node.cluster]
