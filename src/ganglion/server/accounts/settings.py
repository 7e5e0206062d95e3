"""Whose programs run as which Unix account: `accounts.yaml` in the home, read at the start."""

import os
import pwd
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import yaml
from msgspec import Struct, field

from ganglion.model.errors import FieldError, FileError
from ganglion.model.workload import UnixAccount
from ganglion.seams.files import SYSTEM_FILES, Files
from ganglion.server.rest.listening.home import ACCOUNTS
from ganglion.specs.wording import first_of
from ganglion.transport import unix
from ganglion.worlds.local.attempts.helping import SOCKET

SEE = "see docs/access.md#a-shared-host"


class AccountsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The file.

    Attributes:
        helper: socket of the root helper.
        socket: where other accounts of this machine call; empty = they need personal tokens.
        users: user -> name of the Unix account that the user's programs run as.
    """

    helper: str = SOCKET
    socket: str = ""
    users: dict[str, str] = field(default_factory=dict)


class SharedHost(Struct, frozen=True):
    """What a server needs to run programs as the accounts of their users.

    Attributes:
        helper: socket of the root helper.
        socket: where other accounts of this machine call; None = nowhere.
        accounts: user -> account; each account is that of one user.
    """

    helper: Path
    socket: Path | None
    accounts: Mapping[str, UnixAccount]

    def of(self, user: str) -> UnixAccount | None:
        """The account that a user's programs run as; None = the user has none."""
        return self.accounts.get(user)

    def user_of(self, uid: int) -> str:
        """The user whose account has a number; empty = it is that of no user."""
        return next((user for user, each in self.accounts.items() if each.uid == uid), "")


def read_accounts(home: Path, files: Files = SYSTEM_FILES, *, owner: str) -> SharedHost | None:
    """Read the file of a home; None = there is none: all programs run as the server's account.

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
        return None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise FileError(f"{path}: {error}", SEE) from error
    except msgspec.ValidationError as error:
        raise FieldError(str(error), file=str(path), hint=SEE) from None
    accounts = dict[str, UnixAccount]()
    wrong = [*_paths(found), *_accounts(found.users, owner, accounts)]
    if wrong:
        raise first_of(
            [
                FieldError(each.problem, key=each.key, file=str(path), hint=each.hint or SEE)
                for each in wrong
            ]
        )
    return SharedHost(Path(found.helper), Path(found.socket) if found.socket else None, accounts)


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
