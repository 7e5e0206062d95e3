"""Questions about the past: how many wait, what is kept, and what a worker that fails leaves."""

import errno
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue

import msgspec
import pytest
from tests.faults.files import FaultyFiles
from tests.faults.plan import Nth

from ganglion.api.whatif.report import WhatIf, WhatIfMover, WhatIfReport, WhatIfStart
from ganglion.model.errors import Conflict, EnvironmentFault, NotFound
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.processes import Finished, SystemProcesses
from ganglion.server.whatif import questions
from ganglion.server.whatif.answering import WhatIfAnswer
from ganglion.server.whatif.questions import ENDED, MOST_WAITING, WhatIfQuestions
from ganglion.whatif.changes import WhatIfChange

SOON_S = 20.0
REPORT = WhatIfReport(0, 1, (), 3)


class Workers(SystemProcesses):
    """Processes that end when and as a test says."""

    def __init__(self) -> None:
        self.started = SimpleQueue[bytes]()
        self._ends = SimpleQueue[Finished | OSError]()

    def run(
        self, argv: Sequence[str], typed: bytes, env: Mapping[str, str], timeout_s: float
    ) -> Finished:
        self.started.put(typed)
        end = self._ends.get()
        if isinstance(end, OSError):
            raise end
        return end

    def end(self, code: int = 0, out: bytes = b"", errors: bytes = b"") -> None:
        self._ends.put(Finished(code, out, errors))

    def fail(self, error: OSError) -> None:
        self._ends.put(error)

    def answer(self, report: WhatIfReport = REPORT) -> None:
        self.end(0, msgspec.json.encode(WhatIfAnswer(report)))


class Asking:
    """Questions of a home, with workers that a test holds in its hands."""

    def __init__(self, home: Path, files: FaultyFiles | None = None) -> None:
        self.home, self.workers = home, Workers()
        self.effects: Effects = SYSTEM._replace(processes=self.workers)
        if files:
            self.effects = self.effects._replace(files=files)
        self.restart()

    def restart(self) -> None:
        self.questions = WhatIfQuestions(self.home, self.home / "ledger.db", self.effects)
        self.questions.start()

    def ask(self, user: str = "eve") -> str:
        return self.questions.ask(user, 5, (0, 5), WhatIfChange(), ("nodes +1xA100",)).id

    def over(self, key: str) -> WhatIf:
        """The question once it is over; a question after it is the sign that it is written."""
        later = self.ask()
        self.workers.started.get(timeout=SOON_S)  # its own
        self.workers.started.get(timeout=SOON_S)
        self.workers.answer()
        assert later != key
        return self.questions.find(key)


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path)


def kept(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (home / questions.FOLDER).iterdir())


def test_an_answer_is_kept_over_a_restart_and_lists_leave_it_out(asking: Asking) -> None:
    key = asking.ask()
    asking.workers.answer()
    found = asking.over(key)
    assert (found.state, found.done_permille, found.report) == ("done", 1000, REPORT)
    asking.questions.close()
    asking.restart()
    assert asking.questions.find(key) == found
    assert {each.report for each in asking.questions.all()} == {None}
    with pytest.raises(NotFound, match="no question 'wi-none'"):
        asking.questions.find("wi-none")


def test_too_many_that_wait_are_refused_until_one_is_answered(asking: Asking) -> None:
    keys = [asking.ask() for _ in range(MOST_WAITING)]
    asking.workers.started.get(timeout=SOON_S)
    with pytest.raises(Conflict, match=f"{MOST_WAITING} questions wait already"):
        asking.ask()
    assert asking.questions.find(keys[0]).state == "running"
    assert asking.questions.find(keys[1]).state == "waiting"
    asking.workers.answer()
    asking.workers.started.get(timeout=SOON_S)  # the second begins once the first is written
    assert asking.ask()


def test_the_oldest_answers_make_room(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "KEPT", 2)
    keys = list[str]()
    for number in range(4):
        keys.append(asking.questions.ask("eve", number, (0, 5), WhatIfChange(), ()).id)
        asking.workers.started.get(timeout=SOON_S)
        asking.workers.answer()
    last = asking.ask()
    asking.workers.started.get(timeout=SOON_S)
    assert {each.id for each in asking.questions.all()} == {keys[3], last}
    assert len([*asking.home.glob("whatif/*.json")]) == 2


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        (Finished(1, b"", b"Traceback\nMemoryError: no room"), "MemoryError: no room"),
        (Finished(-9, b""), "it was killed by signal 9"),
        (Finished(3, b""), "it ended with exit code 3"),
        (Finished(0, b"rubbish"), "JSON is malformed"),
        (Finished(0, b""), "truncated"),
        (FileNotFoundError(errno.ENOENT, "no such program"), "no such program"),
        (TimeoutError("nice took longer than 3600 s"), "took longer"),
    ],
)
def test_a_worker_that_fails_fails_its_question_and_no_other(
    asking: Asking, end: Finished | OSError, problem: str
) -> None:
    key = asking.ask()
    if isinstance(end, OSError):
        asking.workers.fail(end)
    else:
        asking.workers.end(*end)
    found = asking.over(key)
    assert (found.state, found.report) == ("failed", None)
    assert problem in found.message


def test_what_is_wrong_with_a_question_is_said_with_its_hint(asking: Asking) -> None:
    key = asking.ask()
    answer = WhatIfAnswer(message="there was no queue red", hint="there were: blue")
    asking.workers.end(0, msgspec.json.encode(answer))
    assert asking.over(key).message == "there was no queue red (there were: blue)"


def test_what_was_open_when_the_server_ended_has_failed_and_leaves_no_files(
    asking: Asking,
) -> None:
    keys = [asking.ask(), asking.ask()]
    asking.workers.started.get(timeout=SOON_S)
    (asking.home / "whatif" / f"{keys[0]}.progress").write_bytes(b"300")
    (asking.home / "whatif" / f".{keys[0]}.json.77").write_bytes(b'{"id":')
    assert asking.questions.find(keys[0]).done_permille == 300
    asking.questions.close()
    asking.restart()
    for key in keys:
        found = asking.questions.find(key)
        assert (found.state, found.message) == ("failed", ENDED)
    assert {each.name for each in (asking.home / "whatif").iterdir()} == {
        f"{key}.json" for key in keys
    }


def test_one_that_ends_after_the_close_changes_no_file(asking: Asking) -> None:
    key = asking.ask()
    asking.workers.started.get(timeout=SOON_S)
    before = kept(asking.home)
    asking.questions.close()
    asking.workers.answer()
    asking.questions._thread.join(SOON_S)
    assert asking.questions.find(key).state == "done"
    assert kept(asking.home) == before


def test_files_that_cannot_be_read_hide_no_answer(asking: Asking) -> None:
    key = asking.ask()
    asking.workers.answer()
    asking.over(key)
    asking.questions.close()
    (asking.home / "whatif" / "wi-bad.json").write_bytes(b"\xff{")
    asking.restart()
    assert asking.questions.find(key).state == "done"


def test_a_full_disk_costs_the_copy_on_disk_and_no_answer(tmp_path: Path) -> None:
    asking = Asking(tmp_path, FaultyFiles(Nth(1, "mkdir", "write", "open", stays=True)))
    key = asking.ask()
    asking.workers.answer()
    assert asking.over(key).state == "done"
    assert not (tmp_path / "whatif").exists()


def test_a_disk_that_cannot_be_read_keeps_no_server_from_its_start(tmp_path: Path) -> None:
    asking = Asking(tmp_path, FaultyFiles(Nth(1, "names", "unlink", stays=True), errno.EIO))
    key = asking.ask()
    asking.workers.answer()
    assert asking.over(key).state == "done"


# --- names that are erased --------------------------------------------------------------------


def named(user: str) -> WhatIfReport:
    mover = WhatIfMover("a-1", "a", "red", user, 5, 1, 1)
    start = WhatIfStart("b", "red", 0, None, None, f"a of {user} holds it")
    return WhatIfReport(0, 1, (), 2, winners=(mover,), starts=(start,))


def test_an_erased_name_is_in_no_answer_and_in_no_file(asking: Asking) -> None:
    key = asking.ask("eve")
    asking.workers.answer(named("eve"))
    asking.over(key)
    assert b"eve" in kept(asking.home)
    (asking.home / "whatif" / "wi-bad.json").write_bytes(b'{"user":"eve"')
    asking.questions.erase("eve", "p~1")
    assert b"eve" not in kept(asking.home)
    found = asking.questions.find(key)
    assert found.report is not None
    assert (found.user, found.report.winners[0].user) == ("p~1", "p~1")
    assert found.report.starts[0].message == "a of p~1 holds it"


def test_an_answer_that_is_computed_meanwhile_has_the_pseudonym_and_later_ones_the_name(
    asking: Asking,
) -> None:
    key = asking.ask("bob")
    asking.workers.started.get(timeout=SOON_S)
    asking.questions.erase("eve", "p~1")
    asking.workers.answer(named("eve"))
    later = asking.ask("eve")  # another user of that name
    asking.workers.started.get(timeout=SOON_S)
    assert b"p~1" in kept(asking.home)
    found = asking.questions.find(key).report
    assert found is not None
    assert found.winners[0].user == "p~1"
    assert asking.questions.find(later).user == "eve"


def test_an_erasure_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    plan = Nth(1, "rename", stays=True)
    asking = Asking(tmp_path)
    key = asking.ask()
    asking.workers.answer(named("eve"))
    asking.over(key)
    asking.questions.close()
    asking = Asking(tmp_path, FaultyFiles(plan, errno.EROFS))
    with pytest.raises(EnvironmentFault, match="may name the user"):
        asking.questions.erase("eve", "p~1")
    assert plan.struck == "rename"


def test_questions_are_asked_and_shown_from_many_threads(asking: Asking) -> None:
    refused = SimpleQueue[str]()

    def several() -> None:
        for _ in range(5):
            try:
                asking.questions.find(asking.ask())
            except Conflict as error:
                refused.put(error.message)

    threads = [threading.Thread(target=several) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(asking.questions.all()) == MOST_WAITING
    assert refused.qsize() == 20 - MOST_WAITING
