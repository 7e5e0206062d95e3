"""The `spec` of one object, read by the same code as the files that people write."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ganglion.files.policy import PolicyFile, expanded, parse_policy
from ganglion.files.queue_schema import ALIASES, CHILDREN, QUEUE_ALIASES, SCOPES, QueueFile
from ganglion.files.renaming import Renaming, Vocabulary
from ganglion.files.validate import validate
from ganglion.files.yaml import parse_documents
from ganglion.model.errors import FieldError, FileError, InputError
from ganglion.worlds.kubernetes.config.tenants import KEYS

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
        InputError: a key or value is wrong.
    """
    known = {key: value for key, value in spec.items() if key not in KEYS}
    return _queue_file(_text({**known, "name": name}))


def policy_file(spec: Mapping[str, Any]) -> PolicyFile:
    """What a `Policy` says.

    Raises:
        InputError: a key or value is wrong.
    """
    if "queues" in spec:
        raise FieldError("queues have objects of their own", key="queues", hint="kind: Queue")
    return _policy_file(_text(spec))


def told(error: InputError) -> str:
    """What is wrong with an object, with the place in it and what to write instead."""
    if not isinstance(error, FieldError):
        return ". ".join(each for each in (error.message, error.hint) if each)
    place = f"spec.{error.key}" if error.key else "spec"
    return f"{place}: {error.problem}" + (f" ({error.hint})" if error.hint else "")


@lru_cache(REMEMBERED)
def _queue_file(text: str) -> QueueFile:
    renaming = Renaming(parse_documents(text)[0], _WORDS)
    return validate(QueueFile, expanded(renaming.known()), renaming)


@lru_cache(REMEMBERED)
def _policy_file(text: str) -> PolicyFile:
    return parse_policy(text)


def _text(spec: Mapping[str, Any]) -> str:
    """The spec as a file: JSON is YAML, and numbers keep the digits they are written with."""
    try:
        return json.dumps(spec, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FileError(f"the spec is not JSON: {error}") from error
