"""`ganglion cp`."""

import io
import posixpath
import re
import tarfile
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.connection.contexts import ChosenCluster, context_options
from ganglion.cli.connection.elsewhere import local_only
from ganglion.cli.options import command
from ganglion.client.calls.terminals import STDOUT, SessionStatus, TerminalSession
from ganglion.model.errors import EnvironmentFault, InputError, StateError

if TYPE_CHECKING:
    from ganglion.client import Client

REMOTE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*(?:/[0-9]+)?):(.*)", re.DOTALL)
BLOCK = 1 << 16


class Far(NamedTuple):
    """A path in a pod.

    Attributes:
        job: reference of the workload or gang.
        path: as the person wrote it; relative to the directory of the pod.
        pod: number of the pod.
    """

    job: str
    path: str
    pod: int | None


@command(
    "cp", "cp train:out/model.pt .", "cp data train:inputs", "cp --pod 1 train:trace.json t1.json"
)
@click.argument("source")
@click.argument("target")
@click.option("--pod", type=click.IntRange(min=0), help="Pod of the gang.  [default: 0]")
@context_options
def cp(source: str, target: str, pod: int | None, where: ChosenCluster | None) -> None:
    """Copy files and folders to and from a running pod.

    One of SOURCE and TARGET is JOB:PATH, a path in the directory of the pod; write ./ before a
    path of your own that has a colon. A folder is copied with all that is in it. Into a TARGET
    that is a folder it is copied under its own name, else it becomes TARGET.

    Modes and times are kept, without the bits setuid, setgid and write of others; owners are not.
    The pod needs tar.
    """
    local_only(where, "cp", "kubectl cp")
    near, far = REMOTE.fullmatch(source), REMOTE.fullmatch(target)
    if bool(near) == bool(far):
        raise InputError("one of SOURCE and TARGET is in a pod, the other is not", "as train:out .")
    with connect() as client:
        if near:
            download(client, Far(near[1], near[2] or ".", pod), Path(target))
        elif far:
            upload(client, Path(source), Far(far[1], far[2] or ".", pod))


def download(client: "Client", far: Far, target: Path) -> None:
    """Copy from a pod.

    Raises:
        StateError: it is not there, or may not be read.
        EnvironmentFault: it cannot be written here.
    """
    path = far.path.rstrip("/") or "/"
    folder, name = posixpath.split(path)
    root = posixpath.basename(posixpath.normpath(path))
    if root in ("", ".", ".."):
        folder, name, root = path, ".", "."
    into, called = (target, root) if target.is_dir() else (target.parent, target.name)
    if not into.is_dir():
        raise EnvironmentFault(f"there is no folder {into}", "make it first")
    words = ["tar", "-cf", "-", "-C", folder or ".", "--", name]
    with client.terminals.execute(far.job, words, pod=far.pod, path=path) as session:
        session.close_input()
        stream = Stream(session)
        try:
            _extract(stream, into, name, called)
        except (OSError, tarfile.TarError) as error:
            stream.drain()
            stream.check(far)
            raise EnvironmentFault(f"cannot copy {far.path}: {error}") from error
        stream.drain()
    stream.check(far)


def _extract(stream: "Stream", into: Path, name: str, called: str) -> None:
    """Unpack an archive whose root gets another name."""

    def renamed(path: str) -> str:
        head, slash, rest = path.removeprefix("./").partition("/")
        if name == ".":
            return path if called == "." else f"{called}/{path}"
        return f"{called}{slash}{rest}" if head == name else path

    with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|", bufsize=BLOCK) as archive:
        for member in archive:
            link = renamed(member.linkname) if member.islnk() else member.linkname
            here = member.replace(name=renamed(member.name), linkname=link, deep=False)
            archive.extract(here, into, filter="data")


class Stream(io.RawIOBase):
    """The output of a command, to be read as a file; keeps what it says of errors.

    Args:
        session: the open command.
    """

    def __init__(self, session: TerminalSession) -> None:
        self._session, self._held = session, b""
        self._said = bytearray()
        self._status: SessionStatus | None = None

    def readable(self) -> bool:
        """It can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; empty = the end."""
        while not self._held and self._status is None:
            self._hear()
        if size < 0:
            size = len(self._held)
        found, self._held = self._held[:size], self._held[size:]
        return found

    def _hear(self) -> None:
        found = self._session.receive()
        if isinstance(found, SessionStatus):
            self._status = found
        elif found[0] == STDOUT:
            self._held = found[1]
        else:
            self._said += found[1]

    def lost(self, error: EnvironmentFault) -> None:
        """The connection broke."""
        self._status = SessionStatus(error=error.message, hint=error.hint)

    @property
    def succeeded(self) -> bool:
        """Whether the command has ended with 0."""
        return self._status is not None and self._status.exit_code == 0

    def drain(self) -> None:
        """Wait for the end of the command."""
        while self._status is None:
            self._hear()

    def check(self, far: Far) -> None:
        """Raises StateError when the command failed."""
        status = self._status or SessionStatus()
        if status.error:
            raise StateError(f"{far.job}: {status.error}", status.hint or "the pod needs tar")
        if status.exit_code:
            said = self._said.decode(errors="replace").strip().splitlines()
            raise StateError(f"{far.job}:{far.path}: {said[0] if said else 'tar failed'}")


def upload(client: "Client", source: Path, far: Far) -> None:
    """Copy to a pod.

    Raises:
        InputError: there is no such file here.
        StateError: it cannot be written there.
    """
    if not source.exists():
        raise InputError(f"there is no file or folder {source}")
    path = far.path.rstrip("/") or "/"
    if _is_folder(client, far._replace(path=path)):
        folder, name = path, source.resolve().name
    else:
        folder, name = posixpath.split(path)
    words = ["tar", "-xpf", "-", "--no-same-owner", "-C", folder or "."]
    with client.terminals.execute(far.job, words, pod=far.pod, path=path) as session:
        stream = Stream(session)
        end = threading.Thread(target=_until_end, args=(stream,), daemon=True)
        end.start()
        try:
            _pack(session, source, name, end)
            session.close_input()
        except _OverError:
            pass
        end.join()
    stream.check(far)


class _OverError(OSError):
    """The command has ended before it had read everything."""


def _pack(session: TerminalSession, source: Path, name: str, end: threading.Thread) -> None:
    class Sink(io.RawIOBase):
        """Sends what is written."""

        def writable(self) -> bool:
            """It can be written."""
            return True

        def write(self, data: object) -> int:
            """Send bytes."""
            body = bytes(cast("bytes", data))
            if not end.is_alive():
                raise _OverError
            session.send(body)
            return len(body)

    with tarfile.open(fileobj=cast("IO[bytes]", Sink()), mode="w|", bufsize=BLOCK) as archive:
        archive.add(source, arcname=name)


def _until_end(stream: Stream) -> None:
    try:
        stream.drain()
    except EnvironmentFault as error:
        stream.lost(error)


def _is_folder(client: "Client", far: Far) -> bool:
    words = ["test", "-d", far.path]
    with client.terminals.execute(far.job, words, pod=far.pod, path=far.path) as session:
        session.close_input()
        stream = Stream(session)
        stream.drain()
    return stream.succeeded
