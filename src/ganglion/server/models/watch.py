"""What references that may move mean now: asked again and again, in a thread of its own."""

import asyncio
import threading

import structlog
from msgspec import Struct
from msgspec.structs import replace

from ganglion.model.errors import GanglionError
from ganglion.model.workload import ResolvedModel
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.server.models.asking import explained
from ganglion.server.models.resolver import ModelResolver

MOST_AT_ONCE = 8
"""References that are asked for at a time."""
USUAL_MS = 60_000
"""Pause while `models.yaml` is wrong."""

log = structlog.get_logger(__name__)


class ModelReading(Struct, frozen=True):
    """What was found out last about a reference.

    Attributes:
        asked: when the registry was asked, by the monotonic clock, in s.
        at: the same by the wall clock, in ms.
        model: what it meant; None = it has never been found out.
        trouble: why it was not found out this time; empty = it was.
    """

    asked: float
    at: int
    model: ResolvedModel | None = None
    trouble: str = ""


class ModelWatch:
    """Asks about references as long as they are wanted; no registry can block it for long.

    Args:
        resolver: asks, each reference within its deadline.
        clock: says when something was found.
    """

    def __init__(self, resolver: ModelResolver, clock: Clock = SYSTEM_CLOCK) -> None:
        self._resolver, self._clock = resolver, clock
        self._wanted: frozenset[str] = frozenset()
        self._found: dict[str, ModelReading] = {}
        self._lock, self._news = threading.Lock(), threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="models", daemon=True)

    def start(self) -> None:
        """Begin to ask, once there is a reference."""
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ending.set()
        self._news.set()
        self._thread.join(timeout=1.0)

    def want(self, references: frozenset[str]) -> None:
        """Ask about these from now on, and about no others."""
        if references == self._wanted:
            return
        with self._lock:
            self._wanted = references
            self._found = {key: each for key, each in self._found.items() if key in references}
        self._news.set()

    def found(self, reference: str) -> ModelReading | None:
        """What was found out last; None = nothing yet. Safe from any thread."""
        return self._found.get(reference)

    def latest(self, reference: str) -> ResolvedModel | None:
        """What a reference meant when that was found out last; None = it never was."""
        found = self._found.get(reference)
        return found.model if found else None

    async def resolve(self, reference: str) -> ResolvedModel:
        """As `ModelResolver.resolve`; the answer is remembered where the reference is watched."""
        asked, at = self._clock.monotonic(), self._clock.now_ms()
        found = await self._resolver.resolve(reference)
        self._note(reference, ModelReading(asked, at, found))
        return found

    def _note(self, reference: str, reading: ModelReading) -> None:
        """Remember an answer, unless a later question was answered before."""
        with self._lock:
            known = self._found.get(reference)
            if reference not in self._wanted or (known and known.asked > reading.asked):
                return
            if reading.model is None and known:
                reading = replace(reading, model=known.model)
            self._found[reference] = reading

    def _run(self) -> None:
        while not self._ending.is_set():
            wanted = self._wanted
            if wanted:
                asyncio.run(self._ask_all(sorted(wanted)))
            self._news.wait(self._pause_s() if self._wanted else None)
            self._news.clear()

    def _pause_s(self) -> float:
        try:
            return self._resolver.settings().every_ms / 1000
        except GanglionError:  # shown with every reference
            return USUAL_MS / 1000

    async def _ask_all(self, references: list[str]) -> None:
        turn = asyncio.Semaphore(MOST_AT_ONCE)

        async def one(reference: str) -> None:
            async with turn:
                await self._ask(reference)

        await asyncio.gather(*map(one, references))

    async def _ask(self, reference: str) -> None:
        asked, at = self._clock.monotonic(), self._clock.now_ms()
        try:
            await self.resolve(reference)
        except GanglionError as error:
            self._note(reference, ModelReading(asked, at, trouble=explained(error)))
        except Exception as error:  # whatever one registry does must not end the thread
            log.exception("cannot ask", model=reference)
            self._note(reference, ModelReading(asked, at, trouble=repr(error)))
