"""How this home notifies people: `notify.yaml` in it, read whenever something is to be sent."""

from pathlib import Path
from typing import Literal

import msgspec
import yaml
from msgspec import Struct

from ganglion.model.behaviour import Notify
from ganglion.model.errors import FieldError, FileError
from ganglion.seams.files import SYSTEM_FILES, Files
from ganglion.specs.grammar.times.durations import parse_patience

FILE = "notify.yaml"


class Smtp(Struct, frozen=True, forbid_unknown_fields=True):
    """The mail server.

    Attributes:
        host, port: where it is.
        security: `starttls`, `tls` from the first byte, or `none`.
        user: name to sign in with; empty = do not.
        password_file: file whose first line is the password.
    """

    host: str
    port: int = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str = ""
    password_file: str = ""


class NotifySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The file.

    Attributes:
        sender: address that mail comes from; empty = the server's user at this host.
        smtp: the mail server; None = `sendmail` of this machine.
        sendmail: that program.
        commands: whether commands of workloads are run, as the server's user.
        on, mail, command, webhook, signing_key, waiting: for workloads that do not say `notify`,
            for broken glass and for budgets of queues.
    """

    sender: str = ""
    smtp: Smtp | None = None
    sendmail: str = "/usr/sbin/sendmail"
    commands: bool = False
    on: tuple[str, ...] = ("end", "break-glass", "budget")
    mail: tuple[str, ...] = ()
    command: str = ""
    webhook: tuple[str, ...] = ()
    signing_key: str = ""
    waiting: str = "1h"

    @property
    def usual(self) -> Notify | None:
        """What is sent for workloads that do not say; None = nothing."""
        wanted = Notify(
            *(self.on, self.mail, self.command, self.webhook, self.signing_key),
            parse_patience(self.waiting),
        )
        return wanted if self.mail or self.command or self.webhook else None


class WatchedSettings:
    """The settings of a home, read anew when the file has changed.

    Args:
        home: Ganglion's home directory.
        files: the file system.
    """

    def __init__(self, home: Path, files: Files = SYSTEM_FILES) -> None:
        self._home, self._files = home, files
        self._mark: tuple[int, int, int] | None = None
        self._known: NotifySettings | FileError = NotifySettings()

    def read(self) -> NotifySettings:
        """Return what is in force. Raises FileError while the file is not what it should be."""
        mark = self._marked()
        if mark is None or mark != self._mark:
            try:
                self._known = read_settings(self._home, self._files)
            except FileError as error:
                self._known = error
            self._mark = mark
        if isinstance(self._known, FileError):
            raise self._known
        return self._known

    def _marked(self) -> tuple[int, int, int] | None:
        """What distinguishes one state of the file from another; None = it cannot be read."""
        try:
            found = self._files.stat(self._home / FILE)
        except FileNotFoundError:
            return (0, 0, 0)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns


def read_settings(home: Path, files: Files = SYSTEM_FILES) -> NotifySettings:
    """Read the settings of a home; without the file, the usual ones.

    Raises:
        FileError: the file is not what it should be.
    """
    path = home / FILE
    try:
        written = yaml.safe_load(files.read(path).decode("utf-8")) or {}
        if isinstance(written, dict) and True in written:
            written["on"] = written.pop(True)  # what YAML 1.1 takes that key for
        found = msgspec.convert(written, NotifySettings)
        parse_patience(found.waiting)
        return found
    except FileNotFoundError:
        return NotifySettings()
    except FieldError as error:
        raise FileError(f"{path}: waiting: {error.problem}", error.hint) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise FileError(f"{path}: {error}", "see docs/daily.md") from error
