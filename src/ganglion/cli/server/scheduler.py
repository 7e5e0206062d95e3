"""`ganglion scheduler` and `ganglion server`: what runs in a cluster."""

import logging
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.options import command, tls
from ganglion.cli.output.screen import note
from ganglion.extras import require
from ganglion.transport.tls.files import TLS_FILES, tls_files

if TYPE_CHECKING:
    from ganglion.server.cluster.outbox.outbox import OutboxWish
    from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint

PORT = 8080
SERVER_PORT = 7077
LEVELS = ("debug", "info", "warning", "error")


@command(
    "scheduler",
    "scheduler --kubeconfig ~/.kube/config",
    "scheduler --kubeconfig ~/.kube/config --deliver-as east",
    "scheduler --kubeconfig east=east.yaml --kubeconfig west=west.yaml --no-lease",
)
@click.option(
    "--kubeconfig",
    multiple=True,
    metavar="[NAME=]FILE",
    help="A cluster; repeat it, with names, for several clusters.",
)
@click.option(
    "--context", default="", metavar="NAME", help="Context of the file; its current one by default."
)
@click.option("--namespace", default="", metavar="NS", help="Namespace of the Lease.")
@click.option(
    "--scheduler-name",
    default="ganglion",
    show_default=True,
    metavar="NAME",
    help="The schedulerName of the pods that it places.",
)
@click.option(
    "--nodes",
    default="",
    metavar="SELECTOR",
    help="Labels of the nodes that it uses, as pool=canary; all by default.",
)
@click.option(
    "--only-namespaces",
    default="",
    metavar="NAMES",
    help="Namespaces whose pods it places, with commas between them; all by default.",
)
@click.option(
    "--lease", default="", metavar="NAME", help="Name of the Lease; the scheduler's by default."
)
@click.option("--no-lease", is_flag=True, help="Decide without a Lease, as the only scheduler.")
@click.option(
    "--identity",
    default="",
    metavar="NAME",
    help="Identity in the Lease; the host name by default.",
)
@click.option(
    "--listen",
    default=f"127.0.0.1:{PORT}",
    show_default=True,
    metavar="HOST:PORT",
    help="Address of views, probes and metrics; port 0 = any free one.",
)
@click.option(
    "--default-queue",
    default="default",
    show_default=True,
    help="Queue of pods when neither they nor their namespace name one; '' = none.",
)
@click.option(
    "--record-users",
    is_flag=True,
    help="Apply limits per user by ganglion.dev/created-by, which admission must protect.",
)
@click.option(
    "--policy", default="default", show_default=True, help="Name of the Policy object that decides."
)
@click.option(
    "--settings",
    "settings_file",
    default="",
    metavar="FILE",
    help="Custom topology labels and timeouts; see docs/install.md.",
)
@click.option(
    "--tokens-for",
    default="",
    metavar="AUDIENCE",
    help="Show views to service accounts alone, by tokens of this audience.",
)
@click.option(
    "--outbox",
    default="",
    metavar="DIR",
    help="Keep what it decides in a folder, until a server has it in its ledger.",
)
@click.option("--deliver-to", default="", metavar="URL", help="The server that gets it.")
@click.option(
    "--deliver-as",
    default="",
    metavar="NAME",
    help="Name of the cluster at that server; alone, it registers it at the server of this home.",
)
@click.option(
    "--deliver-token", default="", metavar="FILE", help="File with a token of role reporter."
)
@click.option(
    "--deliver-logs",
    is_flag=True,
    help="Read logs of pods for that server when users ask it: needs the right get pods/log.",
)
@click.option(
    "--outbox-limit",
    default="256Mi",
    show_default=True,
    metavar="SIZE",
    help="Most that the folder may hold; what is beyond is dropped, and recorded as a gap.",
)
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True)
def scheduler(
    kubeconfig: tuple[str, ...],
    context: str,
    namespace: str,
    scheduler_name: str,
    nodes: str,
    only_namespaces: str,
    lease: str,
    no_lease: bool,
    identity: str,
    listen: str,
    default_queue: str,
    record_users: bool,
    policy: str,
    settings_file: str,
    tokens_for: str,
    outbox: str,
    deliver_to: str,
    deliver_as: str,
    deliver_token: str,
    deliver_logs: bool,
    outbox_limit: str,
    log_level: str,
) -> None:
    """Schedule the GPU pods of Kubernetes clusters.

    Places every pod whose schedulerName is `ganglion`, whole gangs at a time. What it needs to
    know is in the cluster, and another one may take over at any time.

    A scheduler has no portal; history, audit, usage and portal of a cluster are those of a
    server. Beside a `ganglion up` or `ganglion server` of the same user, --deliver-as NAME is
    all that this takes; a server elsewhere needs --outbox, --deliver-to and --deliver-token too.

    Several may run; the one that holds the Lease decides. Schedulers of different names, each
    with its own nodes, do not interfere.
    """
    require("kubernetes")
    from ganglion.server.cluster.scheduling import SchedulerRun, schedule
    from ganglion.server.state.set_apart import isolates
    from ganglion.worlds.kubernetes.cluster_view.settings import Settings
    from ganglion.worlds.kubernetes.config.node_selector import parse_selector
    from ganglion.worlds.kubernetes.config.settings import load_settings
    from ganglion.worlds.kubernetes.instance import Instance

    spaces = frozenset(filter(None, only_namespaces.split(",")))
    usual = Settings(
        default_queue=default_queue,
        isolate=isolates(),
        instance=Instance(scheduler_name, parse_selector(nodes), spaces),
        records_users=record_users,
    )
    settings = load_settings(settings_file, usual) if settings_file else usual
    _log_to_stderr(log_level)
    endpoints = _endpoints(kubeconfig, context)
    host, port = _address(listen)
    wish = SchedulerRun(
        namespace=namespace or next(iter(endpoints.values())).namespace,
        lease="" if no_lease else lease or scheduler_name,
        identity=identity or socket.gethostname(),
        host=host,
        port=port,
        policy=policy,
        settings=settings,
        tokens_for=tokens_for,
        outbox=_outbox(
            *(outbox, deliver_to, deliver_as, deliver_token, outbox_limit), logs=deliver_logs
        ),
    )
    schedule(endpoints, wish, lambda url: note(f"Views, probes and metrics on {url}."))


def _outbox(
    folder: str, url: str, name: str, token: str, limit: str, *, logs: bool = False
) -> "OutboxWish | None":
    """Where the scheduler reports to; None = nowhere."""
    import re

    from ganglion.lifecycle.clusters import CLUSTER_NAME
    from ganglion.model.errors import InputError
    from ganglion.server.cluster.outbox.outbox import OutboxWish
    from ganglion.specs.grammar import parse_memory

    given = {
        "--outbox": folder,
        "--deliver-to": url,
        "--deliver-as": name,
        "--deliver-token": token,
    }
    if not any(given.values()) and not logs:
        return None
    missing = [flag for flag, value in given.items() if not value]
    if not name or (missing and (url or token)):
        hint = "give all four of them, or --deliver-as alone for the server of this home"
        raise InputError(f"{', '.join(missing)} is missing", hint)
    if not re.fullmatch(CLUSTER_NAME, name):
        raise InputError(f"--deliver-as {name}: no name of a cluster", "as east-1")
    size = parse_memory(limit) << 20
    if url:
        return OutboxWish(Path(folder), url, name, Path(token), size, logs)
    from ganglion.cli.connection.registration import registered

    own = registered(name)
    note(f"Cluster {name} is delivered to {own.url}. Its portal: ganglion portal")
    return OutboxWish(Path(folder) if folder else own.outbox, own.url, name, own.token, size, logs)


def _endpoints(given: tuple[str, ...], context: str) -> dict[str, "ApiEndpoint"]:
    from ganglion.model.errors import InputError
    from ganglion.worlds.kubernetes.sign_in.config import load

    if len(given) < 2:
        name, file = _named(given[0]) if given else ("", None)
        return {name: load(file, context or None)}
    found: dict[str, ApiEndpoint] = {}
    for each in given:
        name, file = _named(each)
        if not name or name in found:
            what = "the same name" if name else "no name"
            raise InputError(
                f"--kubeconfig {each}: of several clusters, this one has {what}",
                "write --kubeconfig NAME=FILE, each with its own name",
            )
        found[name] = load(file, context or None)
    return found


def _named(given: str) -> tuple[str, Path]:
    name, equals, file = given.partition("=")
    return (name, Path(file)) if equals and os.sep not in name else ("", Path(given))


def _address(listen: str) -> tuple[str, int]:
    from ganglion.model.errors import InputError

    host, _, port = listen.rpartition(":")
    if not host or not port.isascii() or not port.isdigit():
        raise InputError(f"--listen {listen}: no address and port", "as 0.0.0.0:8080")
    return host.strip("[]"), int(port)


def _log_to_stderr(level: str) -> None:
    import structlog

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


@command(
    "server",
    "server --host 0.0.0.0 --host-name ganglion:7077 --tls-cert tls.crt --tls-key tls.key",
    "server --db postgresql://ganglion@db/ganglion",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Where to listen; for other machines too, with TLS.",
)
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="Let --host do without TLS, since only what speaks it, or a network of a cluster that"
    " encrypts, reaches that address.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=SERVER_PORT,
    show_default=True,
    help="Port; 0 = any free one.",
)
@click.option(
    "--host-name",
    multiple=True,
    metavar="NAME",
    help="Name that clients use for it, as ganglion-server:7077; may be repeated.",
)
@tls(TLS_FILES)
@click.option(
    "--db",
    default="",
    envvar="GANGLION_DB",
    metavar="URL",
    help="Database of the ledger, as postgresql://…; also $GANGLION_DB.",
)
@click.option(
    "--login",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with login.yaml, which says who signs in and how. [default: the home]",
)
@click.option(
    "--take-over", is_flag=True, help="Go on with the ledger of another home, which is lost."
)
def server(
    host: str,
    behind_proxy: bool,
    port: int,
    host_name: tuple[str, ...],
    tls_cert: str,
    tls_key: str,
    db: str,
    login: Path | None,
    take_over: bool,
) -> None:
    """Keep history and audit of clusters whose schedulers deliver to it.

    A server without nodes, in the foreground: it runs no programs. Its home, ~/.ganglion or
    $GANGLION_HOME, holds the key that signs the trail, and the ledger unless --db names another.
    """
    require("server")
    from ganglion.client.home import home
    from ganglion.server.main import serve

    serve(
        home(),
        nodes=(),
        port=port,
        host=host,
        behind_proxy=behind_proxy,
        host_names=host_name,
        tls=tls_files("", tls_cert, tls_key),
        database_url=db,
        login_folder=login,
        take_over=take_over,
        ready=lambda url: note(f"Ganglion listens on {url}."),
        say=note,
        warn=note,
        progress=note,
    )
