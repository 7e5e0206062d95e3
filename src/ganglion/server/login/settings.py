"""How browsers and programs sign in: `login.yaml` in the home, read when the server starts."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec
import yaml
from msgspec import Struct, field

from ganglion.model.errors import FieldError, FileError, InputError
from ganglion.seams.files import SYSTEM_FILES, Files
from ganglion.server.commands.sign_in import LOCAL
from ganglion.server.login.exchange.rules import ExchangeRule, troubles
from ganglion.specs.grammar.times.durations import parse_duration
from ganglion.specs.wording import first_of
from ganglion.transport.hosts import is_own

T = TypeVar("T")

FILE = "login.yaml"
SEE = "see docs/access.md"
LEEWAY_S = 60
"""How far the clocks of provider and server may differ."""


class LoginSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The file.

    Attributes:
        issuer: URL of the provider, exactly as its tokens name it; empty = there is none.
        client_id: name of this server at the provider; empty = as with `issuer`.
        public_url: where browsers find this server; `/login/callback` below it is what the
            provider has to know.
        client_secret_file: file whose first line is the secret; empty = the provider asks for none.
        ca_file: certificates by which the provider is recognised; empty = those of the machine.
        scopes: what is asked for beside `openid`.
        user_claim: claim that has a user's name.
        groups_claim: claim that has the names of a user's groups.
        newcomer_queue: where a newcomer gets role viewer; empty = on the whole fleet, null = none.
        idle: how long a session lasts without a request.
        lasting: how long a session lasts at most.
        exchange: ID tokens of other issuers that are exchanged for personal tokens.
        local_users: whether users sign in with a name and a password, without a provider.
        origins: where else browsers find its pages, as `public_url`; local users sign in there.
    """

    issuer: str = ""
    client_id: str = ""
    public_url: str = ""
    client_secret_file: str = ""
    ca_file: str = ""
    scopes: tuple[str, ...] = field(default=("profile", "email"))
    user_claim: str = "email"
    groups_claim: str = "groups"
    newcomer_queue: str | None = ""
    idle: str = "2h"
    lasting: str = "12h"
    exchange: tuple[ExchangeRule, ...] = ()
    local_users: bool = False
    origins: tuple[str, ...] = ()

    @property
    def has_provider(self) -> bool:
        """Whether browsers sign in at a provider."""
        return bool(self.issuer)

    @property
    def has_pages(self) -> bool:
        """Whether browsers sign in, and command lines by them."""
        return self.has_provider or self.local_users

    @property
    def session_issuer(self) -> str:
        """Where sessions that count began: at the provider, or here."""
        return self.issuer or LOCAL

    @property
    def idle_ms(self) -> int:
        """How long a session lasts without a request."""
        return parse_duration(self.idle)

    @property
    def lasting_ms(self) -> int:
        """How long a session lasts at most."""
        return parse_duration(self.lasting)

    @property
    def origin(self) -> str:
        """The origin of pages of this server, as browsers name it."""
        return self.public_url.rstrip("/").lower()

    @property
    def every_origin(self) -> tuple[str, ...]:
        """The same, and all others that its pages have."""
        return (self.origin, *(each.rstrip("/").lower() for each in self.origins))

    @property
    def authorities(self) -> tuple[str, ...]:
        """The host of each origin, and its port where it is not the usual one."""
        return tuple(each.partition("://")[2] for each in self.every_origin)

    def audience_of(self, rule: ExchangeRule) -> str:
        """What the tokens of a rule have to be made for."""
        return rule.audience or self.public_url.rstrip("/")

    @property
    def session_cookie(self) -> str:
        """Name of the cookie of sessions."""
        return "__Host-ganglion" if self.is_secure else "ganglion"

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach this server by TLS."""
        return self.origin.startswith("https://")


def read_login(
    home: Path, files: Files = SYSTEM_FILES, *, tls: bool = False, owner: str = ""
) -> LoginSettings | None:
    """Read the settings of a home; None = there is no such file, and browsers cannot sign in.

    Args:
        home: Ganglion's home directory, or another folder with the file.
        files: the file system.
        tls: whether the server speaks TLS itself.
        owner: user of the server; empty = not known.

    Raises:
        FileError: the file, or the one that it names, cannot be read.
        FieldError: what the file says is wrong; with all that is.
    """
    path = home / FILE
    try:
        document = yaml.safe_load(files.read(path).decode("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise FileError(f"{path}: {error}", SEE) from error
    wrong = list[FieldError]()
    rules = _rules(document, wrong)
    found = _part(document, LoginSettings, "", wrong)
    if found is not None:
        programs = isinstance(document, dict) and "exchange" in document
        wrong += _troubles(found, programs=programs, tls=tls)
    for key, each in rules.items():
        wrong += troubles(each, _trouble(each.issuer), key, owner)
    if found is None or wrong:
        raise first_of([_within(path, each) for each in wrong])
    if found.client_secret_file:
        secret_of(found, files)
    return msgspec.structs.replace(found, exchange=tuple(rules.values()))


def _rules(document: object, wrong: list[FieldError]) -> dict[str, ExchangeRule]:
    """The rules of exchange by their paths in the file; takes them out of the document.

    They are read one by one, so that what is wrong with each is found.
    """
    if not isinstance(document, dict) or not isinstance(document.get("exchange"), list):
        return {}
    listed = document["exchange"]
    document["exchange"] = []
    if not listed:
        wrong.append(FieldError("it is empty", key="exchange", hint="leave it out"))
    made = {
        key: _part(each, ExchangeRule, key, wrong)
        for key, each in ((f"exchange[{n}]", each) for n, each in enumerate(listed))
    }
    return {key: each for key, each in made.items() if each is not None}


def _part(given: object, kind: type[T], key: str, wrong: list[FieldError]) -> T | None:
    try:
        return msgspec.convert(given, kind)
    except ValueError as error:
        wrong.append(FieldError(str(error), key=key))
        return None


def _troubles(found: LoginSettings, *, programs: bool, tls: bool) -> Iterator[FieldError]:
    """All that is wrong with settings whose keys have the right types, except for rules."""
    for key in ("idle", "lasting"):
        try:
            parse_duration(getattr(found, key))
        except InputError as error:
            yield FieldError(error.message, key=key, hint=error.hint)
    urls = {"public_url": found.public_url}
    if found.local_users and (found.issuer or found.client_id):
        hint = "leave it out, or issuer and client_id"
        yield FieldError("an identity provider is named, too", key="local_users", hint=hint)
    elif found.issuer or found.client_id or not (programs or found.local_users):
        urls |= {"issuer": found.issuer}
        if not found.client_id:
            yield FieldError("it is missing", key="client_id", hint="as the provider names it")
    others = {f"origins[{number}]": url for number, url in enumerate(found.origins)}
    for key, url in (urls | others).items():
        trouble = _trouble(url)
        if trouble:
            yield FieldError(trouble, key=key)
    if _trouble(found.public_url):
        return
    if tls and not found.is_secure:
        yield FieldError("the server speaks TLS", key="public_url", hint="write https://")
    for key, url in ({"public_url": found.public_url} | others).items():
        if not _trouble(url) and urlsplit(url).path.strip("/"):
            yield FieldError("it has a path", key=key, hint="as https://gpu.example.org")
        if found.is_secure and url.lower().startswith("http:"):
            hint = "write https://: browsers send the cookie of public_url nowhere else"
            yield FieldError("public_url has https", key=key, hint=hint)


def _within(path: Path, error: FieldError) -> FieldError:
    hint = error.hint or SEE
    return FieldError(error.problem, key=error.key, file=str(path), hint=hint)


def secret_of(settings: LoginSettings, files: Files) -> str:
    """The secret of this server at the provider; empty = there is none.

    Raises:
        FileError: its file cannot be read, or is empty.
    """
    path = settings.client_secret_file
    if not path:
        return ""
    try:
        lines = files.read(path).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: {error}", "client_secret_file of login.yaml names it") from error
    if not lines or not lines[0].strip():
        raise FileError(f"{path} is empty", "its first line is the secret")
    return lines[0].strip()


def _trouble(url: str) -> str:
    """What is wrong with a URL; empty = nothing."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("https", "http") or not host or parts.username or parts.query:
        return f"{url!r} is no URL of a server, as https://login.example.org"
    if parts.scheme == "http" and not is_own(host, "127.0.0.1"):
        return "https is needed, unless it is on this machine"
    return ""
