"""What users chose to be notified of, in one file of the home; the ledger has no addresses."""

import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
import structlog

from ganglion.model.behaviour import Notify
from ganglion.model.errors import EnvironmentFault, FileError
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import replace_whole

FILE = "notify-users.json"

log = structlog.get_logger(__name__)


class NoticeChoices:
    """Choices by user, for workloads that do not say `notify`. Safe from any thread.

    Args:
        home: Ganglion's home directory.
        effects: files, and the process that writes them.
    """

    def __init__(self, home: Path, effects: Effects = SYSTEM) -> None:
        self._path, self._files = home / FILE, effects.files
        self._pid, self._lock = effects.processes.own(), threading.Lock()
        self._trouble = ""
        self._by_user = self._read()

    def any(self) -> bool:
        """Whether any user chose something."""
        return bool(self._by_user)

    def of(self, user: str) -> tuple[Notify, ...]:
        """What a user chose; empty = nothing, so that `notify.yaml` counts."""
        return self._by_user.get(user, ())

    def set(self, user: str, chosen: Sequence[Notify]) -> None:
        """Keep what a user chose, in place of what was chosen before.

        Raises:
            FileError: what is kept cannot be read, and would be lost.
            EnvironmentFault: the disk refuses.
        """
        with self._lock:
            if self._trouble:
                raise FileError(self._trouble, f"mend or remove {self._path}, and start again")
            by_user = {name: each for name, each in self._by_user.items() if name != user}
            if chosen:
                by_user[user] = tuple(chosen)
            if by_user == self._by_user:
                return
            try:
                replace_whole(self._files, self._path, msgspec.json.encode(by_user), self._pid)
            except OSError as error:
                raise EnvironmentFault(f"the choice is not kept: {error}") from error
            self._by_user = by_user

    def _read(self) -> dict[str, tuple[Notify, ...]]:
        try:
            content = self._files.read(self._path)
            return msgspec.json.decode(content, type=dict[str, tuple[Notify, ...]])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            self._trouble = f"{self._path} cannot be read: {error}"
            log.warning("choices of users are not known", error=self._trouble)
            return {}
