"""The error for what only the local world can do."""

from typing import TYPE_CHECKING

from ganglion.client.workload_client import LocalOnly

if TYPE_CHECKING:
    from ganglion.cli.connection.contexts import ChosenCluster


def local_only(where: "ChosenCluster | None", verb: str, instead: str) -> None:
    """Refuse a command in a cluster.

    Args:
        where: which cluster; None = the local server.
        verb: the command, without `ganglion`.
        instead: what does the same in a cluster.

    Raises:
        LocalOnly: a cluster is meant.
    """
    if where is not None:
        raise LocalOnly(
            f"ganglion {verb} works with the server of this machine, not in a cluster",
            f"in the cluster: {instead}; for this machine leave --context out and unset"
            " $GANGLION_CONTEXT",
        )
