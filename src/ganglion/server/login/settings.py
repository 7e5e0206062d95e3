"""How browsers sign in: `login.yaml` in the home, read when the server starts."""

from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import yaml
from msgspec import Struct, field

from ganglion.model.errors import FileError, InputError
from ganglion.seams.files import SYSTEM_FILES, Files
from ganglion.specs.grammar.times.durations import parse_duration
from ganglion.transport.hosts import is_own

FILE = "login.yaml"
SEE = "see docs/access.md"
LEEWAY_S = 60
"""How far the clocks of provider and server may differ."""


class LoginSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The file.

    Attributes:
        issuer: URL of the provider, exactly as its tokens name it.
        client_id: name of this server at the provider.
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
    """

    issuer: str
    client_id: str
    public_url: str
    client_secret_file: str = ""
    ca_file: str = ""
    scopes: tuple[str, ...] = field(default=("profile", "email"))
    user_claim: str = "email"
    groups_claim: str = "groups"
    newcomer_queue: str | None = ""
    idle: str = "2h"
    lasting: str = "12h"

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
    def authority(self) -> str:
        """The host of that origin, and its port where it is not the usual one."""
        return self.origin.partition("://")[2]

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach this server by TLS."""
        return self.origin.startswith("https://")


def read_login(
    home: Path, files: Files = SYSTEM_FILES, *, tls: bool = False
) -> LoginSettings | None:
    """Read the settings of a home; None = there is no such file, and browsers cannot sign in.

    Args:
        home: Ganglion's home directory.
        files: the file system.
        tls: whether the server speaks TLS itself.

    Raises:
        FileError: the file, or the one that it names, is not what it should be.
    """
    path = home / FILE
    try:
        found = msgspec.convert(yaml.safe_load(files.read(path).decode("utf-8")), LoginSettings)
        for text in (found.idle, found.lasting):
            parse_duration(text)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError, InputError) as error:
        raise FileError(f"{path}: {error}", SEE) from error
    for what, url in (("issuer", found.issuer), ("public_url", found.public_url)):
        trouble = _trouble(url)
        if trouble:
            raise FileError(f"{path}: {what}: {trouble}", SEE)
    if tls and not found.is_secure:
        raise FileError(f"{path}: public_url: the server speaks TLS", "write https://")
    if urlsplit(found.public_url).path.strip("/"):
        raise FileError(f"{path}: public_url: it has a path", "as https://gpu.example.org")
    if found.client_secret_file:
        secret_of(found, files)
    return found


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
