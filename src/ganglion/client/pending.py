"""Idempotency keys that outlive the process that made them.

A submit may be interrupted after the server took it and before the answer came. The key of
a submit is therefore written down first and removed when the answer is there. Submitting the
same document again finds the key that was left behind and uses it, so that the server
recognises the repetition: nothing is lost and nothing runs twice.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
import psutil

from ganglion.client.home import Unreachable
from ganglion.model.errors import EnvironmentFault, Forbidden, InputError, PluginError, StateError

Document = Mapping[str, Any]

MAX_AGE_S = 3600
"""A key left behind longer ago belongs to a submit that its author has forgotten."""


class SubmitAttempt(NamedTuple):
    """One submit.

    Attributes:
        key: sent as `Idempotency-Key`.
        document: what to send.
        resumed: whether an interrupted submit left it behind.
    """

    key: str
    document: Document
    resumed: bool


@contextmanager
def attempt(
    folder: Path, wanted: Document, sent: Document, nth: int = 0
) -> Iterator[SubmitAttempt]:
    """Hold a submit until the server has answered.

    It stays behind when it is unknown whether the server took the document: after Ctrl-C, a
    lost connection, or the death of this process.

    Args:
        folder: Ganglion's home directory.
        wanted: what the person asked for; by this a repetition is recognised.
        sent: what to send for it; an attempt that was left behind is sent as it was.
        nth: distinguishes equal documents of one submit.

    Raises:
        EnvironmentFault: the key cannot be written down.
    """
    mark, secrets = _digest(_named(wanted), nth), sent.get("secrets")
    try:
        found, path = _adopt(folder / "submits", mark) or _new(
            folder / "submits", mark, _named(sent)
        )
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write below {folder}: {error.strerror}", "check space and permissions"
        ) from error
    if secrets:
        found = found._replace(document={**found.document, "secrets": secrets})
    try:
        yield found
    except (Forbidden, InputError, StateError, PluginError, Unreachable):
        path.unlink(missing_ok=True)  # refused, or never sent: certainly not accepted
        raise
    path.unlink(missing_ok=True)


def _named(document: Document) -> Document:
    """A document with the names of its secrets only: values are written nowhere."""
    secrets = document.get("secrets")
    return {**document, "secrets": dict.fromkeys(secrets)} if secrets else document


def _digest(document: Document, nth: int) -> str:
    ordered = msgspec.json.encode(document, order="deterministic")
    return sha256(ordered + b"#%d" % nth).hexdigest()[:16]


def _new(folder: Path, mark: str, sent: Document) -> tuple[SubmitAttempt, Path]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = uuid4().hex
    path = folder / f"{mark}.{os.getpid()}.{key}"
    with path.open("xb") as file:
        file.write(msgspec.json.encode(sent))
        file.flush()
        os.fsync(file.fileno())
    return SubmitAttempt(key, sent, resumed=False), path


def _adopt(folder: Path, mark: str) -> tuple[SubmitAttempt, Path] | None:
    """Take over what a process that is gone left; a rename decides between two takers."""
    for left in folder.glob(f"{mark}.*.*"):
        _, owner, key = left.name.split(".")
        mine = folder / f"{mark}.{os.getpid()}.{key}"
        try:
            made = left.stat().st_mtime
            if _lives(int(owner), made):
                continue
            if time.time() - made > MAX_AGE_S:
                left.unlink()
                continue
            left.rename(mine)
            sent = msgspec.json.decode(mine.read_bytes(), type=dict[str, Any])
        except FileNotFoundError:
            continue
        except msgspec.DecodeError:
            mine.unlink()  # its author died while writing it, before sending anything
            continue
        return SubmitAttempt(key, sent, resumed=True), mine
    return None


def _lives(pid: int, since: float) -> bool:
    """Whether a process that was there at time `since` still is, its number not reused."""
    try:
        return psutil.Process(pid).create_time() <= since
    except psutil.Error:
        return False
