"""The folder where models are kept: whole ones, those that are being fetched, and room for more.

`whole/KEY` has a model and `model.json`, which says what it is; `partial/KEY` becomes that by one
rename, once all of it survives a power cut. What is removed goes through `gone/` first, so that a
model is never half there. Other accounts pass `whole`, and enter a model that they were let into.
"""

import contextlib
import stat
import threading
from collections.abc import Collection, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog
from msgspec import Struct

from ganglion.api.use import StoredModel
from ganglion.ledger.lock import FileLock
from ganglion.model.errors import EnvironmentFault
from ganglion.model.workload import ResolvedModel
from ganglion.seams import acl
from ganglion.seams.effects import Effects
from ganglion.seams.files import exists, make_folder, replace_whole, sync_folder
from ganglion.server.models.cache.sources import RemoteFile

SPARE = 1 << 30
"""Bytes that stay free on the disk, whatever is fetched."""
PASSED, ENTERED = 0o711, 0o755
"""Modes of folders that others pass, and of those below a model that others were let into."""
RECORD, FILES, LISTING = "model.json", "files", "listing.json"

log = structlog.get_logger(__name__)


class CachedModel(Struct, frozen=True):
    """A model that lies in the folder whole.

    Attributes:
        uri: what it is.
        digest: as the registry said.
        files: path below the model, and size in bytes.
    """

    uri: str
    digest: str
    files: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for _, size in self.files)


class _Entry(NamedTuple):
    """Something that takes room; the one that was used longest ago goes first."""

    used: int
    size: int
    path: Path


def key_of(model: ResolvedModel) -> str:
    """The name of a model in the folder."""
    return sha256(msgspec.json.encode((model.uri, model.digest))).hexdigest()[:32]


class CacheFolder:
    """The folder, which one server has at a time.

    One thread fetches and removes; `take` and `use` are safe from any other.

    Args:
        folder: made where it is missing.
        effects: files and the clock.

    Attributes:
        path: the folder.
        whole: key -> model.

    Raises:
        InUse: another server has it.
        EnvironmentFault: it cannot be used.
        OSError: the same.
    """

    def __init__(self, folder: Path, effects: Effects) -> None:
        self.path, self._effects, self._files = folder, effects, effects.files
        self.whole: dict[str, CachedModel] = {}
        self._used: dict[str, int] = {}
        self._in_use: frozenset[str] | None = None
        self._turn = threading.Lock()
        self._make(folder, PASSED)
        if self._files.stat(folder).st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise EnvironmentFault(f"other accounts may write to {folder}")
        self._lock = FileLock(folder / "lock", str(folder), effects.files, effects.processes)
        try:
            for name, mode in (("whole", PASSED), ("partial", 0o700), ("gone", 0o700)):
                self._make(folder / name, mode)
            for name in self._files.names(folder / "gone"):
                self._files.remove_tree(folder / "gone" / name)
            for key in self._files.names(folder / "whole"):
                self._list(key)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let another server have it."""
        self._lock.release()

    def _make(self, path: Path, mode: int) -> None:
        if not exists(self._files, path):
            make_folder(self._files, path)
            self._files.chmod(path, mode)

    def _list(self, key: str) -> None:
        """Take a model in; what is none is removed, and what cannot be read is left alone."""
        place = self.path / "whole" / key
        try:
            found = msgspec.json.decode(self._files.read(place / RECORD), type=CachedModel)
            self._used[key] = self._files.stat(place / RECORD).st_mtime_ns
            is_whole = self._is_whole(key, found)
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            is_whole = False
        except OSError as error:
            log.warning("cannot read a model", path=str(place), error=str(error))
            return
        if is_whole:
            self.whole[key] = found
        else:
            self._discard(place)

    def _is_whole(self, key: str, model: CachedModel) -> bool:
        root = self.path / "whole" / key / FILES
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return all(self._files.stat(root / path).st_size == size for path, size in model.files)
        return False

    def stored(self) -> tuple[StoredModel, ...]:
        """Whole models, the one that was used last first. Safe from any thread."""
        used = dict(self._used)
        found = sorted(self.whole.copy().items(), key=lambda each: -used.get(each[0], 0))
        return tuple(
            StoredModel(model.uri, model.digest, model.size, used.get(key, 0) // 1_000_000)
            for key, model in found
        )

    def use(self, keys: frozenset[str]) -> None:
        """Say which models attempts have that are not over. Until then, all stay."""
        with self._turn:
            self._in_use = keys

    def take(self, key: str, uid: int | None) -> str:
        """The path of a model for a program that starts; empty = it is not there.

        Args:
            key: of the model, which is in use from now on.
            uid: of the account that the program runs as; None = that of the server.

        Raises:
            OSError: the disk refuses.
        """
        place = self.path / "whole" / key
        with self._turn:
            found = self.whole.get(key)
            if found is None:
                return ""
            if not self._is_whole(key, found):
                del self.whole[key]  # removed by hand; what is left goes when room is needed
                return ""
            if uid is not None:
                acl.allow(place, acl.users_of(place) | {uid: acl.READ | acl.PASS})
            self._used[key] = self._effects.clock.now_ns()
            if self._in_use is not None:
                self._in_use |= {key}
        with contextlib.suppress(OSError):  # only when it was used last is lost
            self._record(place, found)
        alone = found.uri.startswith("s3:") and not found.uri.endswith("/")
        return str(place / FILES / found.files[0][0] if alone else place / FILES)

    def _record(self, place: Path, model: CachedModel, *, durable: bool = False) -> None:
        content = msgspec.json.encode(model)
        replace_whole(self._files, place / RECORD, content, "new", durable=durable)

    def begin(self, key: str, files: list[RemoteFile]) -> Path:
        """Where a model is put together, with what `left` has found. Raises OSError."""
        place = self.path / "partial" / key
        self._make(place, 0o700)
        replace_whole(self._files, place / LISTING, _listing(files), "new", durable=False)
        self._make(place / FILES, ENTERED)
        for folder in _folders(files):
            self._make(place / FILES / folder, ENTERED)
        return place

    def finish(self, key: str, model: ResolvedModel, files: list[RemoteFile]) -> None:
        """Make a model visible, of which all files are there and synced. Raises OSError."""
        place, to = self.path / "partial" / key, self.path / "whole" / key
        sizes = tuple((each.path, each.size) for each in files)
        made = CachedModel(model.uri, model.digest, sizes)
        for folder in reversed(_folders(files)):
            sync_folder(self._files, place / FILES / folder)
        sync_folder(self._files, place / FILES)
        self._record(place, made, durable=True)
        if exists(self._files, to):
            self._discard(to)
        self._files.rename(place, to)
        sync_folder(self._files, to.parent)
        self.whole[key], self._used[key] = made, self._effects.clock.now_ns()

    def drop_partial(self, key: str) -> None:
        """Give the room of what was begun back. Raises OSError."""
        if exists(self._files, self.path / "partial" / key):
            self._files.remove_tree(self.path / "partial" / key)

    def make_room(self, need: int, limit: int, kept: Collection[str], taken: int) -> None:
        """Remove what was used longest ago, until `need` fits.

        Args:
            need: bytes.
            limit: most that may lie in the folder; 0 = what the disk has.
            kept: keys of what stays.
            taken: bytes that others which are being fetched will still need.

        Raises:
            EnvironmentFault: there is no such room.
            OSError: the disk refuses.
        """
        if limit and need > limit:
            raise EnvironmentFault(f"{_amount(need)} are more than the limit of {_amount(limit)}")
        entries = sorted(self._entries())
        held, rest = sum(each.size for each in entries), iter(entries)
        while True:
            free = self._files.free(self.path) - SPARE - need - taken
            fits = not limit or held + need + taken <= limit
            if fits and (free >= 0 or not need):
                return
            oldest = next((each for each in rest if self._gives_up(each.path.name, kept)), None)
            if oldest is None:
                in_use = "what lies there is in use or waited for"
                why = "the disk has no room for them" if fits else in_use
                raise EnvironmentFault(f"{_amount(need)} do not fit: {why}")
            self._discard(oldest.path)
            held -= oldest.size
            log.info("a model was removed", path=str(oldest.path), bytes=oldest.size)

    def _gives_up(self, key: str, kept: Collection[str]) -> bool:
        """Whether a model may go; no program gets it from then on."""
        with self._turn:
            if key in kept or self._in_use is None or key in self._in_use:
                return False
            self.whole.pop(key, None)
            return True

    def _entries(self) -> Iterator[_Entry]:
        for name in self._files.names(self.path / "partial"):
            place = self.path / "partial" / name
            yield _Entry(0, sum(self._sizes(place)), place)
        for name in self._files.names(self.path / "whole"):
            place, found = self.path / "whole" / name, self.whole.get(name)
            size = found.size if found else sum(self._sizes(place))
            yield _Entry(self._used.get(name, 0), size, place)

    def _sizes(self, path: Path) -> Iterator[int]:
        found = self._files.stat(path, follow=False)
        yield found.st_size if stat.S_ISREG(found.st_mode) else 0
        if stat.S_ISDIR(found.st_mode):
            for name in self._files.names(path):
                yield from self._sizes(path / name)

    def left(self, key: str, files: list[RemoteFile]) -> int:
        """Bytes that an earlier try has left of the same files; what it left of others goes.

        Raises:
            OSError: the disk refuses.
        """
        place = self.path / "partial" / key
        try:
            is_same = self._files.read(place / LISTING) == _listing(files)
        except FileNotFoundError:
            is_same = False
        if not is_same:  # what is not listed any more must not become a part of the whole
            self.drop_partial(key)
            return 0
        return sum(self._sizes(place))

    def _discard(self, place: Path) -> None:
        """Remove something of which no part must be taken for the whole."""
        away = self.path / "gone" / place.name
        if exists(self._files, away):
            self._files.remove_tree(away)
        self._files.rename(place, away)
        self._files.remove_tree(away)


def part_of(place: Path, file: RemoteFile) -> Path:
    """Where a file lies until it is whole."""
    return place / f"part-{sha256(file.path.encode()).hexdigest()[:16]}"


def _listing(files: list[RemoteFile]) -> bytes:
    return msgspec.json.encode(files)


def _folders(files: list[RemoteFile]) -> list[str]:
    """Folders of a model, each after the one above it."""
    found = {str(folder) for each in files for folder in Path(each.path).parents}
    return sorted(found - {"."})


def _amount(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 29 else f"{size / (1 << 20):.1f} MiB"
