"""`ganglion up`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import rich_click as click

from ganglion.cli.options import command, tls
from ganglion.cli.output.formats import plural, plural_milli
from ganglion.cli.output.screen import err, is_tty, note
from ganglion.extras import require
from ganglion.transport.hosts import LOOPBACK
from ganglion.transport.tls.files import OWN, TLS, TlsFiles, tls_files

if TYPE_CHECKING:
    from ganglion.client.home import ServerRecord
    from ganglion.model.fleet.node import Node
    from ganglion.specs.cluster.cluster import Cluster
    from ganglion.specs.policy.policy import PolicyFile

PORT = 7077
TAKE_OVER_S = 1800.0
"""Longest wait for a take-over: jobs that run elsewhere have their grace."""
WARNING = "Warning: "
"""Begins the lines in which such a server says what it left out."""
TAKEN_OVER = "Taken over: "
"""Begins the lines in which a server in the background says what it waited for."""


class ServerWish(NamedTuple):
    """What the server is to serve."""

    nodes: int | None = None
    fake_gpus: str = ""
    racks: int = 0
    cpus: float | None = None
    memory: str = ""
    cluster: str = ""
    queues: str = ""
    policy: str = ""
    host: str = ""
    behind_proxy: bool = False
    port: int = PORT
    services_port: int | None = None
    host_name: tuple[str, ...] = ()
    tls: str | None = None
    tls_cert: str = ""
    tls_key: str = ""
    service_keys: str | None = None
    max_connections: int | None = None
    dry_runs: int | None = None
    allow_url: tuple[str, ...] = ()
    db: str = ""
    take_over: bool = False

    def arguments(self) -> list[str]:
        """Return the wish as arguments of `ganglion up`, its paths absolute."""
        from ganglion.specs.policy.presets import is_preset

        paths = {"cluster", "queues", "tls_cert", "tls_key"}
        paths |= set() if is_preset(self.policy) else {"policy"}
        given = {
            key: value if isinstance(value, tuple) else (value,)
            for key, value in self._asdict().items()
            if value not in (None, "") and not isinstance(value, bool)
        }
        flags = {"--take-over": self.take_over, "--behind-proxy": self.behind_proxy}
        return [each for each, is_set in flags.items() if is_set] + [
            part
            for key, values in given.items()
            for value in values
            for part in (
                f"--{key.replace('_', '-')}",
                str(Path(value).absolute()) if key in paths else str(value),
            )
        ]


@command(
    "up",
    "up",
    "up --nodes 4 --fake-gpus H100:8 --racks 2      # a pretend cluster of real processes",
    "up --cluster cluster.yaml --port 8080",
)
@click.option("--nodes", type=int, metavar="N", help="Split this machine into N pretend nodes.")
@click.option("--fake-gpus", default="", metavar="GPUS", help="Pretend GPUs per node: 8, H100:8.")
@click.option("--racks", type=int, default=0, metavar="R", help="Put the nodes into R racks.")
@click.option("--cpus", type=float, metavar="CPUS", help="CPU cores of each node.")
@click.option("--memory", default="", metavar="SIZE", help="Memory of each node, as 64Gi.")
@click.option(
    "--cluster", default="", metavar="FILE", help="Nodes, queues and policy from a cluster file."
)
@click.option(
    "--queues", default="", metavar="FILE", help="Queues and policy from a file, without nodes."
)
@click.option(
    "--policy",
    default="",
    metavar="FILE",
    help="A policy file, or default, kueue, kai, slurm-like.",
)
@click.option(
    "--host",
    default="",
    metavar="ADDRESS",
    help="Listen here for other machines too, with TLS; 0.0.0.0 or :: = everywhere."
    " [default: 127.0.0.1]",
)
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="Let --host do without TLS, since only a proxy that speaks it reaches that address.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=PORT,
    show_default=True,
    help="Port on this machine; 0 = any free one.",
)
@click.option(
    "--services-port",
    type=click.IntRange(0, 65_535),
    metavar="PORT",
    help="Port of services; by default the one after --port.",
)
@click.option(
    "--host-name",
    multiple=True,
    metavar="NAME",
    help="Host name to accept beside localhost, as gpu-box or gpu-box:7077.",
)
@tls(TLS)
@click.option(
    "--service-keys",
    type=click.Choice(["on", "off"]),
    help="Whether keys of services and workspaces let callers in. [default: on]",
)
@click.option(
    "--max-connections",
    type=click.IntRange(16, 60_000),
    metavar="N",
    help="Most simultaneous TCP connections, half of them for one address. [default: 2048]",
)
@click.option(
    "--dry-runs",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Most dry runs of one user in a minute. [default: 60]",
)
@click.option(
    "--allow-url",
    multiple=True,
    metavar="HOST",
    help="A private host or network that `scale.source` may name, as 127.0.0.1 or 10.0.0.0/8.",
)
@click.option("--db", default="", metavar="URL", help="Database of the ledger, as postgresql://…")
@click.option(
    "--take-over",
    is_flag=True,
    help="Take over the ledger of another home; gangs that run there end first.",
)
@click.option("--foreground", is_flag=True, help="Stay in this terminal until Ctrl-C.")
def up(foreground: bool, **flags: int | float | str | tuple[str, ...] | None) -> None:
    """Start the server on this machine.

    It runs in the background and schedules this machine's CPUs and GPUs. Without a GPU,
    --fake-gpus makes pretend ones: the scheduling is real, the jobs run, the GPUs do not exist.
    Its state is kept in ~/.ganglion, or $GANGLION_HOME, and survives a restart.
    """
    require("server")
    wish = ServerWish(**flags)  # type: ignore[arg-type]  # click has checked the types
    if foreground:
        _serve(wish)
    else:
        _start(wish)


def _serve(wish: ServerWish) -> None:
    from ganglion.client.home import home
    from ganglion.server.main import serve
    from ganglion.server.rest.listening.listen import MOST_CALLERS

    warn = lambda line: note(f"{WARNING}{line}")  # noqa: E731 - shorter than a function
    cluster, nodes, policy = _read(wish, warn)
    serve(
        home(),
        nodes=nodes,
        queues=cluster.queues,
        policy=policy,
        host=wish.host or LOOPBACK,
        behind_proxy=wish.behind_proxy,
        port=wish.port,
        services_port=wish.services_port,
        host_names=wish.host_name,
        tls=_tls(wish),
        service_keys=wish.service_keys != "off",
        max_connections=wish.max_connections or MOST_CALLERS,
        most_dry_runs=wish.dry_runs,
        allowed_urls=wish.allow_url,
        database_url=wish.db,
        ready=lambda url: _say_listening(url, wish),
        take_over=wish.take_over,
        say=lambda text: note(f"{TAKEN_OVER}{text}"),
        warn=warn,
        progress=note,
    )


def _read(
    wish: ServerWish, warn: Callable[[str], None] = lambda _note: None
) -> "tuple[Cluster, tuple[Node, ...], PolicyFile | None]":
    """Return the cluster, its nodes and the policy, which is None for the one that was in force.

    What a person should know about this machine goes to `warn`.

    Raises:
        FieldError: files or flags are wrong; with all that is wrong in any of them.
        FileError: a file cannot be read.
    """
    from ganglion.model.errors import FieldError
    from ganglion.specs.cluster.cluster import Cluster
    from ganglion.specs.wording import first_of, noted

    problems: list[FieldError] = []
    found = noted(lambda: _cluster(wish), problems)
    policy = noted(lambda: _policy(wish, found or Cluster()), problems)
    nodes = noted(lambda: _nodes(wish, found or Cluster(), warn), problems)
    noted(lambda: _check_tls(wish), problems)
    noted(lambda: _check_host(wish), problems)
    if problems or found is None or nodes is None:
        raise first_of(problems)
    return found, nodes, policy


def _cluster(wish: ServerWish) -> "Cluster":
    """Return what the file says; nothing without one."""
    from ganglion.specs.cluster.cluster import Cluster, load_cluster

    if wish.cluster and wish.queues:
        raise click.UsageError("--cluster has queues too; leave --queues out")
    path = wish.cluster or wish.queues
    return load_cluster(path) if path else Cluster()


def _policy(wish: ServerWish, cluster: "Cluster") -> "PolicyFile | None":
    """Return the policy that is asked for; None = the one that was in force."""
    from ganglion.specs.policy.policy import resolve_policy

    return resolve_policy(wish.policy) if wish.policy else cluster.policy_file


def _tls(wish: ServerWish) -> TlsFiles | None:
    """Return what is asked for; None = no TLS."""
    return tls_files(wish.tls or "", wish.tls_cert, wish.tls_key)


def _check_host(wish: ServerWish) -> None:
    """Raises FieldError if other machines would reach the server without TLS."""
    from ganglion.server.rest.listening.address import check_host

    tls = bool(wish.tls or wish.tls_cert or wish.tls_key)
    check_host(wish.host or LOOPBACK, tls=tls, behind_proxy=wish.behind_proxy)


def _check_tls(wish: ServerWish) -> None:
    """Raises FieldError if certificate and key cannot be used."""
    if not (wish.tls or wish.tls_cert or wish.tls_key):
        return
    from ganglion.seams.effects import SYSTEM
    from ganglion.transport.tls.certificate import checked

    pair = _tls(wish)
    if pair and pair != OWN:
        checked(pair, SYSTEM.files, SYSTEM.clock.now_ms())


def _nodes(wish: ServerWish, cluster: "Cluster", warn: Callable[[str], None]) -> "tuple[Node, ...]":
    """Return the nodes of the file, or this machine as the flags say."""
    from ganglion.specs.grammar import parse_memory
    from ganglion.worlds.local.machine.discover import machine_nodes

    split = wish.nodes or wish.fake_gpus or wish.racks or wish.cpus or wish.memory
    if wish.cluster and cluster.nodes:
        if split:
            raise click.UsageError(f"{wish.cluster} says what the nodes are; leave the flags out")
        return cluster.nodes
    return machine_nodes(
        nodes=1 if wish.nodes is None else wish.nodes,
        fake_gpus=_pretend(wish.fake_gpus),
        racks=wish.racks,
        cpus=wish.cpus,
        memory=parse_memory(wish.memory) if wish.memory else None,
        warn=warn,
    )


def _pretend(text: str) -> str:
    """Bring `H100:8` and `H100:80GB:8` into the order count, type, memory."""

    def place(part: str) -> int:
        return 0 if part.isdigit() else 2 if part[:1].isdigit() else 1

    return ":".join(sorted(text.split(":"), key=place))


def _say_listening(url: str, wish: ServerWish) -> None:
    note(f"Ganglion listens on {url}. Ctrl-C stops it; jobs go on.")
    if wish.tls:
        _say_certificate()


def _say_certificate() -> None:
    """Say how clients recognise the certificate that the server has made itself."""
    import ssl
    from hashlib import sha256

    from ganglion.client.home import OWN_CERTIFICATE, home

    path = home() / OWN_CERTIFICATE
    shown = sha256(ssl.PEM_cert_to_DER_cert(path.read_text())).digest().hex(":").upper()
    note(f"SHA-256 of its certificate: {shown}\nClients need a copy: GANGLION_CA_FILE={path}")


def _start(wish: ServerWish) -> None:
    from ganglion.cli.access.portal import say_portal
    from ganglion.cli.server.background import START_S, running, said, start
    from ganglion.client.home import home

    record = running(home())
    if record:
        click.echo(f"Ganglion is already running at {record.url} (pid {record.pid}).")
        if wish != ServerWish():
            note("To serve something else: ganglion down, then ganglion up again.")
        return
    _read(wish)  # report errors here, on the terminal of the person
    patience_s = TAKE_OVER_S if wish.take_over else START_S
    if is_tty(stderr=True):
        with err().status("Starting the server …"):
            record = start(home(), wish.arguments(), patience_s)
    else:
        record = start(home(), wish.arguments(), patience_s)
    for line in said(home(), TAKEN_OVER) if wish.take_over else ():
        note(line)
    for line in said(home(), WARNING):
        note(line)
    _say_ready(record)
    if wish.tls:
        _say_certificate()
    say_portal()
    if (home() / "login.yaml").exists():
        _say_bootstrap()


def _say_bootstrap() -> None:
    """Print the link of the first admin of a server where users sign in, unless it has one."""
    from ganglion.cli.connection.connect import connect

    with connect() as client:
        made = client.access.bootstrap(if_needed=True)
    if made.url:
        note("There is no admin yet. The first one opens this link, once and within an hour:")
        click.echo(made.url)


def _say_ready(record: "ServerRecord") -> None:
    from ganglion.cli.connection.connect import connect

    with connect() as client:
        nodes, flavors = client.nodes(), client.gpus()
    own = [node for node in nodes if not node.cluster]
    kinds = {node.flavor for node in own}
    gpus = sum(flavor.gpu_total_milli for flavor in flavors if flavor.flavor in kinds)
    there = sum(node.state != "lost" for node in own)
    click.echo(f"Ganglion is running at {record.url}: {plural(there, 'node')}", nl=False)
    click.echo(f", {plural_milli(gpus, 'GPU')}" if gpus else ", no GPU")
    if not gpus:
        note("For pretend GPUs: ganglion down, then: ganglion up --fake-gpus 8")
    example = f"run{' --gpus 1' if gpus else ''} -- python train.py"
    note(
        f"  ganglion {example:<32} run a command\n"
        f"  ganglion {'ps --watch':<32} see what runs and waits\n"
        f"  ganglion {'down':<32} stop the server"
    )
