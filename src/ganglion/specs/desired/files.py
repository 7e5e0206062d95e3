"""Files into the objects that they name; all that is wrong with all of them at once."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from ganglion.model.errors import FieldError, FileError
from ganglion.specs.desired.schema import BESIDE, VOCABULARY, DesiredFile
from ganglion.specs.policy.policy import expanded, heads_beside
from ganglion.specs.policy.printing import yaml_text
from ganglion.specs.reading.renaming import Renaming
from ganglion.specs.reading.text import decode, read
from ganglion.specs.reading.validate import readable
from ganglion.specs.reading.yaml import Data, parse_document
from ganglion.specs.reading.yaml import Path as Place
from ganglion.specs.wording import first_of

WORKLOAD_KEYS = frozenset({"run", "command", "image", "resources", "gpus", "kind", "script"})
"""Keys of workload files that these files do not have."""


class DesiredPart(Struct):
    """One file.

    Attributes:
        renaming: its keys as they were written, and what is wrong with it.
        file: what could be read of it.
        settings: the settings of the policy that it has, in canonical keys.
        text: the file itself, if it has nothing but settings.
    """

    renaming: Renaming
    file: DesiredFile
    settings: Data
    text: str = ""

    def place(self, *path: str | int) -> tuple[str, int]:
        """File and line of what lies at a canonical path."""
        found = self.renaming.document
        return found.file, found.line(self.renaming.source(path))


class DesiredFiles(Struct):
    """All files of one call.

    Attributes:
        parts: those that are mappings, in order.
        problems: what is wrong so far.
    """

    parts: list[DesiredPart]
    problems: list[FieldError]

    @property
    def lists(self) -> frozenset[str]:
        """Keys of lists that some file has, empty ones included; `policy` for settings."""
        found = {key for part in self.parts for key in BESIDE if key in vars(part.file)}
        given = {key for part in self.parts for key in found & part.file.model_fields_set}
        return frozenset(given | {"policy" for part in self.parts if part.settings})

    def entries(self, key: str) -> Iterator[tuple[DesiredPart, Place, Any]]:
        """Every entry of a list, with its file and its canonical path."""
        for part in self.parts:
            for at, each in enumerate(vars(part.file).get(key) or ()):
                yield part, (key, at), each

    def wrong(self, error: FieldError) -> None:
        """Note something that is wrong, once per place."""
        if (error.file, error.line, error.key) not in {
            (each.file, each.line, each.key) for each in self.problems
        }:
            self.problems.append(error)

    def settle(self) -> None:
        """Raise FieldError with everything that is wrong, if anything is."""
        if self.problems:
            raise first_of(self.problems)


def read_files(paths: Iterable[Path]) -> DesiredFiles:
    """Read files as far as they can be read; what is wrong is in `problems`."""
    found = DesiredFiles([], [])
    for path in paths:
        try:
            raw, name = read(path)
            part = _read(decode(raw, name), name)
        except FieldError as error:
            found.problems += error.errors
        except FileError as error:
            found.problems.append(FieldError(error.message, hint=error.hint))
        else:
            found.parts.append(part)
            found.problems += part.renaming.problems
    return found


def _read(text: str, name: str) -> DesiredPart:
    document = parse_document(text, name, "fleet")
    if not BESIDE & document.data.keys() and WORKLOAD_KEYS & document.data.keys():
        raise FieldError(
            "this is a workload, not a part of a fleet",
            file=name,
            line=document.top,
            hint=f"ganglion submit {name}",
        )
    renaming = Renaming(document, VOCABULARY)
    known = expanded(renaming.known())
    settings = {key: value for key, value in known.items() if key not in BESIDE}
    file = readable(DesiredFile, known, renaming)
    renaming.note(heads_beside(file, (), renaming.wrong))
    if "bookings" in known:
        hint = "bookings end by themselves: ganglion booking set, or ganglion policy apply"
        renaming.note(
            [renaming.wrong("bookings are no part of a fleet's files", ("bookings",), hint)]
        )
    alone = not (BESIDE & known.keys())
    return DesiredPart(renaming, file, settings, text if alone else yaml_text(settings))
