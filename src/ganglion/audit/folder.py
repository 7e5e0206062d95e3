"""The folder `audit` in a home: the key that signs, the public key, and all checkpoints.

The secret half of the key lies in a file that its owner alone can read, and is never printed.
Checkpoints are JSON lines, the oldest first; a line that a crash has cut off is removed.
"""

import io
import os
import re
import socket
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from ganglion.audit.merkle import SIZE, Frontier
from ganglion.audit.notes import KEY_BYTES, PublicKey, Signer, key_of, note_of
from ganglion.model.errors import EnvironmentFault
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import FileStream, exists, make_folder, replace_whole, sync_folder

FOLDER, KEY, PUBLIC, CHECKPOINTS = "audit", "key", "public-key", "checkpoints"
RESTORE = "restore it from a backup"
OTHERS = stat.S_IRWXG | stat.S_IRWXO
CHUNK = 1 << 16
"""Bytes at the end of the file that hold the last line; a line has some thousand at most."""
_UNFIT = re.compile(r"[^A-Za-z0-9.-]+")


class Sealed(Struct, frozen=True):
    """A checkpoint as it lies in the folder.

    Attributes:
        seq: number of the newest event that it covers.
        note: the checkpoint as a signed note.
        checksum: of that event, in hexadecimal.
        hashes: of the complete subtrees, the largest first, in a row, in base 64.
        size: records of the tree; its first is event `seq - size + 1`.
    """

    seq: int
    note: str
    checksum: str
    hashes: str
    size: int

    def frontier(self) -> Frontier:
        """The tree, to go on from. Raises ValueError: it is not the one that was signed."""
        tree, signed = frontier_of(self.size, self.hashes), note_of(self.note).checkpoint
        if (tree.size, tree.root()) != (signed.size, signed.root):
            raise ValueError("its tree is not the one that was signed")
        return tree


def frontier_of(size: int, hashes: str) -> Frontier:
    """A tree from its subtrees in a row, in base 64. Raises ValueError: they are not of one."""
    raw = b64decode(hashes, validate=True)
    return Frontier(size, [raw[at : at + SIZE] for at in range(0, len(raw), SIZE)])


class _Secret(Struct, frozen=True):
    """The file with the key: the name of the log, and 32 bytes in base 64."""

    name: str
    secret: str


class AuditFolder:
    """The folder of one home.

    Args:
        home: Ganglion's home directory.
        effects: files, chance and the id of this process.

    Attributes:
        path: the folder.
        checkpoints: the file of all checkpoints.
    """

    def __init__(self, home: Path, effects: Effects = SYSTEM) -> None:
        self._effects, self._files = effects, effects.files
        self.path = home / FOLDER
        self.checkpoints = self.path / CHECKPOINTS

    def signer(self) -> Signer:
        """The key that signs; made where there is none.

        Raises:
            EnvironmentFault: it cannot be read or made, others can read it, or it is not the
                secret half of the public key.
        """
        path = self.path / KEY
        try:
            make_folder(self._files, self.path)
            if not exists(self._files, path):
                self._made(path)
            if self._files.stat(path).st_mode & OTHERS:
                raise EnvironmentFault(f"other users can read {path}", f"chmod 600 {path}")
            found = msgspec.json.decode(self._files.read(path), type=_Secret)
            signer = Signer(found.name, b64decode(found.secret, validate=True))
            public = self.public()
            if public and public != signer.public:
                raise EnvironmentFault(f"{path} and {PUBLIC} are no pair", RESTORE)
            if not public:
                self._write(self.path / PUBLIC, f"{signer.public}\n".encode())
        except (OSError, ValueError) as error:
            said = error.strerror if isinstance(error, OSError) else "it is damaged"
            raise EnvironmentFault(f"cannot use the audit key {path}: {said}", RESTORE) from None
        return signer

    def _made(self, path: Path) -> None:
        host, chance = _UNFIT.sub("-", socket.gethostname()) or "host", self._effects.randomness
        made = _Secret(
            f"{host}/ganglion/{chance.token_hex(4)}",
            b64encode(chance.token_bytes(KEY_BYTES)).decode(),
        )
        self._write(path, msgspec.json.encode(made))

    def _write(self, path: Path, content: bytes) -> None:
        replace_whole(self._files, path, content, self._effects.processes.own())

    def public(self) -> PublicKey | None:
        """The key that signatures are checked with; None = there is none.

        Raises:
            EnvironmentFault: it is damaged or cannot be read.
        """
        path = self.path / PUBLIC
        try:
            return key_of(self._files.read(path).decode())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise EnvironmentFault(f"cannot use the public key {path}: {error}", RESTORE) from error

    def append(self, sealed: Sealed) -> None:
        """Keep a checkpoint; when this returns, it survives a power cut.

        Raises:
            OSError: the disk refuses; a part of it may be there until `mend`.
        """
        files = self._files
        is_new = not exists(files, self.checkpoints)
        opened = files.open(self.checkpoints, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            files.write(opened, msgspec.json.encode(sealed) + b"\n")
            files.sync(opened)
        finally:
            files.close(opened)
        if is_new:
            sync_folder(files, self.path)

    def mend(self) -> None:
        """Remove a last line that is not complete. Raises OSError."""
        files = self._files
        if not exists(files, self.checkpoints):
            return
        opened = files.open(self.checkpoints, os.O_RDWR)
        try:
            size = files.stat(self.checkpoints).st_size
            tail = files.pread(opened, CHUNK, max(size - CHUNK, 0))
            if not tail.endswith(b"\n"):
                files.truncate(opened, size - (len(tail) - tail.rfind(b"\n") - 1))
        finally:
            files.close(opened)

    def sealed(self, after: int = 0) -> Iterator[Sealed]:
        """Checkpoints that cover more than `after` events, the oldest first.

        Raises:
            EnvironmentFault: the file cannot be read, or a line is not as it was written.
        """
        number = 0
        try:
            with io.BufferedReader(FileStream(self._files, self.checkpoints, os.O_RDONLY)) as file:
                for line in file:
                    number += 1
                    if not line.endswith(b"\n") and not _is_damaged(line):  # it is being written
                        return
                    found = _sealed(line)
                    if found.seq > after:
                        yield found
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise self._damaged(f"line {number}: {error}") from error

    def newest(self) -> Sealed | None:
        """The newest checkpoint; None = there is none. Raises EnvironmentFault: it is damaged."""
        try:
            lines = self._tail().split(b"\n")[:-1]
            return _sealed(lines[-1] + b"\n") if lines else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise self._damaged(f"the last line: {error}") from error

    def _tail(self) -> bytes:
        """The last bytes of the file of checkpoints, which hold its last line."""
        files = self._files
        opened = files.open(self.checkpoints, os.O_RDONLY)
        try:
            size = files.stat(self.checkpoints).st_size
            return files.pread(opened, CHUNK, max(size - CHUNK, 0))
        finally:
            files.close(opened)

    def _damaged(self, said: str) -> EnvironmentFault:
        # What one checkpoint covers is covered by the next one, too.
        return EnvironmentFault(f"{self.checkpoints}, {said}", f"{RESTORE}, or remove the line")


def _is_damaged(line: bytes) -> bool:
    """Whether a line without a line feed has another byte in its place."""
    try:
        _sealed(line[:-1] + b"\n")
    except ValueError:
        return False
    return True


def _sealed(line: bytes) -> Sealed:
    """Read a checkpoint. Raises ValueError: the line is not as one was written."""
    found = msgspec.json.decode(line, type=Sealed)
    if msgspec.json.encode(found) + b"\n" != line:
        raise ValueError("it is not written as a server writes it")
    found.frontier()
    return found
