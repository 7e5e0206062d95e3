"""Our identity, as the headers of a request: tokens, files of tokens, programs that print them."""

import asyncio
from base64 import b64encode
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from ganglion.model.errors import EnvironmentFault, FieldError
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.processes import Finished
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.sign_in.kubeconfig import Person, Plugin

REREAD_S = 60.0
"""How long a token from a file is believed; kubelets rotate them long before they end."""

_EXEC_VERSIONS = tuple(f"client.authentication.k8s.io/{each}" for each in ("v1", "v1beta1"))
_PLUGIN_S = 60.0
_EARLY_S = 30.0
"""A printed credential is replaced this long before it ends, for clocks that differ."""

_TTY_HINT = "sign in by hand first, then start this again"


class Proof(Struct, frozen=True):
    """What proves our identity.

    Attributes:
        header: value of the `Authorization` header; empty = none.
        person: carries a client certificate that replaces the configured one; None = none.
    """

    header: str = ""
    person: Person | None = None


class Credentials(Protocol):
    """Source of proof; asked before each request, so the answer must be quick."""

    async def proof(self) -> Proof:
        """Return what to send with a request."""

    def refused(self) -> bool:
        """Note that the server did not accept it; return whether another one may be had."""


class Fixed:
    """A token, a name with a password, or nothing beside the client certificate."""

    def __init__(self, header: str) -> None:
        self._proof = Proof(header)

    async def proof(self) -> Proof:
        """Return the same always."""
        return self._proof

    def refused(self) -> bool:
        """There is no other."""
        return False


class CertificateFile:
    """A client certificate in files that another program renews."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._proof = Proof()

    async def proof(self) -> Proof:
        """Return a proof that is another when the files have to be read again."""
        return self._proof

    def refused(self) -> bool:
        """The files may hold a newer one by now."""
        self._proof = Proof(person=self._person)
        return True


class TokenFile:
    """A token in a file that another program rotates.

    Args:
        file: of the token.
        effects: files, and the clock that says when it is read again.
    """

    def __init__(self, file: Path, effects: Effects = SYSTEM) -> None:
        self._file, self._effects = file, effects
        self._proof = Proof()
        self._until = 0.0

    async def proof(self) -> Proof:
        """Return the token, read again once a minute.

        Raises:
            EnvironmentFault: the file cannot be read.
        """
        clock = self._effects.clock
        if clock.monotonic() >= self._until:
            try:
                token = self._effects.files.read(self._file).decode().strip()
            except OSError as error:
                raise EnvironmentFault(f"{self._file}: {error.strerror or error}") from error
            self._proof = Proof(f"Bearer {token}")
            self._until = clock.monotonic() + REREAD_S
        return self._proof

    def refused(self) -> bool:
        """The file may hold a newer one by now."""
        self._until = 0.0
        return True


class _Printed(Struct, frozen=True, rename="camel"):
    """`status` of an ExecCredential."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(Struct, frozen=True, rename="camel"):
    status: _Printed


class CredentialProgram:
    """A program that prints an ExecCredential, run again when that ends or is refused.

    Args:
        plugin: the program.
        endpoint: of the server that it is for.
        effects: processes, and the clock that says when what it printed ends.
    """

    def __init__(self, plugin: Plugin, endpoint: ApiEndpoint, effects: Effects = SYSTEM) -> None:
        self._plugin, self._endpoint, self._effects = plugin, endpoint, effects
        self._proof: Proof | None = None
        self._ends: datetime | None = None
        self._running = asyncio.Lock()
        _check(plugin, endpoint)

    async def proof(self) -> Proof:
        """Return what the program printed.

        Raises:
            EnvironmentFault: it cannot be started, failed, or printed something else.
        """
        async with self._running:
            if self._proof is None or self._ended():
                printed = _read(await self._output(), self._plugin.command)
                self._proof, self._ends = _proof(printed), printed.expiration_timestamp
            return self._proof

    def refused(self) -> bool:
        """Another run may print a better one."""
        self._proof = None
        return True

    def _ended(self) -> bool:
        return self._ends is not None and self._left(self._ends) < _EARLY_S

    def _left(self, ends: datetime) -> float:
        return ends.timestamp() - self._effects.clock.now_ms() / 1_000

    async def _output(self) -> bytes:
        command, run = self._plugin.command, self._effects.processes.finish
        argv = (command, *(self._plugin.args or ()))
        try:
            done = await run(argv, _environment(self._plugin, self._endpoint), _PLUGIN_S)
        except TimeoutError:
            message = f"{command} printed no credentials within {_PLUGIN_S:.0f} s"
            raise EnvironmentFault(message, _TTY_HINT) from None
        except OSError as error:
            hint = (self._plugin.install_hint or "").strip()
            raise EnvironmentFault(f"{command}: {error.strerror or error}", hint) from error
        return _result(done, command)


def _result(done: Finished, command: str) -> bytes:
    if done.code:
        last = done.errors.decode("utf-8", "replace").strip()
        message = f"{command} ended with {done.code}: {last}"
        raise EnvironmentFault(message, _TTY_HINT)
    return done.out


def _environment(plugin: Plugin, endpoint: ApiEndpoint) -> dict[str, str]:
    spec: dict[str, object] = {"interactive": False}
    if plugin.wants_cluster:
        spec["cluster"] = msgspec.to_builtins(endpoint.server)
    info = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
    given = {each.name: each.value for each in plugin.env or ()}
    return given | {"KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}


def _read(output: bytes, command: str) -> _Printed:
    try:
        return msgspec.json.decode(output, type=_ExecCredential).status
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EnvironmentFault(f"{command} printed no ExecCredential: {error}") from None


def _proof(printed: _Printed) -> Proof:
    header = f"Bearer {printed.token}" if printed.token else ""
    if not printed.client_certificate_data:
        return Proof(header)
    pair = (printed.client_certificate_data, printed.client_key_data)
    cert, key = (b64encode(each.encode()).decode() for each in pair)
    return Proof(header, Person(client_cert_data=cert, client_key_data=key))


def _check(plugin: Plugin, endpoint: ApiEndpoint) -> None:
    """A program of another contract, or one that needs a terminal, cannot be used."""
    if plugin.api_version not in _EXEC_VERSIONS:
        message = f"{plugin.api_version!r} is not known"
        hint = f"one of: {', '.join(_EXEC_VERSIONS)}"
        raise FieldError(message, key="exec.apiVersion", file=endpoint.file, hint=hint)
    if plugin.interactive == "Always":
        message = "`Always` cannot be met: there is no terminal here"
        raise FieldError(message, key="exec.interactiveMode", file=endpoint.file)


def credentials_of(endpoint: ApiEndpoint, effects: Effects = SYSTEM) -> Credentials:
    """Return how this endpoint's person proves who it is.

    Raises:
        FieldError: by a way that is not known.
    """
    person = endpoint.person
    if person.exec is not None:
        return CredentialProgram(person.exec, endpoint, effects)
    if person.token_file:
        return TokenFile(Path(person.token_file), effects)
    if person.auth_provider:
        hint = "use an exec plugin; providers left Kubernetes with 1.26"
        raise FieldError("is not known", key="auth-provider", file=endpoint.file, hint=hint)
    header = _fixed(person)
    return CertificateFile(person) if person.client_cert and not header else Fixed(header)


def _fixed(person: Person) -> str:
    if person.token:
        return f"Bearer {person.token.strip()}"
    if person.username and person.password:
        pair = f"{person.username}:{person.password}".encode()
        return f"Basic {b64encode(pair).decode()}"
    return ""
