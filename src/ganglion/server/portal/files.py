"""The built files of the portal, checked against the manifest that the build writes."""

import gzip
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from ganglion.model.errors import EnvironmentFault
from ganglion.seams.files import SYSTEM_FILES, Files

FOLDER = Path(__file__).parent / "static"
MANIFEST, INDEX = "manifest.json", "index.html"
TEXT = frozenset({".html", ".js", ".css", ".svg", ".json", ".txt"})
"""Suffixes of what is sent compressed."""
BUILD_IT = "in a clone: make portal; from a package: install Ganglion again"


class PortalMissing(EnvironmentFault):
    """The portal cannot be served."""

    code = "environment.portal"


class PortalManifest(Struct, frozen=True):
    """What the build wrote.

    Attributes:
        build: names the whole; other files have another one.
        files: path -> SHA-256 in hexadecimal.
    """

    build: str
    files: dict[str, str]


class PortalFile:
    """One file.

    Args:
        content: its bytes.
        digest: their SHA-256 in hexadecimal.
        suffix: of its name, as `.js`.
    """

    def __init__(self, content: bytes, digest: str, suffix: str) -> None:
        self.content, self.digest, self.suffix = content, digest, suffix

    @cached_property
    def packed(self) -> bytes:
        """The bytes as gzip has them; empty = they are not sent so."""
        return gzip.compress(self.content, 9, mtime=0) if self.suffix in TEXT else b""


class PortalFiles(Struct, frozen=True):
    """All files.

    Attributes:
        build: see `PortalManifest`.
        files: by their paths below the root of the server.
    """

    build: str
    files: Mapping[str, PortalFile]


def read_portal(folder: Path = FOLDER, files: Files = SYSTEM_FILES) -> PortalFiles:
    """Read and check the files; what the manifest does not list is not served.

    Args:
        folder: where the build wrote them.
        files: the file system.

    Raises:
        PortalMissing: there are none, or one of them is not what the build wrote.
    """
    try:
        manifest = msgspec.json.decode(files.read(folder / MANIFEST), type=PortalManifest)
        found = {name: files.read(folder / name) for name in manifest.files}
    except FileNotFoundError as error:
        raise PortalMissing(f"the portal was not built: {error.filename}", BUILD_IT) from error
    except (OSError, ValueError) as error:
        raise PortalMissing(f"the portal cannot be read: {error}", BUILD_IT) from error
    for name, content in found.items():
        if sha256(content).hexdigest() != manifest.files[name]:
            raise PortalMissing(f"{folder / name} is not what the build wrote", BUILD_IT)
    if INDEX not in found:
        raise PortalMissing(f"{folder / MANIFEST} lists no {INDEX}", BUILD_IT)
    made = {
        f"/{name}": PortalFile(content, manifest.files[name], Path(name).suffix)
        for name, content in found.items()
    }
    return PortalFiles(manifest.build, made)
