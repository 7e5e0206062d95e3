"""Whose programs run as which Unix account: `accounts.yaml` in the home.

It is read anew when it has changed; while it is wrong, what it said before counts.
"""

import os
import pwd
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import structlog
import yaml
from msgspec import Struct, field

from ganglion.model.errors import FieldError, FileError, InputError
from ganglion.model.workload import UnixAccount
from ganglion.seams.files import SYSTEM_FILES, Files
from ganglion.server.rest.listening.home import ACCOUNTS
from ganglion.specs.wording import first_of
from ganglion.transport import unix
from ganglion.worlds.local.attempts.helping import SOCKET

SEE = "see docs/access.md#a-shared-host"

log = structlog.get_logger(__name__)


class AccountsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The file.

    Attributes:
        helper: socket of the root helper.
        socket: where other accounts of this machine call; empty = they need personal tokens.
        users: user -> name of the Unix account that the user's programs run as.
        groups: group -> users that are in it.
    """

    helper: str = SOCKET
    socket: str = ""
    users: dict[str, str] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)


class AccountMap(Struct, frozen=True):
    """What the file says, checked.

    Attributes:
        helper: socket of the root helper.
        socket: where other accounts of this machine call; None = nowhere.
        accounts: user -> account; each account is that of one user.
        groups: user -> groups that it is in.
    """

    helper: Path = Path(SOCKET)
    socket: Path | None = None
    accounts: Mapping[str, UnixAccount] = {}
    groups: Mapping[str, tuple[str, ...]] = {}

    def of(self, user: str) -> UnixAccount | None:
        """The account that a user's programs run as; None = the user has none."""
        return self.accounts.get(user)

    def user_of(self, uid: int) -> str:
        """The user whose account has a number; empty = it is that of no user."""
        return next((user for user, each in self.accounts.items() if each.uid == uid), "")


class SharedHost:
    """What a server needs to run programs as the accounts of their users.

    Safe from any thread.

    Args:
        home: Ganglion's home directory.
        files: the file system.
        owner: user of the server.

    Attributes:
        helper, socket: as of `AccountMap`, when the server started.

    Raises:
        FileError: the file cannot be read at the start.
        FieldError: what it says then is wrong; with all that is.
    """

    def __init__(self, home: Path, files: Files = SYSTEM_FILES, *, owner: str) -> None:
        self._home, self._files, self._owner = home, files, owner
        self._lock, self._trouble = threading.Lock(), ""
        self._mark = self._marked()
        self._known = read_accounts(home, files, owner=owner)
        self.helper, self.socket = self._known.helper, self._known.socket

    @property
    def accounts(self) -> Mapping[str, UnixAccount]:
        """User -> account, as the file says by now."""
        return self._now().accounts

    def of(self, user: str) -> UnixAccount | None:
        """The account that a user's programs run as; None = the user has none."""
        return self._now().of(user)

    def user_of(self, uid: int) -> str:
        """The user whose account has a number; empty = it is that of no user."""
        return self._now().user_of(uid)

    def groups_of(self, user: str) -> tuple[str, ...]:
        """The groups that a user is in."""
        return self._now().groups.get(user, ())

    def trouble(self) -> str:
        """Why the file does not count as it is; empty = it does."""
        self._now()
        return self._trouble

    def _now(self) -> AccountMap:
        mark = self._marked()
        with self._lock:
            if mark is None or mark != self._mark:
                self._read()
                self._mark = mark
            return self._known

    def _read(self) -> None:
        try:
            self._known = read_accounts(self._home, self._files, owner=self._owner)
        except InputError as error:
            found, code = f"{error.message}; what it said before counts", error.code
        else:
            found, code = self._later(), FieldError.code
            log.info("accounts read anew", users=len(self._known.accounts))
        if found and found != self._trouble:
            log.warning("accounts.yaml does not count as it is", code=code, reason=found)
        self._trouble = found

    def _later(self) -> str:
        """Which keys count only once the server starts again; empty = none."""
        new, path = self._known, self._home / ACCOUNTS
        changed = {"helper": new.helper != self.helper, "socket": new.socket != self.socket}
        keys = [key for key, is_new in changed.items() if is_new]
        return f"{path}: {' and '.join(keys)} count from the next start on" if keys else ""

    def _marked(self) -> tuple[int, int, int] | None:
        """What distinguishes one state of the file from another; None = it cannot be read."""
        try:
            found = self._files.stat(self._home / ACCOUNTS)
        except FileNotFoundError:
            return (0, 0, 0)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns


def read_accounts(home: Path, files: Files = SYSTEM_FILES, *, owner: str) -> AccountMap:
    """Read the file of a home; without it, no user has an account.

    Args:
        home: Ganglion's home directory.
        files: the file system.
        owner: user of the server.

    Raises:
        FileError: the file cannot be read.
        FieldError: what it says is wrong; with all that is.
    """
    path = home / ACCOUNTS
    try:
        document = yaml.safe_load(files.read(path).decode("utf-8"))
        found = msgspec.convert(document, AccountsFile)
    except FileNotFoundError:
        return AccountMap()
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise FileError(f"{path}: {error}", SEE) from error
    except msgspec.ValidationError as error:
        raise FieldError(str(error), file=str(path), hint=SEE) from None
    accounts = dict[str, UnixAccount]()
    groups = dict[str, tuple[str, ...]]()
    wrong = [
        *_paths(found),
        *_accounts(found.users, owner, accounts),
        *_groups(found.groups, found.users, groups),
    ]
    if wrong:
        raise first_of(
            [
                FieldError(each.problem, key=each.key, file=str(path), hint=each.hint or SEE)
                for each in wrong
            ]
        )
    socket = Path(found.socket) if found.socket else None
    return AccountMap(Path(found.helper), socket, accounts, groups)


def _paths(found: AccountsFile) -> Iterator[FieldError]:
    """What is wrong with the sockets."""
    for key in ("helper", "socket"):
        value = getattr(found, key)
        if value and not value.startswith("/"):
            yield FieldError(f"{value} is not an absolute path", key=key)
        if len(os.fsencode(value)) > unix.LONGEST:
            yield FieldError(f"it has more than {unix.LONGEST} bytes", key=key)
    if not found.helper:
        yield FieldError("it is empty", key="helper", hint=f"leave it out for {SOCKET}")


def _accounts(
    users: Mapping[str, str], owner: str, accounts: dict[str, UnixAccount]
) -> Iterator[FieldError]:
    """Fill in the account of each user; what is wrong with them."""
    own, taken = os.geteuid(), dict[int, str]()
    for user, name in users.items():
        key = f"users.{user}"
        try:
            uid = pwd.getpwnam(name).pw_uid
        except (KeyError, ValueError):
            yield FieldError(f"this machine has no account {name!r}", key=key)
            continue
        if not user or user == owner:
            hint = "leave it out: programs of the owner run as the server's account"
            yield FieldError("no user but the owner has this name", key=key, hint=hint)
        elif uid in (0, own):
            yield FieldError(f"account {name} is that of root or of the server", key=key)
        elif uid in taken:
            yield FieldError(f"account {name} is that of user {taken[uid]} already", key=key)
        else:
            taken[uid] = user
            accounts[user] = UnixAccount(name, uid)


def _groups(
    members: Mapping[str, Sequence[str]],
    users: Mapping[str, str],
    groups: dict[str, tuple[str, ...]],
) -> Iterator[FieldError]:
    """Fill in the groups of each user; what is wrong with them."""
    for group, names in members.items():
        key = f"groups.{group}"
        if not group or not all(each.isalnum() or each in "._@+-" for each in group):
            hint = "letters, digits, and . _ @ + - without spaces"
            yield FieldError(f"{group!r} is no name", key=key, hint=hint)
        for user in names:
            if user not in users:
                hint = f"add a line `{user}: ACCOUNT` below `users`"
                yield FieldError(f"there is no user {user!r} above", key=key, hint=hint)
            elif group not in groups.get(user, ()):
                groups[user] = (*groups.get(user, ()), group)
