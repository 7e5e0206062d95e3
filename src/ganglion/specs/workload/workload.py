"""Workload files: load, check, change, print, and turn into workloads.

for doc in parse_workloads(text):
    workload = to_workload(doc, user="ada", default_queue="default")
"""

from collections.abc import Mapping, Sequence
from functools import partial

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.lists import parse_env
from ganglion.specs.reading.renaming import Renaming
from ganglion.specs.reading.text import decode
from ganglion.specs.reading.validate import readable, validate
from ganglion.specs.reading.yaml import Data, Document, read_documents
from ganglion.specs.wording import first_of, noted
from ganglion.specs.workload.aliases import ALIASES
from ganglion.specs.workload.checks import RULES
from ganglion.specs.workload.convert import priority_of, references, to_workload
from ganglion.specs.workload.defaults import name_of
from ganglion.specs.workload.json_schema import workload_schema
from ganglion.specs.workload.schema import VOCABULARY, WorkloadFile
from ganglion.specs.workload.shorthand import expand

__all__ = [
    "WorkloadFile",
    "apply_overrides",
    "check_overrides",
    "document",
    "from_command",
    "from_document",
    "name_of",
    "parse_workloads",
    "partly_read",
    "priority_of",
    "references",
    "to_workload",
    "translated",
    "workload_schema",
]


def parse_workloads(
    text: str | bytes, name: str = "", *, anonymous: bool = False
) -> list[WorkloadFile]:
    """Read workloads from text.

    Args:
        text: YAML, with one or more documents, or JSON.
        name: what to call the text in messages; unnamed workloads are called after it.
        anonymous: do not call workloads after `name`.

    Raises:
        FileError: it is not text of that sort.
        FieldError: keys or values are wrong; all that is wrong, of every document.
    """
    stem = "" if anonymous else name
    documents, problems = read_documents(decode(text, name), name)
    found = [noted(partial(_checked, each), problems) for each in documents]
    if problems:
        raise first_of(problems)
    return [_named(each, stem) for each in found if each]


def from_document(data: object, name: str = "") -> WorkloadFile:
    """Check a document that was decoded already, as the body of a request.

    Args:
        data: keys and values, or a `Document` of them, which names lines in errors.
        name: what messages call it.

    Raises:
        FieldError: a key or value is wrong.
    """
    if isinstance(data, Document):
        return _checked(data)
    if not isinstance(data, dict):
        raise FieldError("a workload is a mapping of keys to values", file=name)
    return _checked(Document(data, name))


def translated(
    source: Document, name: str, problems: Sequence[FieldError], warnings: Sequence[str]
) -> WorkloadFile:
    """Check a document that was made of another format.

    Args:
        source: the document.
        name: of the file it was made of; an unnamed workload is called after it.
        problems: what was wrong there.
        warnings: what of it cannot be honoured.

    Raises:
        FieldError: there were problems, or a value is wrong.
    """
    doc = _named(_checked(source, problems), name)
    doc._warnings = tuple(warnings)
    return doc


def partly_read(data: Data) -> WorkloadFile:
    """As much of a document as can be read; what cannot raises Unread where it is asked for."""
    renaming = Renaming(Document(data), VOCABULARY)
    return readable(WorkloadFile, expand(renaming.known(), renaming), renaming)


def document(doc: WorkloadFile) -> Data:
    """Print in canonical keys and values; parses back to an equal file."""
    return doc.model_dump(mode="json", exclude_unset=True)


def check_overrides(overrides: Mapping[str, object]) -> None:
    """Check overrides by themselves. Raises FieldError with every key and value that is wrong."""
    given = {key: value for key, value in overrides.items() if value is not None}
    renaming = Renaming(Document(given), VOCABULARY)
    readable(WorkloadFile, {"run": "true", **expand(renaming.known(), renaming)}, renaming)
    # A flag that is given several times has no place in a list.
    renaming.problems = [
        FieldError(each.problem, key=each.key.partition("[")[0], hint=each.hint)
        for each in renaming.problems
    ]
    renaming.settle()


def apply_overrides(doc: WorkloadFile, overrides: Mapping[str, object]) -> WorkloadFile:
    """Change a workload by keys of the file, canonical or aliases; None changes nothing.

    `env`, `secrets` and `labels` are merged; anything else is replaced.

    Raises:
        FieldError: keys or values are wrong; their keys are the overrides'.
    """
    given = {key: value for key, value in overrides.items() if value is not None}
    if not given:
        return doc
    check_overrides(given)
    renaming = Renaming(Document(given), VOCABULARY)
    changes = expand(renaming.known(), renaming)
    merged = _merge(document(doc), changes)
    changed = validate(WorkloadFile, merged, renaming, RULES)
    changed._warnings = doc.warnings
    return changed


def from_command(argv: Sequence[str], overrides: Mapping[str, object] = {}) -> WorkloadFile:
    """The workload that runs a command.

    Args:
        argv: the words after `--`; a single word with spaces is a shell line.
        overrides: keys of the file, as for `apply_overrides`.

    Raises:
        FieldError: the command is empty, or an override is wrong.
    """
    words = list(argv)
    if not words:
        raise FieldError("there is no command to run", key="run", hint="as `-- python train.py`")
    shell = len(words) == 1 and len(words[0].split()) > 1
    doc = from_document({"run": words[0] if shell else words})
    return _named(apply_overrides(doc, overrides), "")


def aliases(scope: str = "") -> dict[str, str]:
    """Other names that keys of a scope may have -> canonical key."""
    return dict(ALIASES[scope])


def _checked(source: Document, problems: Sequence[FieldError] = ()) -> WorkloadFile:
    renaming = Renaming(source, VOCABULARY)
    renaming.problems += problems
    # A script says what it means by several options together: no rule knows which one is broken.
    rules = () if problems else RULES
    return validate(WorkloadFile, expand(renaming.known(), renaming), renaming, rules)


def _named(doc: WorkloadFile, file: str) -> WorkloadFile:
    if doc.name:
        return doc
    warnings, named = doc.warnings, from_document({"name": name_of(doc, file), **document(doc)})
    named._warnings = warnings
    return named


def _merge(old: Data, changes: Data) -> Data:
    merged = dict(old)
    for key, value in changes.items():
        before = merged.get(key)
        if key in ("env", "secrets"):
            merged[key] = _env(before) | _env(value)
        elif isinstance(before, dict) and isinstance(value, dict) and key != "params":
            merged[key] = {**before, **value}
        else:
            merged[key] = value
    return merged


def _env(value: object) -> dict[str, object]:
    if not value:
        return {}
    try:
        return dict(parse_env(value))
    except FieldError as error:
        raise FieldError(error.problem, key="env", hint=error.hint) from None
