"""What a model consists of, and how each of its files is asked for."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from ganglion.model.errors import FieldError
from ganglion.model.workload import ResolvedModel
from ganglion.server.models.asking import STALLED_S
from ganglion.specs.grammar.rules.models import ModelReference

MOST_FILES = 10_000
SUMS = "SHA256SUMS"
"""A file in a folder that lists the digests of all others, as `sha256sum` writes it."""
LONGEST_NAME, LONGEST_PATH = 255, 1_000
"""Bytes of a name in a folder, and of a path below the folder of a model."""


class RemoteFile(Struct, frozen=True):
    """A file of a model.

    Attributes:
        path: where it lies in the model.
        url: where the registry has it.
        size: in bytes.
        check: `sha256:HEX`, or `git-blob:HEX`; empty = the registry has said none yet.
        tag: as the registry calls this state of it; empty = it has no word for that.
    """

    path: str
    url: str
    size: int
    check: str = ""
    tag: str = ""


class FileRequest(Struct, frozen=True):
    """How a file is asked for now.

    Attributes:
        headers: credentials among them, which hold for a while.
        check: as of `RemoteFile`; empty = the registry has none, and length and tag have to do.
        patience_s: how long the first byte may take.
    """

    headers: dict[str, str]
    check: str = ""
    patience_s: float = STALLED_S


class ModelSource(Protocol):
    """A registry that models can be fetched from."""

    async def resolve(self, wanted: ModelReference) -> ResolvedModel:
        """Say what a reference means now.

        Raises:
            FieldError: there is no such model.
            ModelRegistryDown: that cannot be found out now.
        """

    async def contents(self, wanted: ModelReference, model: ResolvedModel) -> list[RemoteFile]:
        """List the files of a model by its URI.

        Raises:
            FieldError: it is not there any more, is another one by now, or cannot be fetched.
            ModelRegistryDown: that cannot be found out now.
        """

    async def request(self, wanted: ModelReference, file: RemoteFile, /) -> FileRequest:
        """Say how one of its files is asked for. Raises as `contents`."""


class FileStore(Protocol):
    """A place that has files of models which a registry elsewhere knows."""

    async def below(self, wanted: ModelReference) -> list[RemoteFile]:
        """List the files of a folder. Raises as `ModelSource.contents`."""

    async def request(self, wanted: ModelReference, file: RemoteFile, /) -> FileRequest:
        """See `ModelSource`."""


def is_fetched(uri: str) -> bool:
    """Whether models of that kind are fetched; others lie on the machine already."""
    return not uri.startswith("file:")


def digests_listed(text: str) -> dict[str, str]:
    """File -> SHA-256 in hexadecimal, of a list as `sha256sum` writes it. Raises ValueError."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        digest, _, name = line.partition(" ")
        name = name.removeprefix(" ").removeprefix("*").removeprefix("./")
        if len(digest) != 64 or set(digest) - set("0123456789abcdef") or not name:
            raise ValueError(line)
        found[name] = digest
    return found


def checked_files(files: Sequence[RemoteFile], model: ResolvedModel) -> list[RemoteFile]:
    """The files of a model, of which every one has a place of its own in one folder.

    Raises:
        FieldError: there are none or too many, or a path leads elsewhere.
    """
    if not 0 < len(files) <= MOST_FILES:
        raise odd(model, f"has {len(files):,} files")
    for each in files:
        if not is_inside(each.path) or each.size < 0:
            raise odd(model, f"has a file {each.path[:200]!r} of {each.size} bytes")
    paths = {each.path for each in files}
    if len(paths) < len(files):
        raise odd(model, "has two files of one name")
    for each in files:
        parts = each.path.split("/")
        if not paths.isdisjoint("/".join(parts[:end]) for end in range(1, len(parts))):
            raise odd(model, f"has {each.path!r} below a file")
    return sorted(files, key=lambda each: each.path)


def odd(model: ResolvedModel, why: str) -> FieldError:
    """That a model is none that can be kept."""
    return FieldError(f"{model.uri} {why}, and cannot be kept", key="model")


def changed(model: ResolvedModel) -> FieldError:
    """That what a reference names is not what it was."""
    return FieldError(f"{model.uri} is another one by now than {model.digest}", key="model")


def is_inside(path: str) -> bool:
    """Whether a path leads to a file below the folder that it is relative to."""
    if not path.isprintable():
        return False
    parts = path.split("/")
    long = max(len(each.encode()) for each in parts) > LONGEST_NAME
    return not long and len(path.encode()) <= LONGEST_PATH and not {"", ".", ".."} & {*parts}
