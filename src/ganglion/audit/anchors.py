"""Anchors: where checkpoints lie beside the home, written as `audit.yaml` in the home says.

The newest checkpoint covers all before it, so an anchor that was away gets that one alone.
"""

import errno
import json
import os
import re
import socket
from pathlib import Path

import msgspec
import yaml
from msgspec import Struct

from ganglion.audit.anchored import TAG
from ganglion.audit.folder import CHECKPOINTS
from ganglion.audit.forms import AUDIT_INFO, utc
from ganglion.audit.object_store import CheckpointBucket, trouble_of
from ganglion.model.errors import FileError
from ganglion.seams.effects import Effects
from ganglion.seams.files import SYSTEM_FILES, Files, exists, sync_folder

FILE = "audit.yaml"
UDP = "udp://"
SYSLOG_PORT = 514
SEND_S = 5.0
"""How long a socket may refuse to take a line."""
GIT_S = 30.0
"""How long one command of git may take."""
TAIL = 4096
"""Bytes at the end of a file that hold its last checkpoint."""
GIT_ENV = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
AUTHOR = ("-c", "user.name=Ganglion", "-c", "user.email=ganglion@localhost")

_END = re.compile(rb"\n\n(?:\xe2\x80\x94 [^\n]+\n)+")


class Anchor(Struct, frozen=True, forbid_unknown_fields=True):
    """One place; exactly one of `file`, `syslog`, `git` and `bucket` is given.

    Attributes:
        file: absolute path of a file that notes are appended to.
        syslog: absolute path of a datagram socket as `/dev/log`, or `udp://HOST:PORT`.
        git: absolute path of a working tree, in whose file `checkpoints` notes are committed.
        push: of `git`: the remote that the branch is pushed to; empty = none.
        bucket: URL of a bucket and a prefix that speaks the protocol of S3, where each note
            becomes an object.
        region: of `bucket`.
        credentials: of `bucket`: absolute path of a file with the id of a key and its secret.
    """

    file: str = ""
    syslog: str = ""
    git: str = ""
    push: str = ""
    bucket: str = ""
    region: str = ""
    credentials: str = ""

    def __post_init__(self) -> None:
        given = [each for each in (self.file, self.syslog, self.git, self.bucket) if each]
        if len(given) != 1:
            raise ValueError("an anchor is one of file, syslog, git and bucket")
        is_path = not (self.bucket or self.syslog.startswith(UDP))
        if is_path and not given[0].startswith("/"):
            raise ValueError(f"{given[0]} is not an absolute path")
        self._check_bucket()
        if self.push and not self.git:
            raise ValueError("push goes with git")
        if self.push.startswith("-"):
            raise ValueError(f"{self.push} is no name of a remote")
        if self.syslog.startswith(UDP):
            _address(self.syslog)

    def _check_bucket(self) -> None:
        if not self.bucket:
            if self.region or self.credentials:
                raise ValueError("region and credentials go with bucket")
            return
        if trouble_of(self.bucket):
            raise ValueError(trouble_of(self.bucket))
        if not self.region or not self.credentials.startswith("/"):
            raise ValueError("bucket needs region and credentials, an absolute path")

    @property
    def where(self) -> str:
        """What it is, for messages."""
        kinds = ("file", "syslog", "git", "bucket")
        return next(f"{kind} {getattr(self, kind)}" for kind in kinds if getattr(self, kind))


class AnchorReached(Struct, frozen=True):
    """How far an anchor is.

    Attributes:
        seq: number of the newest event that a checkpoint there covers; 0 = the
            server has written none there.
        at: when the server wrote that one, or found it there, in ms.
        problem: why it lacks a newer one; empty = it does not, or it was not tried yet.
        begun: since when this server writes to it, in ms; 0 = that does not matter.
    """

    seq: int = 0
    at: int = 0
    problem: str = ""
    begun: int = 0


class AuditSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The file `audit.yaml`.

    Attributes:
        anchors: every one of them gets the checkpoints.
    """

    anchors: tuple[Anchor, ...] = ()


def read_audit_settings(home: Path, files: Files = SYSTEM_FILES) -> AuditSettings:
    """Read the settings of a home; without the file there are no anchors.

    Raises:
        FileError: the file is not what it should be.
    """
    path = home / FILE
    try:
        written = yaml.safe_load(files.read(path).decode("utf-8")) or {}
        return msgspec.convert(written, AuditSettings)
    except FileNotFoundError:
        return AuditSettings()
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise FileError(f"{path}: {error}", "see docs/audit.md") from error


def write_anchor(anchor: Anchor, note: str, at: int, effects: Effects) -> None:
    """Write a checkpoint to an anchor, unless it is the newest there.

    Args:
        anchor: where to.
        note: the checkpoint as a signed note.
        at: the time in ms, for lines of syslog and requests.
        effects: files, programs and the id of this process.

    Raises:
        OSError: the anchor refuses.
    """
    if anchor.file:
        _append(Path(anchor.file), note.encode(), effects.files)
    elif anchor.git:
        _commit(anchor, note, effects)
    elif anchor.bucket:
        CheckpointBucket(anchor.bucket, anchor.region, anchor.credentials).put(
            note, at, effects.files
        )
    else:
        _send(anchor.syslog, _syslog_line(note, at, effects.processes.own()))


def _append(path: Path, note: bytes, files: Files) -> None:
    """Append a note to a file and sync it. What a failed write left of one is cut off."""
    is_new = not exists(files, path)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK  # a FIFO must not block
    descriptor = files.open(path, flags)
    try:
        size = files.stat(path).st_size
        start = max(size - TAIL, 0)
        tail = files.pread(descriptor, size - start, start)
        kept = _whole(tail, note, path)
        if kept != len(tail):
            files.truncate(descriptor, start + kept)
        if not tail[:kept].endswith(note):
            files.write(descriptor, note)
        files.sync(descriptor)
    finally:
        files.close(descriptor)
    if is_new:
        sync_folder(files, path.parent)


def _whole(tail: bytes, note: bytes, path: Path) -> int:
    """Bytes of a file's tail up to the end of its last whole note.

    Raises:
        OSError: what follows there is no part of a note of the same log.
    """
    end = max((each.end() for each in _END.finditer(tail)), default=0)
    origin, part = note.partition(b"\n")[0], tail[end:]
    if part and part[: len(origin)] != origin[: len(part)]:
        raise OSError(errno.EINVAL, "it does not end with a checkpoint of this log", str(path))
    return end


def _commit(anchor: Anchor, note: str, effects: Effects) -> None:
    """Commit a note to a repository, and push it."""
    _git(anchor, effects, "rev-parse", "--is-inside-work-tree")
    _append(Path(anchor.git) / CHECKPOINTS, note.encode(), effects.files)
    if _git(anchor, effects, "status", "--porcelain", "--", CHECKPOINTS):
        _git(anchor, effects, "add", "--", CHECKPOINTS)
        origin, size, *_ = note.split("\n")
        said = f"Checkpoint of {size} records of {origin}"
        _git(anchor, effects, "commit", "-q", "--only", "-m", said, "--", CHECKPOINTS)
    if anchor.push:
        _git(anchor, effects, "push", "-q", anchor.push, "HEAD")


def _git(anchor: Anchor, effects: Effects, *argv: str) -> bytes:
    """Run git in the repository; returns what it wrote. Raises OSError: it failed."""
    command = ("git", "-C", anchor.git, *AUTHOR, *argv)
    done = effects.processes.run(command, b"", GIT_ENV, GIT_S)
    if done.code:
        text = " ".join(done.said.decode(errors="replace").split())[:200]
        raise OSError(errno.EIO, f"git {argv[0]}: {text or f'exit code {done.code}'}")
    return done.out


def _syslog_line(note: str, at: int, pid: int) -> bytes:
    """The note as a line of RFC 5424: facility 13, severity informational."""
    host = re.sub(r"[^!-~]", "-", socket.gethostname())[:255] or "-"
    head = f"<{AUDIT_INFO}>1 {utc(at)} {host} ganglion {pid} checkpoint -"
    return f"{head} {TAG}{json.dumps(note)}".encode()


def _send(place: str, line: bytes) -> None:
    """Send a datagram to a socket of this machine, or by UDP."""
    if not place.startswith(UDP):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unix:
            unix.settimeout(SEND_S)
            unix.connect(place)
            unix.send(line)
        return
    family, kind, _, _, address = socket.getaddrinfo(*_address(place), type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as udp:
        udp.settimeout(SEND_S)
        udp.connect(address)
        udp.send(line)


def _address(place: str) -> tuple[str, int]:
    """Host and port of `udp://HOST:PORT`. Raises ValueError: it is none."""
    found = re.fullmatch(r"udp://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+)(?::([0-9]{1,5}))?", place)
    if not found or not 0 < int(found[2] or SYSLOG_PORT) <= 0xFFFF:
        raise ValueError(f"{place} is not as udp://HOST:PORT")
    return found[1].strip("[]"), int(found[2] or SYSLOG_PORT)
