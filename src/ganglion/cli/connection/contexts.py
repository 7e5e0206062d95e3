"""`--context`: the same commands on a Kubernetes cluster in place of this machine's server."""

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import rich_click as click

if TYPE_CHECKING:
    from ganglion.cli.cluster.client import ClusterClient

F = TypeVar("F", bound=Callable[..., Any])

VARIABLE = "GANGLION_CONTEXT"

OPTIONS = (
    click.option(
        "--context",
        metavar="NAME",
        envvar=VARIABLE,
        help=f"Cluster: a context of your kubeconfig.  [default: ${VARIABLE}]",
    ),
    click.option(
        "--kubeconfig",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Kubeconfig to read, in place of $KUBECONFIG.",
    ),
    click.option("-N", "--namespace", metavar="NAME", help="Namespace in the cluster."),
)


class ChosenCluster(NamedTuple):
    """Which cluster.

    Attributes:
        context: name of a context; None = the current one of the file.
        kubeconfig: file; None = as kubectl finds it.
        namespace: in the cluster; empty = that of the context.
    """

    context: str | None = None
    kubeconfig: Path | None = None
    namespace: str = ""

    @property
    def flags(self) -> str:
        """What further commands need to mean the same, unless the environment says it."""
        given = os.environ.get(VARIABLE)
        parts = [f" --context {self.context}" if self.context and self.context != given else ""]
        parts.append(f" --kubeconfig {self.kubeconfig}" if self.kubeconfig else "")
        parts.append(f" -N {self.namespace}" if self.namespace else "")
        return "".join(parts)

    def open(self, timeout_s: float) -> "ClusterClient":
        """Connect to it.

        Raises:
            InputError: the configuration is wrong.
            EnvironmentFault: there is none.
        """
        from ganglion.cli.cluster.client import ClusterClient
        from ganglion.worlds.kubernetes.sign_in.config import load

        endpoint = load(self.kubeconfig, self.context)
        return ClusterClient(endpoint, self.namespace, timeout_s=timeout_s)


def context_options(function: F) -> F:
    """Add the flags that name a cluster; the command gets them as `where`, None without any."""

    @wraps(function)
    def command(
        *args: Any,  # noqa: ANN401  # whatever the command takes
        context: str | None,
        kubeconfig: Path | None,
        namespace: str | None,
        **others: Any,  # noqa: ANN401  # likewise
    ) -> Any:  # noqa: ANN401  # likewise
        return function(*args, where=_where(context, kubeconfig, namespace), **others)

    for option in reversed(OPTIONS):
        command = option(command)
    return command  # type: ignore[return-value]  # options and all


def _where(
    context: str | None, kubeconfig: Path | None, namespace: str | None
) -> ChosenCluster | None:
    if context or kubeconfig:
        return ChosenCluster(context or None, kubeconfig, namespace or "")
    if namespace:
        raise click.UsageError(f"--namespace is one of a cluster: give --context or ${VARIABLE}")
    return None
