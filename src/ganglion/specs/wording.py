"""Plain words for what people wrote: short quotations, and what they may have meant."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from ganglion.model.errors import FieldError

LONGEST = 40

T = TypeVar("T")


def show(value: object) -> str:
    """Quote a scalar shortly; name the sort of anything bigger."""
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, (str, int, float)):
        return f"`{short(str(value) if _printable(value) else '<a very long number>')}`"
    return sort(value)


def sort(value: object) -> str:
    """Name the sort of a value, as `a list`."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (list, tuple, set)):
        return "a list"
    if isinstance(value, dict):
        return "a mapping of keys"
    return "a number" if isinstance(value, (int, float)) else "text"


def meant(word: str, known: Iterable[str] | Mapping[str, str]) -> str:
    """Say "did you mean `x`?" for the `nearest` known word; empty when nothing is near."""
    found = nearest(word, known)
    return f"did you mean `{found}`?" if found else ""


def nearest(word: str, known: Iterable[str] | Mapping[str, str]) -> str:
    """Return the known word that is most like another; empty when nothing is near.

    Args:
        word: what was written.
        known: the words that exist; a mapping gives what to call each of them.
    """
    called = known if isinstance(known, Mapping) else {each: each for each in known}
    words = {each.lower(): str(name) for each, name in called.items()}
    near = get_close_matches(word[:100].lower(), words, n=1, cutoff=0.6)
    return words[near[0]] if near else ""


def listed(words: Iterable[str]) -> str:
    """Join words as `a, b or c`."""
    *first, last = list(words) or [""]
    return f"{', '.join(first)} or {last}" if first else last


def short(text: str) -> str:
    """Cut to one short line in which every character can be printed."""
    line = " ".join(text[: 4 * LONGEST].split())
    clean = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line
    )
    return clean if len(clean) <= LONGEST else clean[: LONGEST - 1] + "…"


def noted(step: Callable[[], T], problems: list[FieldError]) -> T | None:
    """Take a step; what is wrong is noted, so that all of it is reported at once."""
    try:
        return step()
    except FieldError as error:
        problems += error.errors
        return None


def _printable(value: str | float) -> bool:
    # Python refuses to print integers beyond a few thousand digits.
    return not isinstance(value, int) or value.bit_length() < 1024


def first_of(problems: Iterable[FieldError]) -> FieldError:
    """Return the problem nearest to the top of a file, with all others behind it."""
    first, *others = sorted(problems, key=lambda each: (each.file, each.line, each.column))
    return first.among(others)
