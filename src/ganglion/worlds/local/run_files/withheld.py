"""Credentials of an attempt: kept in a file of their own beside the store, not in its spec.

Only the standard library is imported here, because the supervisor imports this module.
"""

from collections.abc import Iterable
from pathlib import Path

from ganglion.model.credentials import REDACTED
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.records import Record

WITHHELD = "secrets"
"""Key of a spec: the file with the credentials; absent = there are none."""
LEAST = 6
"""Shorter values are not looked for in messages: they occur by chance."""


class SecretsGone(Exception):
    """The file with an attempt's credentials cannot be read."""


def credentials_of(spec: Record) -> dict[str, str]:
    """Credentials that every process of an attempt gets in its environment.

    Raises:
        SecretsGone: they were removed, or the disk refuses.
    """
    path = spec.get(WITHHELD)
    if not path:
        return {}
    try:
        found = records.read(Path(path))
    except OSError as error:
        raise SecretsGone(f"the secrets of the attempt cannot be read: {error}") from error
    if found is None:
        raise SecretsGone(f"the secrets of the attempt are gone: {path}")
    return found


def scrubbed(message: str, values: Iterable[str]) -> str:
    """A message without the values of secrets, which a program may have printed."""
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= LEAST:
            message = message.replace(value, REDACTED)
    return message
