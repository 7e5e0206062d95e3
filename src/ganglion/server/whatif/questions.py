"""The questions of a home: one after the other is answered, and answers stay in files."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue

import msgspec
import structlog
from msgspec.structs import replace

from ganglion.api.whatif.report import WhatIf
from ganglion.ledger.people.names import escaped, swap, swap_words
from ganglion.model.errors import Conflict, EnvironmentFault, NotFound
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import make_folder, remove, replace_whole
from ganglion.server.whatif.answering import WhatIfAnswer, WhatIfTask
from ganglion.whatif.changes import WhatIfChange

FOLDER = "whatif"
ANSWER = ".json"
KEPT = 100
"""Most questions that are kept; the oldest go first."""
MOST_WAITING = 8
LONGEST_S = 3_600.0
NICE = ("nice", "-n", "15")
WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
OPEN = (WAITING, RUNNING)
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
        self._lock, self._disk = threading.Lock(), threading.Lock()
        self._tasks = SimpleQueue[tuple[str, WhatIfTask] | None]()
        self._thread = threading.Thread(target=self._work, name="whatif", daemon=True)
        self._known: dict[str, WhatIf] = {}
        self._erased: dict[str, dict[bytes, bytes]] = {}
        self._closed = False
        for each in self._read():
            ended = replace(each, state=FAILED, message=ENDED)
            self._known[each.id] = ended if each.state in OPEN else each

    def ask(
        self,
        user: str,
        at: int,
        period: tuple[int, int],
        change: WhatIfChange,
        words: tuple[str, ...],
        cluster: str = "",
        own: tuple[str, ...] | None = None,
    ) -> WhatIf:
        """Take a question.

        Args:
            user: who asks.
            at: the time in ms.
            period: of the past, in ms.
            change: what is otherwise.
            words: the same, for people.
            cluster: whose past it is; empty = that of the server's own nodes.
            own: queues that the user may see, as that past names them; None = all.

        Raises:
            Conflict: too many wait.
        """
        key = f"wi-{self._effects.randomness.token_hex(4)}"
        made = WhatIf(key, at, user, WAITING, changes=words)
        task = WhatIfTask(
            *(self._ledger, *period, change, words, str(self._progress_of(key)), cluster, own)
        )
        with self._lock:
            if (count := len(self._open())) >= MOST_WAITING:
                hint = "wait until one is answered: ganglion whatif list"
                raise Conflict(f"{count} questions wait already", hint)
            self._known[key] = made
            self._forget()
        self._save(key)
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

    def erase(self, user: str, pseudonym: str) -> None:
        """Write a pseudonym in the place of a name in every answer, also those still to come.

        Args:
            user: the name.
            pseudonym: takes its place.

        Raises:
            EnvironmentFault: an answer cannot be written; some may name the user still.
        """
        with self._lock:
            name, before = {escaped(user): pseudonym.encode()}, self._known
            self._known = {key: unnamed(each, name) for key, each in before.items()}
            changed = [key for key, each in self._known.items() if each != before[key]]
            for each in self._open():  # it may have read the ledger before
                self._erased[each.id] = self._erased.get(each.id, {}) | name
        try:
            for key in changed:
                self._write(key)
            for file in self._unknown():
                remove(self._effects.files, self._folder / file)
        except OSError as error:
            raise EnvironmentFault(
                f"answers to what-if questions may name the user, and cannot be written: {error}",
                "see to the disk of the home, and erase the name again",
            ) from error

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """End without the answers that are still missing.

        The process that computes one ends with this process.
        """
        self._closed = True
        self._tasks.put(None)

    # --- in the thread -------------------------------------------------------------------------

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and not self._closed:
            self._answer(*task)

    def _answer(self, key: str, task: WhatIfTask) -> None:
        self._change(key, lambda each: replace(each, state=RUNNING))
        found = self._run(task)
        state = FAILED if found.report is None else DONE
        text = found.message + (f" ({found.hint})" if found.hint else "")
        self._change(
            key,
            lambda each: replace(
                each, state=state, done_permille=1000, message=text, report=found.report
            ),
        )
        if not self._closed:
            self._save(key)
        with contextlib.suppress(OSError):  # it is removed at the next start
            remove(self._effects.files, task.progress)

    def _run(self, task: WhatIfTask) -> WhatIfAnswer:
        argv = (*NICE, sys.executable, "-m", "ganglion.server.whatif")
        try:
            ended = self._effects.processes.run(argv, msgspec.json.encode(task), {}, LONGEST_S)
            if ended.code == 0:
                return msgspec.json.decode(ended.out, type=WhatIfAnswer)
            said = ended.errors.decode(errors="replace").strip().rpartition("\n")[2]
            problem = said or _end_of(ended.code)
        except (OSError, msgspec.MsgspecError) as error:
            problem = str(error)
        log.warning("a question could not be answered", problem=problem)
        return WhatIfAnswer(message=f"the process that answers failed: {problem}")

    def _change(self, key: str, change: Callable[[WhatIf], WhatIf]) -> None:
        with self._lock:
            found = unnamed(change(self._known[key]), self._erased.get(key, {}))
            self._known[key] = found
            if found.state not in OPEN:
                self._erased.pop(key, None)

    def _open(self) -> list[WhatIf]:
        return [each for each in self._known.values() if each.state in OPEN]

    # --- files ---------------------------------------------------------------------------------

    def _write(self, key: str) -> None:
        """Write a question as it is known now. Raises OSError."""
        files, mark = self._effects.files, self._effects.processes.own()
        with self._disk:
            with self._lock:
                found = self._known.get(key)
            if found is not None:
                make_folder(files, self._folder)
                replace_whole(files, self._path(key), msgspec.json.encode(found), mark)

    def _save(self, key: str) -> None:
        try:
            self._write(key)
        except OSError as error:
            log.warning("a question is not kept on disk", id=key, error=str(error))

    def _read(self) -> Iterator[WhatIf]:
        """Answers of before; what a process that was killed has left is removed."""
        files = self._effects.files
        try:
            names = self._names()
        except OSError as error:
            log.warning("answers of before cannot be read", error=str(error))
            return
        for name in names:
            path = self._folder / name
            try:
                if name.endswith(ANSWER):
                    yield msgspec.json.decode(files.read(path), type=WhatIf)
                else:
                    remove(files, path)
            except (OSError, msgspec.MsgspecError) as error:
                log.warning("a question cannot be read", file=name, error=str(error))

    def _names(self) -> list[str]:
        try:
            return sorted(self._effects.files.names(self._folder))
        except FileNotFoundError:
            return []

    def _unknown(self) -> list[str]:
        """Files of answers that could not be read, whatever they name."""
        with self._lock:
            known = {self._path(key).name for key in self._known}
        return [each for each in self._names() if each.endswith(ANSWER) and each not in known]

    def _progress(self, key: str) -> int:
        try:
            return int(self._effects.files.read(self._progress_of(key)))
        except (OSError, ValueError):
            return 0

    def _forget(self) -> None:
        """Drop the oldest answers beyond those that are kept."""
        over = [each for each in self._known.values() if each.state not in OPEN]
        over.sort(key=lambda each: each.at)
        for each in over[: max(len(self._known) - KEPT, 0)]:
            del self._known[each.id]
            with contextlib.suppress(OSError):
                remove(self._effects.files, self._path(each.id))

    def _progress_of(self, key: str) -> Path:
        return self._folder / f"{key}.progress"

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}{ANSWER}"


def unnamed(found: WhatIf, erased: Mapping[bytes, bytes]) -> WhatIf:
    """A question with pseudonyms in the place of names, both as JSON writes them."""
    if not erased:
        return found
    swapped = swap_words(swap(msgspec.json.encode(found), erased.get), erased.get)
    return msgspec.json.decode(swapped, type=WhatIf)


def _end_of(code: int) -> str:
    """How a process ended that said nothing."""
    return f"it was killed by signal {-code}" if code < 0 else f"it ended with exit code {code}"
