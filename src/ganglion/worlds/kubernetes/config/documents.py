"""The `spec` of one object, read by the same code as the files that people write."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from ganglion.model.errors import FieldError, FileError, InputError
from ganglion.model.queue import Preemption
from ganglion.specs.policy.policy import PolicyFile, expanded, parse_policy
from ganglion.specs.policy.queue_schema import ALIASES, CHILDREN, QUEUE_ALIASES, SCOPES, QueueFile
from ganglion.specs.policy.queues import queues_of
from ganglion.specs.reading.renaming import Renaming, Vocabulary
from ganglion.specs.reading.validate import Wrong, readable
from ganglion.specs.reading.yaml import parse_documents
from ganglion.specs.wording import first_of, noted
from ganglion.worlds.kubernetes.config.tenants import KEYS, terms_of

LONGEST = 1_800
"""Characters of a message about one object; shorter than its status allows."""
REMEMBERED = 8192
"""Specs that are not read again while they stay as they are."""

_WORDS = Vocabulary(
    keys={
        scope if scope != "queues" else "": tuple(model.model_fields)
        for scope, model in SCOPES.items()
    },
    aliases={**ALIASES, "": QUEUE_ALIASES},
    children={"": CHILDREN["queues"]},
)
"""The words of one queue, which is the whole of the document here."""


def queue_file(name: str, spec: Mapping[str, Any]) -> QueueFile:
    """What a `Queue` says that queues of files say too; its name is that of the object.

    Raises:
        InputError: keys or values are wrong, or contradict each other; all that is wrong.
    """
    known = {key: value for key, value in spec.items() if key not in KEYS}
    text, problems = _text({**known, "name": name}), list[FieldError]()
    file = noted(lambda: _queue_file(text), problems)
    noted(lambda: terms_of(spec), problems)
    if file is None or problems:
        raise first_of(problems)
    return file


def policy_file(spec: Mapping[str, Any]) -> PolicyFile:
    """What a `Policy` says.

    Raises:
        InputError: keys or values are wrong, or contradict each other; all that is wrong.
    """
    text, problems = _text({**spec, "queues": None}), list[FieldError]()
    if "queues" in spec:
        problem = "queues have objects of their own"
        problems.append(FieldError(problem, key="queues", hint="kind: Queue"))
    file = noted(lambda: _policy_file(text), problems)
    if file is None or problems:
        raise first_of(problems)
    return file


def told(error: InputError) -> str:
    """Everything that is wrong with an object, with the places in it and what to write instead."""
    if not error.errors:
        return ". ".join(each for each in (error.message, error.hint) if each)
    return joined([_told(each) for each in error.errors])


def joined(texts: Sequence[str]) -> str:
    """Several remarks as one message, with the number of those that are too many for it."""
    *whole, last = accumulate(len(each) + 2 for each in texts)
    shown = max(1, sum(each <= LONGEST for each in (*whole, last)))
    more = f"; and {len(texts) - shown} more" if texts[shown:] else ""
    return "; ".join(texts[:shown])[:LONGEST] + more


def _told(error: FieldError) -> str:
    place = f"spec.{error.key}" if error.key else "spec"
    return f"{place}: {error.problem}" + (f" ({error.hint})" if error.hint else "")


@lru_cache(REMEMBERED)
def _queue_file(text: str) -> QueueFile:
    renaming = Renaming(parse_documents(text)[0], _WORDS)
    file = readable(QueueFile, expanded(renaming.known()), renaming)
    # Alone it is a root: what lies between queues is judged for all of them together.
    alone = file.model_copy(update={"parent": ""})
    renaming.noted(lambda: queues_of([alone], (), Preemption(), _below(renaming.wrong)))
    renaming.settle()
    return file


def _below(wrong: Wrong) -> Wrong:
    """What makes errors of a queue where the queue is the whole of the document."""
    return lambda problem, path, hint: wrong(problem, path[2:], hint)


@lru_cache(REMEMBERED)
def _policy_file(text: str) -> PolicyFile:
    return parse_policy(text)


def _text(spec: Mapping[str, Any]) -> str:
    """The spec as a file: JSON is YAML, and numbers keep the digits they are written with."""
    try:
        return json.dumps(spec, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FileError(f"the spec is not JSON: {error}") from error
