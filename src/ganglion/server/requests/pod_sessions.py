"""Sessions in pods, as the ledger records them: who entered which pod, how, and until when.

A session begins once its beginning is written: one that cannot be recorded is refused. The event
costs no decision of the engine. An end that the disk refuses is tried again; what is left open by
a server that was killed is ended by the next one.
"""

import asyncio
import os
import pwd
from collections.abc import Sequence

import anyio
import structlog
from msgspec.structs import replace

from ganglion.model.credentials import redacted_command, redacted_text
from ganglion.model.errors import Conflict, EnvironmentFault
from ganglion.model.events.access import PodAccess, SessionStage, Verb
from ganglion.seams.randomness import unique_id
from ganglion.server.requests.context import ServerContext
from ganglion.server.requests.terminals import Ending, SessionPod
from ganglion.server.state.transaction import Transaction
from ganglion.worlds.local.run_files.secret_store import ATTEMPTS, attempt_key
from ganglion.worlds.local.run_files.withheld import scrubbed

MOST_SHOWN = 16_384
"""Characters of a command line that are recorded."""
MOST_READ = 4 * MOST_SHOWN
"""Characters of a word that are looked through for credentials; the rest is not recorded."""
MOST_REASON = 500
"""Characters of a reason that are recorded."""
LONGEST_PAUSE_S = 8.0
"""Most time between two tries to record an end."""
KILLED = "the server ended before it"

log = structlog.get_logger(__name__)


class PodSession:
    """One session, from the record of its beginning to that of its end.

    Args:
        here: the server.
        seat: the pod.
        verb: how it is entered.
        uid: user at the other end of the Unix socket; None = the caller had the token.
        command: argument vector, of `exec` and `cp`.
        path: in the pod, of `cp`.
        port: of `port-forward`.
    """

    def __init__(
        self,
        here: ServerContext,
        seat: SessionPod,
        verb: Verb,
        uid: int | None,
        *,
        command: Sequence[str] = (),
        path: str = "",
        port: int = 0,
    ) -> None:
        self._here, self._seat = here, seat
        self._command, self._path = command, path
        user = here.user if uid in (None, os.geteuid()) else _name_of(uid)
        self._event = PodAccess(
            0,
            *seat,
            verb=verb,
            stage=SessionStage.BEGUN,
            session=unique_id(here.effects.randomness)[:16],
            user=user,
            uid=uid,
            port=port,
        )
        self._began = self._here.effects.clock.monotonic()

    async def begin(self) -> None:
        """Record the beginning.

        Raises:
            EnvironmentFault: it cannot be written, so that there must be no session.
        """
        await anyio.to_thread.run_sync(self._describe)
        given_up = False

        def record(draft: Transaction) -> None:
            if given_up:
                raise Conflict("the caller was refused meanwhile")
            draft.record(replace(self._event, at=draft.now))

        try:
            await self._here.service.answer(record)
        except BaseException:
            given_up = True
            # The answer of the database may be lost, and the beginning written.
            self._close(SessionStage.REFUSED, Ending(reason="its beginning could not be recorded"))
            raise
        self._began = self._here.effects.clock.monotonic()

    async def refuse(self, reason: str) -> None:
        """Record that the caller was refused, where nothing was begun."""
        await anyio.to_thread.run_sync(self._describe)
        told = redacted_text(reason)[:MOST_REASON]
        refused = replace(self._event, stage=SessionStage.REFUSED, reason=told)

        def record(draft: Transaction) -> None:
            draft.record(replace(refused, at=draft.now))

        try:
            await self._here.service.answer(record)
        except EnvironmentFault as error:
            log.warning("a refusal is not recorded", error=error.message, **_named(refused))

    def end(self, ending: Ending, *, refused: bool = False) -> None:
        """Have the end recorded, soon; no caller waits for it.

        Args:
            ending: how it ended.
            refused: whether nothing was carried.
        """
        if self._here.feed.closing and ending.exit_code is None:
            ending = ending._replace(reason="the server ended")
        self._close(SessionStage.REFUSED if refused else SessionStage.ENDED, ending)

    def _close(self, stage: SessionStage, ending: Ending) -> None:
        event = replace(
            _over(self._event),
            stage=stage,
            exit_code=ending.exit_code,
            reason=redacted_text(ending.reason)[:MOST_REASON],
            duration_ms=round((self._here.effects.clock.monotonic() - self._began) * 1000),
        )
        task = asyncio.create_task(self._recorded(event))
        self._here.ending.add(task)
        task.add_done_callback(self._here.ending.discard)

    async def _recorded(self, event: PodAccess) -> None:
        """Record an end, again and again until it is written."""

        def record(draft: Transaction) -> None:
            if event.session in draft.book.sessions:
                draft.record(replace(event, at=draft.now))

        pause = 1.0
        while True:
            try:
                await self._here.service.answer(record)
            except EnvironmentFault as error:
                log.warning("the end is not recorded yet", error=error.message, **_named(event))
            else:
                return
            if self._here.feed.closing:
                return
            await self._here.effects.clock.pause(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _describe(self) -> None:
        """Note what is run or copied, without credentials and secrets of the attempt."""
        key = attempt_key(self._seat.gang, self._seat.attempt)
        given = self._here.service.secrets.given(ATTEMPTS, key) if self._seat.attempt else {}
        secrets = [value for value in given.values() if isinstance(value, str)]
        command, left = list[str](), MOST_SHOWN
        words = [_text(scrubbed(word[:MOST_READ], secrets)) for word in self._command]
        for word in redacted_command(words):
            command.append(word[:left])
            left -= len(command[-1])
            if not left:
                command.append(f"... of {sum(map(len, self._command)):,} characters")
                break
        path = redacted_text(_text(scrubbed(self._path[:MOST_READ], secrets)))[:MOST_SHOWN]
        self._event = replace(self._event, command=tuple(command), path=path)


def close_all(draft: Transaction) -> None:
    """End the sessions of a server that was killed; call before any other may begin."""
    for session in list(draft.book.sessions.values()):
        draft.record(replace(_over(session), at=draft.now, stage=SessionStage.ENDED, reason=KILLED))


async def all_ended(here: ServerContext, seconds: float) -> None:
    """Wait until the ends of all sessions are recorded, at most the given time."""
    if here.ending:
        await asyncio.wait(here.ending, timeout=seconds)


def _over(begun: PodAccess) -> PodAccess:
    """The event of the end, without what the event of the beginning holds."""
    return replace(begun, command=(), path="", request="", actor="", grant="", glass="")


def _named(event: PodAccess) -> dict[str, object]:
    return {"gang": event.gang, "verb": event.verb.value, "session": event.session}


def _name_of(uid: int | None) -> str:
    try:
        return pwd.getpwuid(uid or 0).pw_name
    except KeyError:
        return f"uid-{uid}"


def _text(word: str) -> str:
    """A word that UTF-8 has a form for."""
    return word.encode("utf-8", "replace").decode()
