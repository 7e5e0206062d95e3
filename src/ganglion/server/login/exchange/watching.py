"""Looks whether the API servers that rules of exchange name prove tokens, before one is sent."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import structlog

from ganglion.model.errors import EnvironmentFault
from ganglion.server.login.exchange.accounts import ReviewedAccounts
from ganglion.server.login.settings import FILE, LoginSettings

PAUSE_S = 60.0
"""Time between two looks."""
END_S = 1.0
"""How long a look may go on once the server ends."""

log = structlog.get_logger(__name__)


class ReviewWatch:
    """What is wrong with `review` of each rule: at the start, then every minute.

    Args:
        home: the folder with the file.
        settings: of this server; None = there is none, and nothing is wrong.
    """

    def __init__(self, home: Path, settings: LoginSettings | None) -> None:
        self._asked = {
            f"{home / FILE}: exchange[{number}].review": ReviewedAccounts(
                rule.review, settings.audience_of(rule)
            )
            for number, rule in enumerate(settings.exchange if settings else ())
            if settings and rule.review
        }
        self._trouble = "; ".join(self._wrong(ReviewedAccounts.check_file))
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reviews", daemon=True)

    def start(self) -> None:
        """Begin, where there is something to look at."""
        if self._asked:
            self._thread.start()

    def close(self) -> None:
        """End."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(timeout=END_S)

    def trouble(self) -> str:
        """Which keys of the file are wrong, and how; empty = none is."""
        return self._trouble

    def _run(self) -> None:
        said = ""
        while not self._ending.is_set():
            found = "; ".join(self._wrong(lambda each: asyncio.run(each.check())))
            if found and found != said:
                log.warning(
                    "service accounts cannot sign in", code=EnvironmentFault.code, reason=found
                )
            elif said and not found:
                log.info("service accounts can sign in again")
            self._trouble = said = found
            self._ending.wait(PAUSE_S)

    def _wrong(self, look: Callable[[ReviewedAccounts], None]) -> Iterator[str]:
        for key, each in self._asked.items():
            try:
                look(each)
            except EnvironmentFault as error:
                yield f"{key}: {error.message}"
