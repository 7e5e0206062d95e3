"""Lists and mappings of texts: commands, environments, labels, parameters."""

from collections.abc import Callable
from typing import Any, TypeVar

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.names import parse_name, parse_variable
from ganglion.specs.grammar.ranges import MAX_VALUES, parse_values
from ganglion.specs.grammar.scalars import parse_text
from ganglion.specs.wording import show

T = TypeVar("T")

_DEPENDENCIES = {"ok": "", "afterok": "", "any": "any:", "afterany": "any:"}


def parse_run(value: object) -> str | tuple[str, ...]:
    """Return a shell text, or the argument vector of a list."""
    if not isinstance(value, list):
        text = parse_text(value, "write a command, as `python train.py`")
        if not text.strip():
            raise FieldError("the command is empty", hint="write `run: python train.py`")
        return text
    words = each_of(value, parse_text)
    if not words or not words[0].strip():
        raise FieldError("the command is empty", hint="write `run: python train.py`")
    return words


def parse_texts(value: object) -> tuple[str, ...]:
    """Return a list of texts; one text is a list of one."""
    return tuple(dict.fromkeys(each_of(value, parse_text)))


def parse_names(value: object) -> tuple[str, ...]:
    """Return a list of names; one name is a list of one."""
    return tuple(dict.fromkeys(each_of(value, parse_name)))


def each_of(value: object, read: Callable[[Any], T]) -> tuple[T, ...]:
    """Read every item of a list; anything else is a list of one.

    Raises:
        FieldError: some are wrong; all of them, each with its place in the list as `[2]`.
    """
    if not isinstance(value, list):
        return (read(value),)
    placed = {f"[{at}]": item for at, item in enumerate(value)}
    return tuple(gathered(placed, lambda place, item: (place, read(item))).values())


def mapped(
    value: object, key: Callable[[object], str], item: Callable[[object], T]
) -> dict[str, T]:
    """Parse every key and value of a mapping.

    Raises:
        FieldError: some are wrong; all of them, each with the key inside.
    """
    if not isinstance(value, dict):
        raise FieldError(f"expected keys and values, found {show(value)}")
    return gathered(value, lambda name, each: (key(name), item(each)))


def gathered(given: dict[Any, Any], read: Callable[[Any, Any], tuple[str, T]]) -> dict[str, T]:
    """Read every key with its value.

    Raises:
        FieldError: some are wrong; all of them, each with the key inside.
    """
    found: dict[str, T] = {}
    wrong: list[FieldError] = []
    for name, each in given.items():
        try:
            key, value = read(name, each)
            found[key] = value
        except FieldError as error:
            wrong += (_inside(str(name), inner) for inner in error.errors)
    if wrong:
        raise wrong[0].among(wrong[1:])
    return found


def _inside(name: str, error: FieldError) -> FieldError:
    dot = "" if not error.key or error.key.startswith("[") else "."
    key = f"{name}{dot}{error.key}"
    return FieldError(error.problem, key=key, hint=error.hint)


def parse_env(value: object) -> dict[str, str | None]:
    """Read `[HF_TOKEN, "EPOCHS=3"]` or a mapping; None = take it from the caller's shell."""
    if isinstance(value, dict):
        return mapped(value, parse_variable, _env_value)
    found: dict[str, str | None] = {}

    def read(item: object) -> None:
        name, given, text = parse_text(item, "write `NAME=value` or `NAME`").partition("=")
        variable = parse_variable(name.strip())
        if variable in found:
            raise FieldError(f"the variable {show(variable)} is given twice")
        found[variable] = text if given else None

    each_of(value, read)
    return found


def parse_secrets(value: object) -> dict[str, str | None]:
    """Read `[HF_TOKEN]`, or a mapping of names to values; no message shows a value."""
    try:
        return parse_env(value)
    except FieldError as error:
        hint = "write names of variables, as `secrets: [HF_TOKEN]`"
        raise FieldError("expected names of variables", key=error.key, hint=hint) from None


def parse_labels(value: object) -> dict[str, str]:
    """Read free-form labels."""
    return mapped(value, _label_key, parse_text)


def parse_selectors(value: object) -> dict[str, tuple[str, ...]]:
    """Read label -> value or list of values."""
    return mapped(value, _label_key, _some_texts)


def parse_params(value: object) -> dict[str, tuple[str, ...]]:
    """Read parameter -> values; a bare list is parameter `item`, a bare range is `index`."""
    if isinstance(value, list):
        return {"item": parse_values(value)}
    if not isinstance(value, dict):
        return {"index": parse_values(value)}
    if not value:
        raise FieldError("needs at least one parameter", hint="as `{lr: [1e-4, 3e-4], seed: 0..4}`")
    return mapped(value, parse_variable, parse_values)


def parse_trials(value: object) -> tuple[dict[str, str], ...]:
    """Read a list of trials, each parameter -> value; all have the same parameters."""
    hint = "as `[{lr: 1e-4, seed: 1}, {lr: 3e-4, seed: 2}]`"
    if not isinstance(value, list) or not value:
        raise FieldError("needs a list of at least one trial", hint=hint)
    if len(value) > MAX_VALUES:
        raise FieldError(f"holds {len(value):,} trials; most are {MAX_VALUES:,}")
    trials = each_of(value, lambda each: mapped(each, parse_variable, parse_text))
    first = trials[0].keys()
    other = [
        FieldError(
            f"trial {at} has other parameters than the first one"
            if trial
            else f"trial {at} has no parameters",
            key=f"[{at}]",
            hint=hint,
        )
        for at, trial in enumerate(trials)
        if trial.keys() != first or not trial
    ]
    if other:
        raise other[0].among(other[1:])
    return trials


def parse_dependencies(value: object) -> tuple[str, ...]:
    """Read names of workloads; `any:NAME` (also `afterany:NAME`) need not succeed."""
    return tuple(dict.fromkeys(each_of(value, _dependency)))


def _dependency(value: object) -> str:
    text = parse_text(value)
    kind, colon, name = text.rpartition(":")
    if kind not in ("", *_DEPENDENCIES):
        hint = "write `NAME`, or `any:NAME` for one that need not succeed"
        raise FieldError(f"{show(text)} is not a dependency", hint=hint)
    return f"{_DEPENDENCIES.get(kind, '')}{parse_name(name if colon else text)}"


def _env_value(value: object) -> str | None:
    return None if value is None else parse_text(value)


def _label_key(value: object) -> str:
    text = parse_text(value)
    if not text or len(text) > 316 or not text.isprintable():
        raise FieldError(f"{show(text)} is not the name of a label")
    return text


def _some_texts(value: object) -> tuple[str, ...]:
    texts = parse_texts(value)
    if not texts:
        raise FieldError("needs at least one value")
    return texts
