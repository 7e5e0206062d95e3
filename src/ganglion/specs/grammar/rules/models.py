"""References to models: `models:/chat@champion`, `hf://org/repo@main`, `oci://…`, `s3://…`."""

import re

from msgspec import Struct

from ganglion.model.credentials import redacted_text
from ganglion.model.errors import FieldError
from ganglion.specs.grammar.scalars import parse_text
from ganglion.specs.wording import listed, meant, show

EXAMPLES = {
    "models": "models:/chat@champion or models:/chat/3",
    "hf": "hf://org/repo@main",
    "oci": "oci://registry.example/team/chat:v3",
    "s3": "s3://bucket/path/model.safetensors or s3://bucket/path/",
    "file": "file:///models/chat",
}
"""Scheme -> how a reference of it looks."""
LONGEST = 1_000
"""Most characters of a reference."""
COMMIT = re.compile(r"[0-9a-f]{40}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.S)
_NAME = re.compile(r"[^\s/:@?#]+")
_ALIAS = re.compile(r"[A-Za-z0-9_.-]{1,255}")
_VERSION = re.compile(r"[1-9][0-9]{0,17}")
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_REVISION = re.compile(r"[A-Za-z0-9][\w./-]{0,254}")
_REPOSITORY = re.compile(r"(?P<host>[A-Za-z0-9.-]+(:[0-9]{1,5})?)/[a-z0-9]+([._/-]+[a-z0-9]+)*")
_TAG = re.compile(r"\w[\w.-]{0,127}")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


class ModelReference(Struct, frozen=True):
    """A model as a person names it.

    Attributes:
        scheme: where it is kept: `models` (MLflow), `hf`, `oci`, `s3` or `file`.
        name: registered name, `org/repo`, `host/repository`, `bucket/key`, or an absolute path.
        mark: what stands between the name and `at`: `@`, `/`, `:`, `?versionId=`; empty = nothing.
        at: alias, version, revision, tag or digest; empty = none.
    """

    scheme: str
    name: str
    mark: str = ""
    at: str = ""

    def __str__(self) -> str:
        """The canonical text."""
        return f"{self.scheme}:{_HEADS[self.scheme]}{self.name}{self.mark}{self.at}"

    @property
    def moves(self) -> bool:
        """Whether it may mean something else later."""
        if self.scheme == "models":
            return self.mark == "@"
        if self.scheme in ("hf", "oci"):
            return not (COMMIT.fullmatch(self.at) or DIGEST.fullmatch(self.at))
        return not self.at


_HEADS = {"models": "/", "hf": "//", "oci": "//", "s3": "//", "file": "//"}


def parse_model(value: object) -> str:
    """Return a reference in its canonical form. Raises FieldError when it is none."""
    return str(reference_of(value))


def reference_of(value: object) -> ModelReference:
    """Read a reference.

    Raises:
        FieldError: it is none.
    """
    text = parse_text(value).strip()
    hint = f"as {EXAMPLES['models']}, {', '.join([*EXAMPLES.values()][1:])}"
    found = _SCHEME.fullmatch(text)
    if not found or len(text) > LONGEST or not text.isprintable() or " " in text:
        raise FieldError(f"{show(value)} is no reference to a model", hint=hint)
    scheme, rest = found[1].lower(), found[2]
    if scheme not in _READERS:
        word = meant(scheme, EXAMPLES) or f"use {listed(EXAMPLES)}"
        raise FieldError(f"models are not kept at {show(scheme + ':')}", hint=word)
    if redacted_text(text) != text:
        keep = "name it without them; those of the registry stand in `models.yaml` of the server"
        raise FieldError("a reference has no credentials in it, as files are kept", hint=keep)
    head = _HEADS[scheme]
    made = _READERS[scheme](rest.removeprefix(head)) if rest.startswith(head) else None
    if made is None:
        raise FieldError(f"{show(value)} is no reference to a model", hint=f"as {EXAMPLES[scheme]}")
    return made


def _mlflow(rest: str) -> ModelReference | None:
    name, mark, at = rest.partition("@" if "@" in rest else "/")
    if not _NAME.fullmatch(name):
        return None
    if mark == "@":
        return ModelReference("models", name, mark, at) if _ALIAS.fullmatch(at) else None
    if not _VERSION.fullmatch(at):
        what = f"{show(at)} is no version of {name}" if at else f"{name} has no version or alias"
        raise FieldError(
            what, hint=f"as models:/{name}/3, or an alias that you set: models:/{name}@champion"
        )
    return ModelReference("models", name, mark, at)


def _hub(rest: str) -> ModelReference | None:
    name, mark, at = rest.partition("@")
    if not _REPO.fullmatch(name) or (mark and not _REVISION.fullmatch(at)) or ".." in at:
        return None
    return ModelReference("hf", name, "@", at or "main")


def _oci(rest: str) -> ModelReference | None:
    name, mark, at = rest.partition("@")
    if not mark:
        head, colon, tag = rest.rpartition(":")
        tagged = colon and "/" not in tag
        name, mark, at = (head, ":", tag) if tagged else (rest, ":", "latest")
    fits = DIGEST.fullmatch(at) if mark == "@" else _TAG.fullmatch(at)
    return ModelReference("oci", name, mark, at) if fits and _REPOSITORY.fullmatch(name) else None


def _s3(rest: str) -> ModelReference | None:
    name, mark, at = rest.partition("?versionId=")
    bucket, _, key = name.partition("/")
    if key.endswith("/") and mark:
        raise FieldError("a folder of a bucket has no version", hint="as s3://bucket/path/")
    if not _BUCKET.fullmatch(bucket) or not key or set(name) & set("?#") or bool(mark) != bool(at):
        return None
    return ModelReference("s3", name, mark, at)


def _file(rest: str) -> ModelReference | None:
    parts = rest.split("/")
    if not rest.startswith("/") or ".." in parts or not any(parts):
        return None
    return ModelReference("file", "/" + "/".join(part for part in parts if part not in ("", ".")))


_READERS = {"models": _mlflow, "hf": _hub, "oci": _oci, "s3": _s3, "file": _file}
