"""Servers that `ganglion login` has signed in to: their tokens, in a file of this user alone."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import msgspec
from msgspec import Struct

from ganglion.client.home import UNIX, home, read_server
from ganglion.client.http import checked_url
from ganglion.model.errors import EnvironmentFault, FileError
from ganglion.seams.files import SYSTEM_FILES, make_folder, replace_whole

FILE = "logins.json"
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Login(Struct, frozen=True):
    """One server.

    Attributes:
        url: where it is, as `canonical` writes it.
        token: personal token; printed nowhere.
        user: whose it is.
        until_ms: when the token expires.
    """

    url: str
    token: str
    user: str = ""
    until_ms: int = 0


class _Document(Struct):
    logins: tuple[Login, ...] = ()


class LoginFile:
    """The file; the last login in it is the default.

    Args:
        path: where it lies; None = in the configuration directory of this user.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or _configuration() / FILE

    def all(self) -> tuple[Login, ...]:
        """Every login, the latest last.

        Raises:
            EnvironmentFault: others could have read or written the file, or it cannot be read.
            FileError: it is not what this class writes.
        """
        try:
            content = self._content()
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise EnvironmentFault(
                f"{self.path}: {error.strerror}", "check the owner and mode of the file"
            ) from error
        try:
            return msgspec.json.decode(content, type=_Document).logins
        except msgspec.DecodeError as error:
            hint = "remove the file, and sign in again: ganglion login"
            raise FileError(f"{self.path}: {error}", hint) from error

    def of(self, url: str) -> Login | None:
        """The login at a server; None = there is none. Raises what `all` raises."""
        wanted = canonical(url)
        return next((each for each in self.all() if each.url == wanted), None)

    def default(self) -> Login | None:
        """The latest login; None = there is none. Raises what `all` raises."""
        return next(reversed(self.all()), None)

    def add(self, login: Login) -> None:
        """Keep a login, in place of the one before at that server.

        Raises:
            EnvironmentFault: the file cannot be written; or what `all` raises.
            FileError: as `all` raises it.
        """
        self._write(login.url, (login,))

    def remove(self, login: Login) -> None:
        """Forget a login. Raises what `add` raises."""
        self._write(login.url, ())

    def _content(self) -> bytes:
        # What was opened is looked at: the name may lead elsewhere a moment later.
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise EnvironmentFault(
                    f"{self.path} is no file", "remove it, or set XDG_CONFIG_HOME"
                )
            if found.st_uid != os.geteuid():
                raise EnvironmentFault(
                    f"{self.path} belongs to another user; it was not read",
                    "remove it, or set XDG_CONFIG_HOME to a folder of your own",
                )
            if found.st_mode & OTHERS:
                raise EnvironmentFault(
                    f"other users may open {self.path}, which has tokens; it was not read",
                    f"chmod 600 {self.path}; if others could read it, sign out and in again",
                )
            return file.read()

    def _write(self, url: str, instead: tuple[Login, ...]) -> None:
        try:
            with self._alone():
                kept = tuple(each for each in self.all() if each.url != url)
                content = msgspec.json.encode(_Document(kept + instead))
                replace_whole(SYSTEM_FILES, self.path, content + b"\n", os.getpid())
        except OSError as error:
            raise EnvironmentFault(
                f"{self.path}: {error.strerror}", "set XDG_CONFIG_HOME to a folder of your own"
            ) from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other commands from writing meanwhile."""
        make_folder(SYSTEM_FILES, self.path.parent)
        lock = SYSTEM_FILES.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
        try:
            SYSTEM_FILES.lock(lock, fcntl.LOCK_EX)
            yield
        finally:
            SYSTEM_FILES.close(lock)


def chosen_login() -> Login | None:
    """The login that commands use now; None = they use a token given to them, or the home.

    `$GANGLION_TOKEN` wins; then the login at `$GANGLION_URL` counts; without a URL, the server of
    this machine, and where none runs, the latest login.

    Raises:
        EnvironmentFault: the file of logins, or the home, cannot be read or trusted.
        FileError: one of them is not what it should be.
    """
    url = os.environ.get("GANGLION_URL")
    if os.environ.get("GANGLION_TOKEN") or (url and url.startswith(UNIX)):
        return None
    if url:
        return LoginFile().of(url)
    return None if read_server(home()) else LoginFile().default()


def canonical(url: str) -> str:
    """The URL of a server in its one form, so that different spellings are the same login.

    Raises:
        InputError: it is none.
    """
    scheme, _, rest = checked_url(url).partition("://")
    return str(httpx2.URL(f"{scheme.lower()}://{rest}")).rstrip("/")


def _configuration() -> Path:
    """The directory of this user's settings, by the XDG Base Directory Specification."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".config"
    return base / "ganglion"
