"""Checkpoints that lie elsewhere: read from what an anchor holds, whatever kind it is of."""

import json
import re
import stat
from pathlib import Path

from msgspec import Struct, field

from ganglion.audit.folder import CHECKPOINTS
from ganglion.audit.notes import PublicKey, SignedNote, note_of
from ganglion.model.errors import FileError
from ganglion.seams.files import SYSTEM_FILES, Files

TAG = "ganglion-checkpoint "
"""What comes before a note in a line of syslog; the note follows as a JSON string."""

_NOTES = re.compile(r"[^\n]+\n[0-9]+\n[^\n]+\n\n(?:\N{EM DASH} [^\n]+\n)+")
_OBJECT = re.compile(r".+\.[0-9]{12,}")
"""Name of an object of a bucket."""


class Anchored(Struct):
    """What an anchor holds of one log.

    Attributes:
        where: the file, for messages.
        roots: size of the tree -> its root.
        flaws: what is wrong with the anchor itself.
    """

    where: str
    roots: dict[int, bytes] = field(default_factory=dict)
    flaws: list[str] = field(default_factory=list)

    def take(self, note: SignedNote, key: PublicKey) -> None:
        """Take a checkpoint in. Notes of other logs are passed over."""
        found = note.checkpoint
        if found.origin != key.name:
            return
        try:
            note.check(key)
        except ValueError as error:
            self.flaws.append(f"{self.where}: the checkpoint of {found.size} records: {error}")
            return
        if self.roots.setdefault(found.size, found.root) != found.root:
            self.flaws.append(
                f"{self.where} holds two different checkpoints of {found.size} records"
            )


def read_anchor(path: Path, key: PublicKey, files: Files = SYSTEM_FILES) -> Anchored:
    """Read a file of notes one after the other, one of syslog lines, or a folder of notes.

    Args:
        path: the file; of a git repository the file `checkpoints` in it; of a bucket a folder
            with copies of its objects.
        key: of the log.
        files: the file system.

    Raises:
        FileError: it cannot be read, or holds no checkpoint of that log.
    """
    try:
        text = _text(path, files)
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read the anchor {path}: {error}", "name its file") from error
    found = Anchored(str(path))
    written = [*_of_syslog(text)] if TAG in text else _NOTES.findall(text)
    for each in written:
        try:
            found.take(note_of(each), key)
        except ValueError as error:
            found.flaws.append(f"{path}: {error}")
    if not found.roots and not found.flaws:
        raise FileError(f"{path} holds no checkpoint of log {key.name}", "is it the right anchor?")
    return found


def _text(path: Path, files: Files) -> str:
    """All that an anchor has written."""
    if not stat.S_ISDIR(files.stat(path).st_mode):
        return files.read(path).decode()
    names = files.names(path)
    copies = sorted(each for each in names if _OBJECT.fullmatch(each))
    chosen = [CHECKPOINTS] if CHECKPOINTS in names or not copies else copies
    return "".join(files.read(path / each).decode() for each in chosen)


def _of_syslog(text: str) -> list[str]:
    found = []
    for line in text.splitlines():
        _, tag, rest = line.partition(TAG)
        if tag:
            try:
                note, _ = json.JSONDecoder().raw_decode(rest)
            except ValueError:
                note = ""
            found.append(str(note))
    return found
