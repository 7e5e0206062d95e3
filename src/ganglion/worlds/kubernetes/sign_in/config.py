"""Which cluster, with which credentials: from a kubeconfig, or from inside a pod."""

import os
from pathlib import Path

from msgspec import Struct, field

from ganglion.model.errors import EnvironmentFault, InputError
from ganglion.worlds.kubernetes.sign_in.kubeconfig import Person, Server, read

IN_CLUSTER = "in-cluster"
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet mounts token, namespace and authority of a pod's account."""


class ApiEndpoint(Struct, frozen=True, kw_only=True):
    """All it takes to talk to one API server.

    Attributes:
        name: of the context, or `in-cluster`.
        url: `https://host:port`, with a path where a proxy serves several clusters.
        namespace: the one to use when none is named.
        server: how the server proves itself.
        person: how we do.
        file: where this was read, for messages.
    """

    name: str
    url: str
    namespace: str = "default"
    server: Server = field(default_factory=Server)
    person: Person = field(default_factory=Person)
    file: str = ""


def load(kubeconfig: Path | None = None, context: str | None = None) -> ApiEndpoint:
    """Return the endpoint of a context.

    Args:
        kubeconfig: file to read; None = `$KUBECONFIG`, then `~/.kube/config`, then the service
            account of the pod we run in.
        context: name of a context; None = the current one.

    Raises:
        InputError: the configuration is wrong; names file and key.
        EnvironmentFault: there is no configuration.
    """
    files = [kubeconfig] if kubeconfig else _found()
    if files:
        return _from_files(files, context)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster()
    message = "no cluster is configured: no $KUBECONFIG, no ~/.kube/config, and this is no pod"
    raise EnvironmentFault(message, "--kubeconfig FILE, or set $KUBECONFIG")


def in_cluster(account: Path = SERVICE_ACCOUNT) -> ApiEndpoint:
    """Return the endpoint of the cluster we run in, as the pod's service account.

    Raises:
        EnvironmentFault: the account's token is not mounted, or this is no pod.
    """
    try:
        (account / "token").read_bytes()
        namespace = (account / "namespace").read_text("utf-8").strip()
        host = os.environ["KUBERNETES_SERVICE_HOST"]
        port = os.environ["KUBERNETES_SERVICE_PORT"]
    except (OSError, KeyError) as error:
        hint = "does the pod set automountServiceAccountToken: false?"
        raise EnvironmentFault(f"no service account in {account}: {error}", hint) from error
    url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return ApiEndpoint(
        name=IN_CLUSTER,
        url=url,
        namespace=namespace,
        server=Server(url, certificate_auth=str(account / "ca.crt")),
        # The token is rotated: only the file may be believed.
        person=Person(token_file=str(account / "token")),
        file=str(account),
    )


def _found() -> list[Path]:
    """Files of `$KUBECONFIG` that exist, or the one in the home directory."""
    listed = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    home = Path("~/.kube/config").expanduser()
    if listed:
        return [file for file in listed if file.exists()] or listed[:1]
    return [home] if home.exists() else []


def _from_files(files: list[Path], context: str | None) -> ApiEndpoint:
    chosen = read(files, context)
    url = chosen.server.server.rstrip("/")
    if not url.startswith(("https://", "http://")):
        message = f"{chosen.file}: the server of context {chosen.name!r} is no URL: {url!r}"
        raise InputError(message, "as https://host:6443")
    return ApiEndpoint(
        name=chosen.name,
        url=url,
        namespace=chosen.namespace,
        server=chosen.server,
        person=chosen.person,
        file=chosen.file,
    )
