"""Registers a cluster at the server of this home, where its scheduler delivers what it decides."""

import os
import re
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from ganglion.cli.connection.connect import connect
from ganglion.client import Client
from ganglion.client.home import UNIX, Unreachable, home
from ganglion.lifecycle.clusters import CLUSTER_NAME, place_of
from ganglion.model.errors import EnvironmentFault, FieldError, InputError
from ganglion.server.cluster.outbox.post import DeliveryLine

LIFE_DAYS = 366
NO_SCHEDULER = "registration"
"""Id of no scheduler, in whose name nothing is delivered."""
ROLE = "reporter"


class RegisteredCluster(Struct, frozen=True):
    """Where the scheduler of a cluster delivers to, and by which files.

    Attributes:
        url: of the server.
        outbox: folder for what has not arrived.
        token: file with a token that may deliver records of this cluster, and do nothing else.
    """

    url: str
    outbox: Path
    token: Path


def registered(cluster: str) -> RegisteredCluster:
    """Register a cluster at the server that commands use, unless it is.

    While the server is down, what an earlier registration left is taken.

    Args:
        cluster: its name at the server.

    Raises:
        Unreachable: no server is running, and the cluster was never registered.
        FieldError: it is no name of a cluster.
        Forbidden: the user may not make tokens there.
        InputError: the server is reached by a Unix socket alone.
        OSError: the home cannot be written.
    """
    _check_name(cluster)
    folder = home() / "clusters" / cluster
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    url, token = folder / "url", folder / "token"
    try:
        with connect() as client:
            _register(client, cluster, url, token)
    except Unreachable as error:
        if not (url.exists() and token.exists()):
            error.hint = "start one with: ganglion up, or without nodes of its own: ganglion server"
            raise
    return RegisteredCluster(url.read_text(encoding="utf-8"), folder / "outbox", token)


def _register(client: Client, cluster: str, url: Path, token: Path) -> None:
    if os.environ.get("GANGLION_URL", "").startswith(UNIX):
        raise InputError("a scheduler delivers over HTTP", "set GANGLION_URL to such an address")
    known = token.read_text(encoding="utf-8").strip() if token.exists() else ""
    if not _counts(client.url, cluster, known):
        _put(token, new_token(client, cluster))
    _put(url, client.url)


def new_token(client: Client, cluster: str) -> str:
    """Let a user of the name of a cluster deliver its records, and do nothing else.

    Returns:
        a token of that user.

    Raises:
        Forbidden: the caller may not grant roles or make tokens.
        FieldError: it is no name of a cluster.
    """
    _check_name(cluster)
    client.access.grant(f"user:{cluster}", ROLE, place_of(cluster))
    label = f"scheduler of cluster {cluster}"
    return client.access.create_token(
        cluster, ROLE, place_of(cluster), label=label, days=LIFE_DAYS
    ).token


def _check_name(cluster: str) -> None:
    """Before it names a folder, or a user. Raises FieldError."""
    if not re.fullmatch(CLUSTER_NAME, cluster):
        raise FieldError(f"{cluster}: no name of a cluster", hint="as east-1")


def _counts(url: str, cluster: str, token: str) -> bool:
    """Whether the server takes records of a cluster by a token."""
    if not token:
        return False
    with closing(DeliveryLine(url, cluster, lambda: token)) as line:
        try:
            line.post(NO_SCHEDULER, ())
        except EnvironmentFault:
            return False
    return True


def _put(path: Path, text: str) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    beside = path.with_suffix(".new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
    beside.replace(path)
