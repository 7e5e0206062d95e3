"""Prices and budgets of a cluster, as its server said last; kept beside the outbox."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import structlog

from ganglion.lifecycle.budgets import OLD_MS, MoneyWord
from ganglion.model.events.policy import ClusterMoney
from ganglion.seams.clock import Clock
from ganglion.seams.files import Files, replace_whole

FILE = "money.json"
ASK_S = 60.0
"""How often the server is asked, once it has all records."""

Ask = Callable[[str], ClusterMoney | None]
"""Asks a server, by the id of the scheduler. Raises GanglionError where it does not answer."""

log = structlog.get_logger(__name__)


class HeardMoney:
    """What the server said last, also before a restart: without it, budgets go on from there.

    Args:
        folder: where it is kept.
        ask: asks the server.
        files: the file system.
        clock: says when to ask, and how old it is.

    Attributes:
        latest: as above, and when it was said; None = nothing was ever said.
    """

    def __init__(self, folder: Path, ask: Ask, files: Files, clock: Clock) -> None:
        self._file, self._ask, self._files, self._clock = folder / FILE, ask, files, clock
        self._due = 0.0
        kept = self._kept()
        self.latest = MoneyWord(kept) if kept else None

    def look(self, scheduler: str) -> None:
        """Ask the server, where that is due.

        Raises:
            GanglionError: it does not answer.
        """
        now = self._clock.monotonic()
        if now < self._due:
            return
        found = self._ask(scheduler)
        self._due = now + ASK_S
        if found is None:
            return
        self.latest = MoneyWord(found, self._clock.now_ms())
        try:
            replace_whole(self._files, self._file, msgspec.json.encode(found), scheduler)
        except OSError as error:
            log.warning("budgets are not kept for a restart", error=str(error))

    @property
    def trouble(self) -> str:
        """That budgets are kept by old numbers; empty = there are none, or they are not old."""
        if not self.latest or not self.latest.said.budgets:
            return ""
        heard = self.latest.at or self.latest.said.at
        if self._clock.now_ms() - heard < OLD_MS:
            return ""
        at = datetime.fromtimestamp(heard / 1000, UTC)
        when = f"{at:%Y-%m-%d %H:%M} UTC"
        return f"budgets go by what the server said at {when}: nothing is suspended by them"

    def _kept(self) -> ClusterMoney | None:
        try:
            return msgspec.json.decode(self._files.read(self._file), type=ClusterMoney)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, ValueError) as error:
            log.warning("budgets of before the start cannot be read", error=str(error))
            return None
