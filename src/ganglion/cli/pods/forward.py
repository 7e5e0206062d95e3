"""`ganglion port-forward`."""

import contextlib
import functools
import re
import signal
import socket
import threading
from typing import TYPE_CHECKING, NamedTuple

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.connection.contexts import ChosenCluster, context_options
from ganglion.cli.connection.elsewhere import local_only
from ganglion.cli.options import command
from ganglion.cli.output.screen import note
from ganglion.model.errors import EnvironmentFault, GanglionError, InputError, StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from httpx2.websockets import WebSocketSession

    from ganglion.client import Client

LOOPBACK = "127.0.0.1"
PAIR = re.compile(r"(?:([0-9]{0,5}):)?([0-9]{1,5})")
MOST = 65_535
PIECE = 1 << 15


class ForwardedPort(NamedTuple):
    """A local port, 0 = any free one, and the port in the pod."""

    local: int
    remote: int


@command(
    "port-forward",
    "port-forward chat",
    "port-forward train 6006",
    "port-forward lab 8080:8888 :6006",
)
@click.argument("job", shell_complete=complete_jobs)
@click.argument("ports", nargs=-1, metavar="[[LOCAL:]REMOTE...]")
@click.option("--pod", type=click.IntRange(min=0), help="Pod of the gang.  [default: 0]")
@context_options
def port_forward(
    job: str, ports: tuple[str, ...], pod: int | None, where: ChosenCluster | None
) -> None:
    """Forward local ports to ports of a running pod, until Ctrl-C.

    REMOTE alone uses the same local port, :REMOTE any free one; without ports, the one that a
    service or workspace listens on. Only programs on this machine can connect. In the local
    world a pod has the network of the server's machine.

    JOB is an id, the beginning of one, or a name; JOB/3 is its replica or trial 3.
    """
    local_only(where, "port-forward", "kubectl port-forward")
    with connect() as client, contextlib.ExitStack() as stack:
        ways = [parsed(text) for text in ports] or [_own(client, job)]
        interrupted = stack.enter_context(_awaiting_interrupt())
        for way in ways:
            listener = stack.enter_context(_listen(way))
            port = listener.getsockname()[1]
            note(f"Forwarding {LOOPBACK}:{port} -> {job} port {way.remote}. Ctrl-C ends it.")
            carrier = Carrier(client, listener, job, way.remote, pod)
            stack.callback(carrier.close)
            threading.Thread(target=carrier.accept, daemon=True).start()
        interrupted()


@contextlib.contextmanager
def _awaiting_interrupt() -> "Iterator[Callable[[], object]]":
    """Yield what waits for Ctrl-C.

    A thread that starts another one may take the signal; then a main thread that waits for a lock
    sleeps on. So no thread that starts in the block sees the signal.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield functools.partial(signal.sigwait, {signal.SIGINT})
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def parsed(text: str) -> ForwardedPort:
    """Read `[LOCAL:]REMOTE`. Raises InputError."""
    found = PAIR.fullmatch(text)
    local, remote = (found[1], int(found[2])) if found else (None, 0)
    if not found or not 0 < remote <= MOST or int(local or 0) > MOST:
        raise InputError(f"{text} is not a port", "as 8080:8888, 6006, or :6006 for any free one")
    return ForwardedPort(remote if local is None else int(local or 0), remote)


def _own(client: "Client", job: str) -> ForwardedPort:
    """The port that a workload listens on."""
    ref, _, index = job.partition("/")
    gangs = client.workload(ref).gangs
    chosen = [each for each in gangs if each.endpoint and index in ("", str(each.index))]
    if not chosen:
        raise StateError(f"{job} listens on no known port", "name one, as 8080:8888")
    return ForwardedPort(0, int(chosen[0].endpoint.rpartition(":")[2]))


def _listen(way: ForwardedPort) -> socket.socket:
    """Listen on a local port; the process that has one in use is named."""
    from ganglion.server.rest.listening.address import bind

    try:
        listener = bind(LOOPBACK, way.local)
    except EnvironmentFault as error:
        error.hint = f"choose another one, as {way.local + 1}:{way.remote}, or :{way.remote}"
        raise
    listener.listen()
    return listener


class Carrier:
    """Carries the connections of one listener.

    Args:
        client: the connection to the server.
        listener: where programs here connect.
        job: reference of the workload or gang.
        port: the port in the pod.
        pod: number of the pod.
    """

    def __init__(
        self, client: "Client", listener: socket.socket, job: str, port: int, pod: int | None
    ) -> None:
        self._client, self._listener = client, listener
        self._job, self._port, self._pod = job, port, pod
        self._live: set[WebSocketSession] = set()

    def accept(self) -> None:
        """Take connections until the listener is closed."""
        while True:
            try:
                connected, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connected,), daemon=True).start()

    def _serve(self, connected: socket.socket) -> None:
        with connected:
            try:
                with self._client.terminals.forward(self._job, self._port, pod=self._pod) as far:
                    self._live.add(far)
                    back = threading.Thread(target=_back, args=(far, connected), daemon=True)
                    back.start()
                    _onward(connected, far)
                    back.join()
                    self._live.discard(far)
            except GanglionError as error:
                note(f"{error.message}" + (f" ({error.hint})" if error.hint else ""))

    def close(self) -> None:
        """Break what is still carried: its threads would keep this process alive."""
        for far in list(self._live):
            with contextlib.suppress(Exception):  # it breaks by itself at this moment
                # A thread that reads goes on until the server answers, if it ever does.
                far.stream.get_extra_info("socket").shutdown(socket.SHUT_RD)
            with contextlib.suppress(Exception):
                far.close()


def _onward(connected: socket.socket, far: "WebSocketSession") -> None:
    """Send what the program here writes; an empty message is its end."""
    from httpx2.websockets import HTTPXWSException

    with contextlib.suppress(OSError, HTTPXWSException):
        while data := connected.recv(PIECE):
            far.send_bytes(data)
    with contextlib.suppress(HTTPXWSException):
        far.send_bytes(b"")


def _back(far: "WebSocketSession", connected: socket.socket) -> None:
    """Forward what the pod writes, up to its end."""
    from httpx2.websockets import HTTPXWSException

    with contextlib.suppress(OSError, HTTPXWSException):
        while data := far.receive_bytes():
            connected.sendall(data)
        connected.shutdown(socket.SHUT_WR)
        return
    with contextlib.suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)  # the pod's side broke: wake the other direction
