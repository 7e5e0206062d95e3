"""What pages of keys have in common."""

from collections.abc import Mapping


def names_of(others: Mapping[str, str], key: str) -> list[str]:
    """Other names of a key and of keys below it; `others`: name -> its key."""
    return [name for name, real in others.items() if real == key or real.startswith(f"{key}.")]


def first(text: str | None) -> str:
    """The first line of a docstring."""
    return (text or "").splitlines()[0]


def escaped(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|")
