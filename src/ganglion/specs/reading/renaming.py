"""The pass that turns whatever names people use for keys into the canonical ones.

Dashes and underscores in keys are the same.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

from msgspec import Struct, field

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.scalars import TRUTH
from ganglion.specs.reading.mapping import Unread, as_read
from ganglion.specs.reading.yaml import Data, Document, Path, dotted
from ganglion.specs.wording import first_of, meant, nearest, show, sort

T = TypeVar("T")


class Vocabulary(Struct, frozen=True):
    """The keys of one sort of file, by scope; the scope of the top is the empty text.

    Attributes:
        keys: scope -> canonical keys.
        aliases: scope -> other name -> canonical key, dotted when it lies below.
        children: scope -> key -> scope of what lies below it.
        lists: scopes of which a file holds a list.
        shorthands: scopes that may be one scalar -> the key that it abbreviates.
    """

    keys: Mapping[str, tuple[str, ...]]
    aliases: Mapping[str, Mapping[str, str]]
    children: Mapping[str, Mapping[str, str]]
    lists: tuple[str, ...] = ()
    shorthands: Mapping[str, str] = field(default_factory=dict)

    def others(self, scope: str) -> Mapping[str, str]:
        """Other name -> canonical key."""
        return self.aliases.get(scope, {})


class Renaming:
    """Turns one document into canonical keys and remembers what the user wrote.

    Attributes:
        written: canonical path -> path as written, wherever the two differ.
        problems: keys that `known` left out, with what is wrong with them.
        misspelt: canonical paths of keys that an unknown one may mean.
        doubled: canonical paths of keys that are given twice.
    """

    def __init__(self, document: Document, words: Vocabulary) -> None:
        self.document = document
        self.words = words
        self.written: dict[Path, Path] = {}
        self.problems: list[FieldError] = list(document.problems)
        self.misspelt: set[Path] = set()
        self.doubled: set[Path] = set()

    def wrong(self, problem: str, path: Path, hint: str = "") -> FieldError:
        """Build the error for a canonical path, in the user's own words."""
        source = self.source(path)
        if source == path and path not in self.document.lines:
            # A mapping that only keys from elsewhere make up is where the first of them is.
            inner = (own for each, own in self.written.items() if each[: len(path)] == path)
            source = next(inner, path) if path else path
        return FieldError(
            problem,
            key=dotted(source),
            file=self.document.file,
            line=self.document.line(source),
            column=self.document.column(source),
            hint=hint,
        )

    def source(self, path: Path) -> Path:
        """Where the user wrote what canonically lies at `path`."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.written:
                return self.written[path[:length]] + path[length:]
        return path

    def noted(self, step: Callable[[], T]) -> T | None:
        """Take a step; what is wrong is noted, so that all of it is reported at once."""
        try:
            return step()
        except FieldError as error:
            self.note(error.errors)
        except Unread:
            pass  # noted already, with the key that could not be read
        return None

    def note(self, problems: Iterable[FieldError]) -> None:
        """Note what is wrong, up to what depends on something that cannot be read."""
        self.problems += as_read(problems)

    def settle(self) -> None:
        """Raise FieldError with everything that was noted, if anything was."""
        if self.problems:
            raise first_of(self.problems)

    def known(self) -> Data:
        """Rename what can be renamed of the document; `problems` says what cannot."""
        return self._scope(self.document.data, "", (), ())

    def _scope(self, data: Data, scope: str, path: Path, source: Path) -> Data:
        found: Data = {}
        moved: list[tuple[Path, str]] = []
        for key, value in data.items():
            goal = self.noted(partial(self._goal, key, scope, path, (*source, key)))
            if value is None or goal is None:
                continue
            if len(goal) > 1:
                moved.append((goal, key))
            else:
                self._placed(found, goal, value, path, (*source, key))
        for name, child in self.words.children.get(scope, {}).items():
            if name in found:
                found[name] = self._child(found[name], child, (*path, name))
        for goal, key in moved:
            self._placed(found, goal, data[key], path, (*source, key))
        return found

    def _placed(self, found: Data, goal: Path, value: object, path: Path, source: Path) -> None:
        self.noted(lambda: self._put(found, goal, value, path, source))

    def _goal(self, key: str, scope: str, path: Path, source: Path) -> Path:
        others = self.words.others(scope)
        name = key if key in others else str(key).replace("-", "_")
        target = others.get(name, name)
        if target.partition(".")[0] not in self.words.keys[scope]:
            raise FieldError(
                f"unknown key {show(key)}",
                key=dotted(source),
                file=self.document.file,
                line=self.document.line(source),
                column=self.document.column(source),
                hint=self._suggestion(name, scope, path),
            )
        return tuple(target.split("."))

    def _suggestion(self, name: str, scope: str, path: Path) -> str:
        for child, below in self.words.children.get(scope, {}).items():
            if name in self._words(below):
                self.misspelt.add((*path, child))
                return f"`{name}` belongs under `{below}`"
        if scope and name in self._words(""):
            self.misspelt.add(tuple(self._words("")[name].split(".")))
            return f"`{name}` belongs at the top of the file, not under `{scope}`"
        words = self._words(scope)
        if near := nearest(name, words):
            self.misspelt.add((*path, *near.split(".")))
        return meant(name, words) or f"known keys: {', '.join(self.words.keys[scope])}"

    def _words(self, scope: str) -> dict[str, str]:
        """Every name of every key of a scope -> its canonical key."""
        return {**self.words.others(scope), **{key: key for key in self.words.keys[scope]}}

    def _put(self, found: Data, goal: Path, value: object, path: Path, source: Path) -> None:
        inner: object = found
        for part in goal[:-1]:
            inner = inner.setdefault(str(part), {}) if isinstance(inner, dict) else inner
        full = (*path, *goal)
        if not isinstance(inner, dict):
            raise self.wrong(f"expected keys and values, found {sort(inner)}", full[:-1])
        if goal[-1] in inner:
            first = dotted(self.source(full))
            self.doubled.add(full)
            raise FieldError(
                f"says the same as `{first}`, which is given too",
                key=dotted(source),
                file=self.document.file,
                line=self.document.line(source),
                column=self.document.column(source),
                hint=f"keep one of them; the canonical key is `{dotted(goal)}`",
            )
        if source in self.document.doubled:
            self.doubled.add(full)
        inner[str(goal[-1])] = value
        if full != source:
            self.written[full] = source

    def _child(self, value: object, scope: str, path: Path) -> object:
        if scope in self.words.lists and isinstance(value, (list, dict)):
            items = [value] if isinstance(value, dict) else value
            return [self._child_of(item, scope, (*path, at)) for at, item in enumerate(items)]
        return self._child_of(value, scope, path)

    def _child_of(self, value: object, scope: str, path: Path) -> object:
        if isinstance(value, dict):
            return self._scope(value, scope, path, self.source(path))
        if isinstance(value, str):
            value = TRUTH.get(value.lower(), value)
        shorthand = self.words.shorthands.get(scope)
        if shorthand and not isinstance(value, (list, bool)):
            self.written[(*path, shorthand)] = self.source(path)
            return {shorthand: value}
        return value
