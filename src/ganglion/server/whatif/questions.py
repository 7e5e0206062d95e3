"""The questions of a home: one after the other is answered, and answers stay in files."""

import contextlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import msgspec
import structlog
from msgspec.structs import replace

from ganglion.api.whatif.report import WhatIf
from ganglion.model.errors import Conflict, NotFound
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import make_folder, remove, replace_whole
from ganglion.server.whatif.answering import WhatIfAnswer, WhatIfTask
from ganglion.whatif.changes import WhatIfChange

FOLDER = "whatif"
KEPT = 100
"""Most questions that are kept; the oldest go first."""
MOST_WAITING = 8
LONGEST_S = 3_600.0
NICE = ("nice", "-n", "15")
WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
ENDED = "the server ended meanwhile; ask again"

log = structlog.get_logger(__name__)


class WhatIfQuestions:
    """Safe from any thread.

    Args:
        home: the home directory.
        ledger: path of the ledger, or its database URL.
        effects: files, chance and processes.
    """

    def __init__(self, home: Path, ledger: str | Path, effects: Effects = SYSTEM) -> None:
        self._folder, self._ledger, self._effects = home / FOLDER, str(ledger), effects
        self._lock = threading.Lock()
        self._tasks = SimpleQueue[tuple[str, WhatIfTask] | None]()
        self._thread = threading.Thread(target=self._work, name="whatif", daemon=True)
        self._known: dict[str, WhatIf] = {}
        self._closed = False
        make_folder(effects.files, self._folder)
        for each in self._read():
            over = each.state in (DONE, FAILED)
            self._known[each.id] = each if over else replace(each, state=FAILED, message=ENDED)

    def ask(
        self,
        user: str,
        at: int,
        period: tuple[int, int],
        change: WhatIfChange,
        words: tuple[str, ...],
    ) -> WhatIf:
        """Take a question.

        Args:
            user: who asks.
            at: the time in ms.
            period: of the past, in ms.
            change: what is otherwise.
            words: the same, for people.

        Raises:
            Conflict: too many wait.
        """
        key = f"wi-{self._effects.randomness.token_hex(4)}"
        made = WhatIf(key, at, user, WAITING, changes=words)
        task = WhatIfTask(
            self._ledger, *period, change, words, progress=str(self._progress_of(key))
        )
        with self._lock:
            open_ = [each for each in self._known.values() if each.state in (WAITING, RUNNING)]
            if len(open_) >= MOST_WAITING:
                hint = "wait until one is answered: ganglion whatif list"
                raise Conflict(f"{len(open_)} questions wait already", hint)
            self._known[key] = made
            self._forget()
        self._save(made)
        self._tasks.put((key, task))
        return made

    def find(self, key: str) -> WhatIf:
        """A question with its answer, or how far it is. Raises NotFound."""
        with self._lock:
            found = self._known.get(key)
        if found is None:
            raise NotFound(f"there is no question {key!r}", "see: ganglion whatif list")
        if found.state != RUNNING:
            return found
        return replace(found, done_permille=self._progress(key))

    def all(self) -> list[WhatIf]:
        """The questions without their answers, the newest first."""
        with self._lock:
            known = list(self._known.values())
        known.sort(key=lambda each: (each.at, each.id), reverse=True)
        return [replace(each, report=None) for each in known]

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """End without the answers that are still missing."""
        with self._lock:
            self._closed = True
            going = [each.id for each in self._known.values() if each.state == RUNNING]
        self._tasks.put(None)
        for key in going:  # the process that answers looks whether its file is there
            remove(self._effects.files, self._progress_of(key))

    # --- in the thread -------------------------------------------------------------------------

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and not self._closed:
            self._answer(*task)

    def _answer(self, key: str, task: WhatIfTask) -> None:
        files, mark = self._effects.files, self._effects.processes.own()
        with contextlib.suppress(OSError):  # without it, the process ends and says so
            replace_whole(files, task.progress, b"0", mark, durable=False)
        self._change(key, lambda each: replace(each, state=RUNNING))
        found = self._run(task)
        state = FAILED if found.report is None else DONE
        text = found.message + (f" ({found.hint})" if found.hint else "")
        ended = self._change(
            key,
            lambda each: replace(
                each, state=state, done_permille=1000, message=text, report=found.report
            ),
        )
        if not self._closed:
            self._save(ended)
        remove(self._effects.files, task.progress)

    def _run(self, task: WhatIfTask) -> WhatIfAnswer:
        argv = (*NICE, sys.executable, "-m", "ganglion.server.whatif")
        try:
            ended = self._effects.processes.run(argv, msgspec.json.encode(task), {}, LONGEST_S)
            if ended.code == 0:
                return msgspec.json.decode(ended.out, type=WhatIfAnswer)
            problem = ended.errors.decode(errors="replace").strip().rpartition("\n")[2]
        except (OSError, msgspec.MsgspecError) as error:
            problem = str(error)
        log.warning("a question could not be answered", problem=problem)
        return WhatIfAnswer(message=f"the process that answers failed: {problem}")

    def _change(self, key: str, change: Callable[[WhatIf], WhatIf]) -> WhatIf:
        with self._lock:
            found = self._known[key] = change(self._known[key])
        return found

    # --- files ---------------------------------------------------------------------------------

    def _save(self, found: WhatIf) -> None:
        files, mark = self._effects.files, self._effects.processes.own()
        try:
            replace_whole(files, self._path(found.id), msgspec.json.encode(found), mark)
        except OSError as error:
            log.warning("a question is not kept on disk", id=found.id, error=str(error))

    def _read(self) -> list[WhatIf]:
        files, found = self._effects.files, list[WhatIf]()
        for name in sorted(files.names(self._folder)):
            if not name.endswith(".json"):
                continue
            try:
                found.append(msgspec.json.decode(files.read(self._folder / name), type=WhatIf))
            except (OSError, msgspec.MsgspecError) as error:
                log.warning("a question cannot be read", file=name, error=str(error))
        return found

    def _progress(self, key: str) -> int:
        try:
            return int(self._effects.files.read(self._progress_of(key)))
        except (OSError, ValueError):
            return 0

    def _forget(self) -> None:
        """Drop the oldest answers beyond those that are kept."""
        over = [each for each in self._known.values() if each.state in (DONE, FAILED)]
        over.sort(key=lambda each: each.at)
        for each in over[: max(len(self._known) - KEPT, 0)]:
            del self._known[each.id]
            with contextlib.suppress(OSError):
                remove(self._effects.files, self._path(each.id))

    def _progress_of(self, key: str) -> Path:
        return self._folder / f"{key}.progress"

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"
