"""Text of a YAML or JSON file into plain data, with the line of every key.

Only `null`, `true`, `false` and plain decimal integers become Python values. Every other
scalar stays the text that was written, so `2:00:00`, `1e-4`, `3.10`, `no` and `007` mean what
they look like; the fields that want a number or a truth value read it from the text.
"""

import json
import re
from bisect import bisect
from collections.abc import Iterator

import yaml
from msgspec import Struct, field, structs

from ganglion.model.errors import FieldError, FileError
from ganglion.specs.reading.text import decode
from ganglion.specs.wording import first_of, short, show, sort

MAX_NODES = 100_000
MAX_DEPTH = 32
MOST_BROKEN = 16
"""Documents of one file that are given up before the rest of it is."""
_START = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_INT = re.compile(r"0|-?[1-9][0-9]{0,17}")
_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
_WORDS: dict[str, bool | None] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= {"true": True, "false": False}
_CORE = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null")}
_GROUPS = {f"tag:yaml.org,2002:{name}" for name in ("map", "seq")}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Path = tuple[str | int, ...]
"""Where a value lies: keys and list positions from the top of the document."""

Data = dict[str, object]


def dotted(path: Path) -> str:
    """Print a path as `pod_sets[1].resources.gpus`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{short(part)}" for part in path)
    return "".join(parts).removeprefix(".")


class Document(Struct, frozen=True):
    """One document of a file.

    Attributes:
        data: its keys and values.
        file: the file as the user named it; empty when the input was no file.
        lines: 1-based line of every value by path.
        top: line on which the document starts.
        columns: 1-based column of every value, or of its key, by path.
        problems: what is wrong with its form, where it can be read all the same.
        doubled: keys that are given twice, by path; the first value counts.
    """

    data: Data
    file: str = ""
    lines: dict[Path, int] = field(default_factory=dict)
    top: int = 0
    columns: dict[Path, int] = field(default_factory=dict)
    problems: tuple[FieldError, ...] = ()
    doubled: frozenset[Path] = frozenset()

    def line(self, path: Path) -> int:
        """Line of the value at `path`, or of the nearest thing around it; 0 = unknown."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, self.top)

    def column(self, path: Path) -> int:
        """Column of what `line` gives the line of; 0 = unknown."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.columns.get(path, 1 if self.top else 0)


def parse_documents(raw: str | bytes, file: str = "") -> list[Document]:
    """Read every document of a YAML or JSON text.

    Raises:
        FileError: empty, binary, too big, or too much after aliases are expanded.
        FieldError: bad syntax, repeated keys, documents that are no mappings; all that is wrong.
    """
    documents, problems = read_documents(raw, file)
    problems += (problem for each in documents for problem in each.problems)
    if problems:
        raise first_of(problems)
    return documents


def parse_document(raw: str | bytes, file: str, what: str) -> Document:
    """Read a file that holds one document, with what is wrong with its form in `problems`.

    Args:
        raw: the text.
        file: what messages call it.
        what: sort of the file, as `policy`.

    Raises:
        FileError: as `parse_documents`.
        FieldError: the document has bad syntax or is no mapping.
    """
    documents, problems = read_documents(raw, file)
    if documents[1:]:
        line = documents[1].top
        why = f"a {what} file holds one document"
        problems.append(FieldError(why, file=file, line=line, column=1))
    if not documents:
        raise first_of(problems)
    return structs.replace(documents[0], problems=(*documents[0].problems, *problems))


def read_documents(raw: str | bytes, file: str = "") -> tuple[list[Document], list[FieldError]]:
    """Read every document that can be read, and say what is wrong with the others.

    Raises:
        FileError: as `parse_documents`.
    """
    text = _joined(decode(raw, file))
    reader, problems = _Reader(file), list[FieldError]()
    documents = list(reader.documents(text, problems))
    if not documents and not problems:
        raise FileError(f"{file or 'the text'} holds comments only", "write at least `run: ...`")
    return documents, problems


class _Reader:
    """Builds values straight from the event stream, so that limits bite before memory does."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.nodes = 0
        self.begun = 0
        self.events: Iterator[yaml.Event] = iter(())
        self._forget()

    def _forget(self) -> None:
        self.lines: dict[Path, int] = {}
        self.columns: dict[Path, int] = {}
        self.anchors: dict[str, tuple[object, int] | None] = {}
        self.problems: list[FieldError] = []
        self.doubled: set[Path] = set()

    def documents(self, text: str, problems: list[FieldError]) -> Iterator[Document]:
        """Yield what can be read; `problems` gathers what is wrong with other documents.

        No scalar has a line that begins with `---`: whatever is wrong before it, a document
        begins there.
        """
        breaks = [each.end() for each in _BREAK.finditer(text)]
        starts = [(bisect(breaks, each.start()), each.start()) for each in _START.finditer(text)]
        line, offset = 0, 0
        for _ in range(MOST_BROKEN):
            # Lines before are left blank, so that those of errors are those of the file.
            rest = "\n" * line + text[offset:]
            self.events, self.begun = iter(yaml.parse(rest, Loader=_LOADER)), line
            try:
                yield from self._documents()
                return
            except yaml.YAMLError as error:
                problem = _syntax(error, rest, self.file)
            except FieldError as error:
                problem = error
            problems += (*self.problems, problem)
            past = max(self.begun + 1, problem.line - 1)
            left = [each for each in starts if each[0] >= past]
            if not left:
                return
            line, offset = left[0]
        why = f"{MOST_BROKEN} documents are broken; the rest is not read"
        problems.append(FieldError(why, file=self.file, line=line + 1, column=1))

    def _documents(self) -> Iterator[Document]:
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._forget()
                self.begun = _line(event) - 1
                first = next(self.events)
                value = self._value(first, ())
                if value is not None:
                    yield self._document(value, first)

    def _document(self, value: object, event: yaml.Event) -> Document:
        if not isinstance(value, dict):
            raise self._wrong(
                f"expected keys and values such as `run: python train.py`, found {sort(value)}",
                event,
                (),
                "separate several documents by a line `---`" if isinstance(value, list) else "",
            )
        return Document(
            value,
            self.file,
            self.lines,
            _line(event),
            self.columns,
            tuple(self.problems),
            frozenset(self.doubled),
        )

    def _value(self, event: yaml.Event, path: Path) -> object:
        self._spend(1)
        self.lines.setdefault(path, _line(event))
        self.columns.setdefault(path, _column(event))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        if len(path) > MAX_DEPTH:
            raise self._wrong(f"nested deeper than {MAX_DEPTH} levels", event, path[:4])
        assert isinstance(event, yaml.NodeEvent)
        before, anchor = self.nodes, event.anchor
        if anchor:
            self.anchors[anchor] = None
        value = self._built(event, path)
        if anchor:
            self.anchors[anchor] = (value, self.nodes - before + 1)
        return value

    def _built(self, event: yaml.Event, path: Path) -> object:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, path)
        assert isinstance(event, yaml.CollectionStartEvent)
        self._known(event, event.tag, _GROUPS, path)
        is_list = isinstance(event, yaml.SequenceStartEvent)
        return self._list(path) if is_list else self._mapping(path)

    def _list(self, path: Path) -> list[object]:
        items: list[object] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._value(event, (*path, len(items))))
        return items

    def _mapping(self, path: Path) -> Data:
        found: Data = {}
        merged: list[Data] = []
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._key(event, path)
            if key == "<<":
                merged += self._merge(event, path)
                continue
            if key in found:
                self._twice(event, (*path, key))
                continue
            self.lines[(*path, key)] = _line(event)
            self.columns[(*path, key)] = _column(event)
            found[key] = self._value(next(self.events), (*path, key))
        for other in merged:
            found = {**other, **found}
        return found

    def _twice(self, event: yaml.Event, path: Path) -> None:
        """Note a key that was given before, and pass its value over."""
        first = self.lines[path]
        self.problems.append(self._wrong(f"given twice, first on line {first}", event, path))
        self.doubled.add(path)
        kept = self.lines, self.columns
        self.lines, self.columns = {}, {}
        self._value(next(self.events), path)
        self.lines, self.columns = kept

    def _key(self, event: yaml.Event, path: Path) -> str:
        if not isinstance(event, yaml.ScalarEvent) or not event.value:
            raise self._wrong("a key must be a word, not a list, mapping or alias", event, path)
        self._known(event, event.tag, _CORE, path)
        return str(event.value)

    def _merge(self, event: yaml.Event, path: Path) -> list[Data]:
        value = self._value(next(self.events), (*path, "<<"))
        parts = value if isinstance(value, list) else [value]
        found = [part for part in parts if isinstance(part, dict)]
        if len(found) < len(parts):
            raise self._wrong("only mappings can be merged", event, (*path, "<<"))
        return found

    def _scalar(self, event: yaml.ScalarEvent, path: Path) -> object:
        self._known(event, event.tag, _CORE, path)
        if event.tag is not None or not event.implicit[0]:
            return self._tagged(event, path)
        if event.value in _WORDS:
            return _WORDS[event.value]
        return int(event.value) if _INT.fullmatch(event.value) else event.value

    def _tagged(self, event: yaml.ScalarEvent, path: Path) -> object:
        wanted = (event.tag or "str").rpartition(":")[2]
        if wanted in ("str", "float"):
            return event.value
        if wanted == "int" and _INT.fullmatch(event.value):
            return int(event.value)
        if wanted in ("bool", "null") and event.value in _WORDS:
            return _WORDS[event.value]
        raise self._wrong(f"{show(event.value)} is no {wanted}", event, path)

    def _alias(self, event: yaml.AliasEvent, path: Path) -> object:
        name = event.anchor or ""
        known = self.anchors.get(name)
        if known is None:
            problem = "contains itself" if name in self.anchors else "is defined nowhere above"
            raise self._wrong(f"alias `*{event.anchor}` {problem}", event, path)
        value, size = known
        self._spend(size - 1)
        return value

    def _spend(self, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise FileError(
                f"{self.file or 'the text'} expands to more than {MAX_NODES:,} values",
                "aliases that repeat aliases grow without bound; write the values out",
            )

    def _known(self, event: yaml.Event, tag: str | None, tags: set[str], path: Path) -> None:
        if tag is not None and tag not in tags:
            raise self._wrong(f"the tag {show(tag)} is not accepted", event, path, "leave it out")

    def _wrong(self, problem: str, event: yaml.Event, path: Path, hint: str = "") -> FieldError:
        return FieldError(
            problem,
            key=dotted(path),
            file=self.file,
            line=_line(event),
            column=_column(event),
            hint=hint,
        )


def _joined(text: str) -> str:
    # JSON writes characters beyond 16 bits as pairs of escapes, which YAML does not know.
    if not text.lstrip().startswith(("{", "[")):
        return text
    return _PAIR.sub(lambda match: match[1] + json.loads(f'"{match[2]}"'), text)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _column(event: yaml.Event) -> int:
    return event.start_mark.column + 1 if event.start_mark else 0


def _syntax(error: yaml.YAMLError, text: str, file: str) -> FieldError:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "bad syntax"
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark else text.count("\n", 0, getattr(error, "position", 0) or 0) + 1
    lines = text.splitlines()
    line = min(line, len(lines))
    here = lines[line - 1]
    tabbed = "\t" in here[: len(here) - len(here.lstrip())]
    hint = "indent with spaces, not tabs" if tabbed else _syntax_hint(str(problem))
    context = getattr(error, "context_mark", None)
    if context and context.line + 1 < line:
        hint += f"; it begins on line {context.line + 1}: `{short(lines[context.line])}`"
    column = mark.column + 1 if mark else 0
    excerpt = f", in `{short(here)}`" if here.strip() else ""
    problem = f"this is not YAML: {problem}{excerpt}"
    return FieldError(problem, file=file, line=line, column=column, hint=hint)


def _syntax_hint(problem: str) -> str:
    if "mapping values" in problem:
        return "quote values that contain `: `, and indent keys of one level equally"
    if "could not find expected ':'" in problem:
        return "a key is followed by a colon and a space, as `nodes: 2`"
    return "check brackets, quotes and indentation"
