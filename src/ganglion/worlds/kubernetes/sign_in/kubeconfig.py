"""What a kubeconfig file says, with the file, line and key of everything that is wrong.

The structure is that of the Kubernetes client configuration (v1 `Config`). Of several files in
`$KUBECONFIG` the first one that says something wins, as with kubectl.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from ganglion.model.errors import FieldError, FileError, InputError
from ganglion.specs.reading.yaml import Document, parse_documents

_PLACE = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)
_STEP = re.compile(r"[^.\[\]]+")


class Server(Struct, omit_defaults=True):
    """Where an API server is and how it proves that it is the right one.

    Attributes:
        server: its URL.
        certificate_auth: file of the authority that signed its certificate.
        certificate_auth_data: the same in base64, in place of a file.
        insecure: take any certificate.
        server_name: name that its certificate must be for, where the URL has another.
        proxy: URL of an HTTP proxy on the way.
    """

    server: str = "http://localhost:8080"
    certificate_auth: str | None = field(name="certificate-authority", default=None)
    certificate_auth_data: str | None = field(name="certificate-authority-data", default=None)
    insecure: bool = field(name="insecure-skip-tls-verify", default=False)
    server_name: str | None = field(name="tls-server-name", default=None)
    proxy: str | None = field(name="proxy-url", default=None)


class Variable(Struct):
    """An environment variable of a program."""

    name: str
    value: str


class Plugin(Struct, omit_defaults=True):
    """A program that prints credentials."""

    api_version: str = field(name="apiVersion")
    command: str
    env: list[Variable] | None = None
    args: list[str] | None = None
    install_hint: str | None = field(name="installHint", default=None)
    interactive: str = field(name="interactiveMode", default="IfAvailable")
    wants_cluster: bool = field(name="provideClusterInfo", default=False)


class Person(Struct, omit_defaults=True):
    """A user, and the proof of its identity.

    Certificates and keys are files, or `_data` in base64.
    """

    exec: Plugin | None = None
    username: str | None = None
    password: str | None = None
    token: str | None = None
    token_file: str | None = field(name="tokenFile", default=None)
    auth_provider: dict[str, Any] | None = field(name="auth-provider", default=None)
    client_cert: str | None = field(name="client-certificate", default=None)
    client_cert_data: str | None = field(name="client-certificate-data", default=None)
    client_key: str | None = field(name="client-key", default=None)
    client_key_data: str | None = field(name="client-key-data", default=None)
    acts_as: str | None = field(name="as", default=None)
    acts_as_groups: tuple[str, ...] = field(name="as-groups", default=())

    def __repr__(self) -> str:
        """Secrets stay out of logs."""
        return f"Person({self.username or self.acts_as or '...'})"


class KubeContext(Struct):
    """A cluster with a user and a namespace."""

    cluster: str
    user: str | None = None
    namespace: str | None = None


class _NamedServer(Struct):
    name: str
    cluster: Server


class _NamedPerson(Struct):
    name: str
    user: Person | None = None


class _NamedContext(Struct):
    name: str
    context: KubeContext


class _File(Struct):
    clusters: list[_NamedServer] | None = None
    users: list[_NamedPerson] | None = None
    contexts: list[_NamedContext] | None = None
    current: str | None = field(name="current-context", default=None)


class ChosenContext(Struct, frozen=True):
    """One context of a kubeconfig with what it refers to; paths are absolute.

    Attributes:
        name: name of the context.
        file: the files it was read from, for messages.
    """

    name: str
    namespace: str
    server: Server
    person: Person
    file: str


def read(files: Sequence[Path], context: str | None) -> ChosenContext:
    """Return the context of this name, or the current one.

    Raises:
        InputError: no such context, or none is current.
        FileError: a file is missing or no text.
        FieldError: a key is wrong; names file, line and key.
    """
    return _choose([_parsed(file) for file in files], ":".join(map(str, files)), context)


def _parsed(file: Path) -> _File:
    try:
        raw = file.read_bytes()
    except OSError as error:
        hint = "--kubeconfig FILE, or set $KUBECONFIG"
        raise FileError(f"{file}: {error.strerror or error}", hint) from None
    document = parse_documents(raw, str(file))[0]
    try:
        parsed = msgspec.convert(document.data, _File)
    except msgspec.ValidationError as error:
        raise _wrong(error, document) from None
    return _absolute(parsed, file.absolute().parent)


def _wrong(error: msgspec.ValidationError, document: Document) -> FieldError:
    found = _PLACE.fullmatch(str(error))
    message, key = found.groups() if found else (str(error), "")
    steps = _STEP.findall(key)
    path = tuple(int(step) if step.isdecimal() else step for step in steps)
    return FieldError(message, key=key, file=document.file, line=document.line(path))


def _absolute(parsed: _File, folder: Path) -> _File:
    """Paths in a kubeconfig are relative to the file itself."""
    for server in parsed.clusters or ():
        _resolve(server.cluster, ("certificate_auth",), folder)
    for named in parsed.users or ():
        if named.user:
            _resolve(named.user, ("client_cert", "client_key", "token_file"), folder)
            if named.user.exec and "/" in named.user.exec.command:
                _resolve(named.user.exec, ("command",), folder)
    return parsed


def _resolve(holder: Struct, names: Iterable[str], folder: Path) -> None:
    for name in names:
        if path := getattr(holder, name):
            setattr(holder, name, str(folder / path))


def _choose(files: list[_File], place: str, context: str | None) -> ChosenContext:
    contexts = _first((each.name, each.context) for file in files for each in file.contexts or ())
    name = context or next((file.current for file in files if file.current), "")
    if name not in contexts:
        known = ", ".join(sorted(contexts)) or "none"
        wrong = f"there is no context {name!r}" if name else "no context is current"
        raise InputError(f"{place}: {wrong}", f"--context NAME, one of: {known}")
    chosen = contexts[name]
    servers = _first((each.name, each.cluster) for file in files for each in file.clusters or ())
    people = _first((each.name, each.user) for file in files for each in file.users or ())
    key = f"contexts.{name}"
    person = _named(people, chosen.user, f"{key}.user", place) if chosen.user else None
    return ChosenContext(
        name=name,
        namespace=chosen.namespace or "default",
        server=_named(servers, chosen.cluster, f"{key}.cluster", place),
        person=person or Person(),
        file=place,
    )


T = TypeVar("T")


def _first(pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def _named(known: dict[str, T], name: str, key: str, place: str) -> T:
    if name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise FieldError(f"there is no {name!r}", key=key, file=place, hint=f"known are: {names}")
    return known[name]
