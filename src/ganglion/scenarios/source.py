"""Files of scenarios: YAML or JSON, gzipped or not, read with the line of every mistake."""

import gzip
import json
import re
import zlib
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path as FilePath
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from ganglion.model.errors import FieldError, FileError
from ganglion.scenarios.model import Format, Scenario
from ganglion.specs.reading.text import read
from ganglion.specs.reading.yaml import Document, Path, dotted, parse_documents
from ganglion.specs.wording import meant, sort

MAX_BYTES = 64 << 20
"""Most that a gzipped file may unpack to."""

_AT = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[(?:\.\.\.)?\]")
ANY_KEY = "..."
"""How a key is called that the data chose, as the name of a job."""

_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")

T = TypeVar("T")


def load_scenarios(source: str | FilePath, formats: Sequence[Format]) -> list[Scenario]:
    """Read every scenario of a file that is written in one of the formats.

    Raises:
        FileError: it cannot be read as text.
        FieldError: it holds no scenarios, or one without an id or of an unknown shape.
    """
    document = _document(*read(source))
    keys = {each.key for each in formats}
    found = [
        _scenario(each, (section, number), document, formats)
        for section, items in document.data.items()
        if isinstance(items, list) and _are_scenarios(items, keys)
        for number, each in enumerate(items)
    ]
    if not found:
        raise FieldError(
            "the file holds no scenarios",
            file=document.file,
            hint=f"each has {' or '.join(f'`{each.key}`' for each in formats)}",
        )
    _check_unique(found)
    return found


def typed(cls: type[T], data: object, path: Path, document: Document) -> T:
    """Check data against a Struct type. Raises FieldError with line and key.

    Args:
        cls: the type; its structs should forbid unknown fields.
        data: plain data; numbers may be given as text.
        path: where the data stands in the document.
        document: the file it is from.
    """
    try:
        return msgspec.convert(data, cls, strict=False)
    except msgspec.ValidationError as error:
        raise _wrong(str(error), cls, path, document) from None


def part(document: Document, path: Path) -> Document:
    """What stands at `path`, which must be a mapping, as a document of its own."""
    data: object = document.data
    for step in path:
        data = data[step]  # type: ignore[index]  # the path was walked when the file was read
    assert isinstance(data, dict)
    count = len(path)
    lines = {key[count:]: line for key, line in document.lines.items() if key[:count] == path}
    return Document(data, document.file, lines, document.line(path))


def wrong(problem: str, path: Path, document: Document, hint: str = "") -> FieldError:
    """A mistake at a place of the file."""
    line = document.line(path)
    return FieldError(problem, key=dotted(path), file=document.file, line=line, hint=hint)


def _document(raw: bytes, name: str) -> Document:
    if raw[:2] == b"\x1f\x8b":
        raw = _unpacked(raw, name)
    if raw.lstrip()[:1] in (b"{", b"["):
        return _json(raw, name)
    documents = parse_documents(raw, name)
    if len(documents) > 1:
        line = documents[1].top
        raise FieldError("a file of scenarios holds one document", file=name, line=line)
    return documents[0]


def _unpacked(raw: bytes, name: str) -> bytes:
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        data = unpacker.decompress(raw, MAX_BYTES)
    except (zlib.error, gzip.BadGzipFile) as error:
        raise FileError(f"{name} is no gzip file: {error}") from None
    if unpacker.unconsumed_tail:
        raise FileError(f"{name} unpacks to more than {MAX_BYTES >> 20} MiB")
    return data


def _json(raw: bytes, name: str) -> Document:
    try:
        data = json.loads(raw)
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        raise FieldError(f"this is not JSON: {error}", file=name, line=line) from None
    return Document({"scenarios": data} if isinstance(data, list) else data, name)


def _are_scenarios(items: list[object], keys: set[str]) -> bool:
    return any(isinstance(each, dict) and keys & set(each) for each in items)


def _scenario(data: object, path: Path, document: Document, formats: Sequence[Format]) -> Scenario:
    if not isinstance(data, dict):
        raise wrong(f"expected a scenario, found {sort(data)}", path, document)
    name = data.get("id")
    if not isinstance(name, str) or not name:
        raise wrong("the scenario has no id", path, document, "add `id: some-name`")
    for each in formats:
        if each.key in data:
            return Scenario(name, each, str(path[0]), data, path, document)
    key = formats[0].key
    raise wrong(f"scenario {name} has no `{key}`", path, document, meant(key, data))


def _check_unique(scenarios: list[Scenario]) -> None:
    seen: dict[str, Scenario] = {}
    for each in scenarios:
        if each.id in seen:
            where = (*each.path, "id")
            raise wrong(f"a second scenario is called {each.id}", where, each.document)
        seen[each.id] = each


def _wrong(message: str, cls: Any, path: Path, document: Document) -> FieldError:  # noqa: ANN401 - any type msgspec reads
    at = _AT.search(message)
    steps = [step[1] or step[2] or ANY_KEY for step in _STEP.finditer(at["path"] if at else "")]
    problem, hint = _AT.sub("", message), ""
    if unknown := _UNKNOWN.match(problem):
        problem, hint = f"there is no key `{unknown[1]}`", meant(unknown[1], _fields(cls, steps))
        steps.append(unknown[1])
    known = list(takewhile(lambda step: step != ANY_KEY, steps))
    inner = tuple(int(step) if step.isdigit() else step for step in known)
    return wrong(problem, (*path, *inner), document, hint)


def _fields(cls: Any, steps: list[str]) -> tuple[str, ...]:  # noqa: ANN401 - any type msgspec reads
    """Names of the fields of the struct that lies `steps` inside a type."""
    for step in steps:
        inside = (each for each in (cls, *get_args(cls)) if hasattr(each, "__struct_fields__"))
        struct = next(inside, None)
        if step == ANY_KEY or step.isdigit():
            cls = next((each for each in reversed(get_args(cls)) if each is not ...), None)
        else:
            cls = get_type_hints(struct).get(step) if struct else None
    return getattr(cls, "__struct_fields__", ())
