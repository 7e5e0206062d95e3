"""Models on the machine of the server: fetched before what waits for them starts."""

import asyncio
import contextlib
import errno
import os
import sys
import threading
from pathlib import Path

import structlog
from msgspec import Struct

from ganglion.api.reasons import ModelKept
from ganglion.api.use import ModelStore
from ganglion.model.errors import GanglionError
from ganglion.model.workload import ResolvedModel, UnixAccount
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import exists
from ganglion.server.models.asking import explained
from ganglion.server.models.cache.download import READABLE, FetchRate, FileDownload
from ganglion.server.models.cache.folder import SPARE, CacheFolder, key_of, part_of
from ganglion.server.models.cache.sources import (
    FileRequest,
    ModelSource,
    RemoteFile,
    is_fetched,
)
from ganglion.server.models.resolver import ModelResolver
from ganglion.server.models.settings import CacheSettings
from ganglion.specs.grammar.quantities import MIB
from ganglion.specs.grammar.rules.models import ModelReference, reference_of

LOOK_S = 0.5
"""How often it is looked what is wanted while something is fetched."""
IDLE_S = 60.0
"""The same of `models.yaml` while nothing is."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 30.0, 1_800.0
"""How long a model that failed is left alone; doubles every time."""
CHECKED = 1 << 26
"""Bytes after which it is looked whether the disk has room for more."""
NICENESS = 10
OWN = "models are kept for programs of the server's account alone: `accounts` in models.yaml"
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

log = structlog.get_logger(__name__)


class _Failure(Struct, frozen=True):
    why: str
    again: float
    pause: float


class _Stopped(Exception):
    """The model is not wanted any more."""


class ModelCache:
    """Fetches models that are wanted, in a thread of its own, and says where they lie.

    Args:
        resolver: knows `models.yaml`, and the registries in it.
        effects: files and the clock.

    Attributes:
        settings: in force; None = nothing is kept.
    """

    def __init__(self, resolver: ModelResolver, effects: Effects = SYSTEM) -> None:
        self._resolver, self._effects = resolver, effects
        self._download, self._rate = (
            FileDownload(resolver.client, effects),
            FetchRate(effects.clock),
        )
        self._folder: CacheFolder | None = None
        self.settings: CacheSettings | None = None
        self._trouble = ""
        self._wanted: dict[str, ResolvedModel] = {}
        self._in_use: frozenset[str] | None = None
        self._done: dict[str, tuple[int, int]] = {}
        self._failed: dict[str, _Failure] = {}
        self._news, self._ending = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="model-cache", daemon=True)

    def start(self) -> None:
        """Begin to fetch, once something is wanted."""
        self._thread.start()

    def close(self) -> None:
        """End the thread; what it fetches is gone on with later."""
        self._ending.set()
        self._news.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)
        elif self._folder:
            self._folder.close()

    def look(self) -> None:
        """Go by `models.yaml` as it is now; of a folder that cannot be used it is said why."""
        try:
            self._open(self._resolver.settings().cache)
            self._trouble = ""
        except (GanglionError, OSError) as error:
            self._trouble = _why(error)

    def _open(self, found: CacheSettings | None) -> None:
        self.settings = found
        if self._folder and (found is None or str(self._folder.path) != found.folder):
            self._folder.close()
            self._folder = None
        if found and self._folder is None:
            made = CacheFolder(Path(found.folder), self._effects)
            if self._in_use is not None:
                made.use(self._in_use)
            self._folder = made

    def want(self, models: list[ResolvedModel]) -> None:
        """Fetch these, the first first, and no others. Safe from any thread."""
        wanted = {key_of(each): each for each in models}
        if list(wanted) != list(self._wanted):
            self._wanted = wanted
            self._failed = {key: each for key, each in self._failed.items() if key in wanted}
            self._news.set()

    def use(self, models: list[ResolvedModel]) -> None:
        """Keep these: attempts have them that are not over. Safe from any thread."""
        self._in_use = frozenset(map(key_of, models))
        if self._folder:
            self._folder.use(self._in_use)

    def path_of(self, model: ResolvedModel, uid: int | None = None) -> str:
        """Where a program that starts finds its model; empty = it has to fetch it itself.

        Args:
            model: its model, which is kept from now on.
            uid: of the account that it runs as; None = that of the server.
        """
        folder, wanted = self._folder, reference_of(model.uri)
        if wanted.scheme == "file":
            return wanted.name
        settings = self.settings
        if folder is None or (uid is not None and not (settings and settings.accounts)):
            return ""
        try:
            return folder.take(key_of(model), uid)
        except OSError as error:
            log.warning("cannot use a model that is kept", model=model.uri, error=str(error))
            return ""

    def holds(self) -> dict[str, int]:
        """Digest -> MiB of each model that is there."""
        folder = self._folder
        kept = list(folder.whole.values()) if folder else []
        return {each.digest: -(-each.size // MIB) for each in kept}

    def store(self) -> ModelStore | None:
        """The folder and what lies there; None = nothing is kept. Safe from any thread."""
        settings, folder = self.settings, self._folder
        if settings is None:
            return ModelStore("", 0, self._trouble) if self._trouble else None
        models = folder.stored() if folder else ()
        return ModelStore(settings.folder, settings.limit_bytes, self._trouble, models)

    def reading(self, model: ResolvedModel, account: UnixAccount | None = None) -> ModelKept | None:
        """What is known of a model; None = nothing is kept. Safe from any thread.

        Args:
            model: of a workload.
            account: that its programs run as; None = that of the server.
        """
        if self.settings is None and not self._trouble:
            return None
        if not is_fetched(model.uri):
            return ModelKept("local")
        if self._folder is None:
            return ModelKept("off", trouble=self._trouble)
        if account and self.settings and not self.settings.accounts:
            return ModelKept("off", trouble=OWN)
        return self._known(self._folder, key_of(model))

    def _known(self, folder: CacheFolder, key: str) -> ModelKept:
        whole, done, failed = folder.whole.get(key), self._done.get(key), self._failed.get(key)
        if whole:
            return ModelKept("cached", whole.size, whole.size)
        if done:
            return ModelKept("fetching", *done)
        if failed and key in self._wanted:
            return ModelKept("failed", trouble=failed.why)
        return ModelKept("queued" if key in self._wanted else "absent")

    def _run(self) -> None:
        # Of this thread alone: whatever decides and answers goes first. Only Linux can do so.
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        try:
            asyncio.run(self._serve())
        finally:
            if self._folder:
                self._folder.close()

    async def _serve(self) -> None:
        tasks: dict[str, asyncio.Task[None]] = {}
        while not self._ending.is_set():
            self.look()
            for key in self._next(set(tasks)):
                tasks[key] = asyncio.create_task(self._tried(key, self._wanted[key]))
            if tasks:
                await asyncio.wait(
                    tasks.values(), timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED
                )
                tasks = {key: each for key, each in tasks.items() if not each.done()}
            else:
                self._news.wait(self._idle_s())
                self._news.clear()
        for each in tasks.values():
            each.cancel()

    def _next(self, begun: set[str]) -> list[str]:
        """What is to be begun now."""
        settings, folder = self.settings, self._folder
        if settings is None or folder is None:
            return []
        wanted, now = self._wanted, self._effects.clock.monotonic()
        due = [
            key
            for key in wanted
            if key not in begun
            and key not in folder.whole
            and (key not in self._failed or self._failed[key].again <= now)
        ]
        return due[: max(0, settings.at_once - len(begun))]

    def _idle_s(self) -> float:
        now = self._effects.clock.monotonic()
        again = (each.again - now for each in self._failed.values())
        return max(0.0, min(IDLE_S, *again, IDLE_S))

    async def _tried(self, key: str, model: ResolvedModel) -> None:
        """Fetch a model; whatever goes wrong is said, and stops nothing else."""
        try:
            await self._fetch(key, model)
            self._failed = {at: each for at, each in self._failed.items() if at != key}
        except _Stopped:
            pass
        except (GanglionError, OSError) as error:
            self._note(key, model, _why(error))
        except Exception as error:  # whatever one registry sends must not end the thread
            log.exception("cannot fetch", model=model.uri)
            self._note(key, model, repr(error))
        finally:
            self._done.pop(key, None)

    def _note(self, key: str, model: ResolvedModel, why: str) -> None:
        before = self._failed.get(key)
        pause = min(2 * before.pause, LONGEST_PAUSE_S) if before else FIRST_PAUSE_S
        failure = _Failure(why, self._effects.clock.monotonic() + pause, pause)
        self._failed = {**self._failed, key: failure}  # another thread may go through the former
        log.warning("a model was not fetched", model=model.uri, reason=why)

    async def _fetch(self, key: str, model: ResolvedModel) -> None:
        folder, settings = self._folder, self.settings
        assert folder
        assert settings
        self._done[key] = (0, 0)
        source, wanted = self._resolver.source(model.uri), reference_of(model.uri)
        files = await self._resolver.in_time(source.contents(wanted, model), wanted)
        size = sum(each.size for each in files)
        others = sum(of - done for at, (done, of) in self._done.items() if at != key)
        before = folder.left(key, files)
        folder.make_room(
            max(0, size - before), settings.limit_bytes, {*self._wanted, *self._done}, others
        )
        self._done[key] = (0, size)
        try:
            place = folder.begin(key, files)
            for each in files:
                await self._one(key, folder, (source, wanted, each), place)
            folder.finish(key, model, files)
        except OSError as error:
            if error.errno in FULL:
                folder.drop_partial(key)  # others need the room more
            raise
        log.info("a model was fetched", model=model.uri, bytes=size)

    async def _one(
        self,
        key: str,
        folder: CacheFolder,
        what: tuple[ModelSource, ModelReference, RemoteFile],
        place: Path,
    ) -> None:
        """Fetch one file of a model, unless it is there already."""
        source, wanted, file = what
        before, size = self._done[key]
        checked = 0

        async def arrived(at: int, new: int) -> None:
            nonlocal checked
            self._done[key] = (before + at, size)
            if self._ending.is_set() or key not in self._wanted or self._folder is not folder:
                raise _Stopped
            checked += new
            if checked >= CHECKED:
                checked = 0
                self._check_disk(folder)
            await self._rate.spend(new, self.settings.rate_bytes if self.settings else 0)

        to = place / "files" / file.path
        await arrived(0, 0)
        if not exists(self._effects.files, to):

            async def ask() -> FileRequest:
                return await self._resolver.in_time(source.request(wanted, file), wanted)

            await self._download.fetch(file, ask, part_of(place, file), to, arrived)
        self._effects.files.chmod(to, READABLE)
        self._done[key] = (before + file.size, size)

    def _check_disk(self, folder: CacheFolder) -> None:
        if self._effects.files.free(folder.path) < SPARE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder.path))


def _why(error: GanglionError | OSError) -> str:
    if isinstance(error, OSError):
        return f"the disk refuses: {error.strerror or error}"
    return explained(error)
