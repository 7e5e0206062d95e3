"""What a model consists of, and how each of its files is asked for."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from ganglion.model.errors import FieldError
from ganglion.model.workload import ResolvedModel
from ganglion.specs.grammar.rules.models import ModelReference

MOST_FILES = 10_000
FETCHED = ("hf:", "oci:", "s3:")
UNFETCHED = "Ganglion fetches models of hf://, oci:// and s3:// alone"
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
    """

    headers: dict[str, str]
    check: str = ""


class ModelSource(Protocol):
    """A registry that models can be fetched from."""

    async def contents(self, wanted: ModelReference, model: ResolvedModel) -> list[RemoteFile]:
        """List the files of a model by its URI.

        Raises:
            FieldError: it is not there any more, is another one by now, or cannot be fetched.
            ModelRegistryDown: that cannot be found out now.
        """

    async def request(self, wanted: ModelReference, file: RemoteFile, /) -> FileRequest:
        """Say how one of its files is asked for. Raises as `contents`."""


def is_fetched(uri: str) -> bool:
    """Whether models of that kind can be fetched."""
    return uri.startswith(FETCHED)


def checked_files(files: Sequence[RemoteFile], model: ResolvedModel) -> list[RemoteFile]:
    """The files of a model, of which every one has a place of its own in one folder.

    Raises:
        FieldError: there are none or too many, or a path leads elsewhere.
    """
    if not 0 < len(files) <= MOST_FILES:
        raise odd(model, f"has {len(files):,} files")
    for each in files:
        if not _is_inside(each.path) or each.size < 0:
            raise odd(model, f"has a file {each.path[:200]!r} of {each.size} bytes")
    if len({each.path for each in files}) < len(files):
        raise odd(model, "has two files of one name")
    return sorted(files, key=lambda each: each.path)


def odd(model: ResolvedModel, why: str) -> FieldError:
    """That a model is none that can be kept."""
    return FieldError(f"{model.uri} {why}, and cannot be kept", key="model")


def changed(model: ResolvedModel) -> FieldError:
    """That what a reference names is not what it was."""
    return FieldError(f"{model.uri} is another one by now than {model.digest}", key="model")


def _is_inside(path: str) -> bool:
    parts, encoded = path.split("/"), path.encode("utf-8", "surrogateescape")
    long = max(len(each.encode("utf-8", "surrogateescape")) for each in parts) > LONGEST_NAME
    return (
        not long
        and len(encoded) <= LONGEST_PATH
        and path.isprintable()
        and not {"", ".", ".."} & {*parts}
    )
