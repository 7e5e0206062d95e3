"""One ledger, one executor: homes that share a ledger never run a gang side by side."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from sqlalchemy import create_engine, text

from ganglion.ledger.ledger import Ledger
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Batch, Submitted
from ganglion.model.errors import NotExecutor
from ganglion.model.events import NodeLost
from ganglion.model.executor import Executor
from ganglion.model.workload import Workload
from ganglion.server.recovery import executor
from ganglion.server.recovery.executor import Held, hold, resign
from ganglion.server.recovery.verify import verified
from ganglion.worlds.local.run_files import fence, records
from ganglion.worlds.local.run_files.identity import identify
from tests.server import cutting
from tests.server.process import Api, Nursery, until

# A rank holds a lock for life: a second one of the same gang that lives beside it says so.
RANK = """
exec 9>> {folder}/lock.$RANK
flock -n 9 || echo double >> {folder}/marks
echo begin $GANGLION_ATTEMPT $$ >> {folder}/marks
trap 'echo end $GANGLION_ATTEMPT >> {folder}/marks; exit 0' TERM
while :; do sleep 0.05; done
"""


class Homes:
    """Two homes that are given one ledger."""

    def __init__(self, folder: Path, first: str, second: str) -> None:
        self.folder, self.ledgers = folder, (first, second)
        for name in "ab":
            (folder / name).mkdir()
        self.nurseries = [Nursery(folder / name / "home") for name in "ab"]
        self.apis = [Api(nursery.home) for nursery in self.nurseries]

    def start(self, which: int, *more: str) -> None:
        self.nurseries[which].start("--database", self.ledgers[which], *more)

    def submit(self, which: int) -> str:
        """A gang of two ranks; returns once both run."""
        body = {
            "name": "g",
            "queue": "red",
            "run": RANK.format(folder=self.folder),
            "nodes": 2,
            "resources": {"gpus": 1},
            "checkpoint": {"grace": "20s"},
        }
        self.apis[which].patiently("POST", "/workloads", json=body)
        self.begun(1, 2)
        return "g-1"

    def marks(self) -> list[list[str]]:
        path = self.folder / "marks"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def begun(self, attempt: int, ranks: int) -> list[int]:
        """Wait until the ranks of an attempt run; returns their pids."""

        def look() -> list[int]:
            found = [int(m[2]) for m in self.marks() if m[:2] == ["begin", str(attempt)]]
            return found if len(found) >= ranks else []

        return until(look, 40)

    def refused(self, which: int, *more: str) -> str:
        """Start a server that is refused; returns what it said."""
        self.start(which, *more)
        assert self.nurseries[which].reap() == 3
        return (self.folder / "ab"[which] / "stderr").read_text()

    def close(self) -> None:
        for which, api in enumerate(self.apis):
            if self.nurseries[which].pid:
                api.patiently("POST", "/workloads/g-1/cancel", json={"force": True})
                until(lambda api=api: not api.patiently("GET", "/workloads")["items"])
            api.close()
            self.nurseries[which].close()


@pytest.fixture(params=["sqlite through a link", "postgresql"])
def homes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Homes]:
    if request.param == "postgresql":
        url = str(request.getfixturevalue("database"))
        made = Homes(tmp_path, url, url)
    else:
        (tmp_path / "link.db").symlink_to(tmp_path / "ledger.db")
        made = Homes(tmp_path, f"sqlite:///{tmp_path}/ledger.db", f"sqlite:///{tmp_path}/link.db")
    yield made
    made.close()


def test_ranks_of_a_killed_server_end_before_another_home_starts_the_gang(homes: Homes) -> None:
    homes.start(0)
    homes.submit(0)
    first = homes.begun(1, 2)
    homes.nurseries[0].end(signal.SIGKILL)

    said = homes.refused(1)
    assert str(homes.nurseries[0].home) in said
    assert "ganglion up --take-over" in said
    assert all(map(psutil.pid_exists, first))

    homes.start(1, "--take-over")
    homes.begun(2, 2)
    assert not any(map(psutil.pid_exists, first))
    assert [mark[:2] for mark in homes.marks()] == [
        *[["begin", "1"]] * 2,
        *[["end", "1"]] * 2,
        *[["begin", "2"]] * 2,
    ]
    assert "ended 1 attempts of" in (homes.folder / "b" / "stderr").read_text()

    assert str(homes.nurseries[1].home) in homes.refused(0)


@pytest.mark.parametrize("homes", ["sqlite through a link"], indirect=True)
def test_a_ledger_that_was_cut_is_taken_over_with_its_chain(homes: Homes) -> None:
    homes.start(0)
    homes.submit(0)
    first = homes.begun(1, 2)
    homes.nurseries[0].end(signal.SIGKILL)
    path = homes.folder / "ledger.db"
    ledger = Ledger.open(path)
    cut = cutting.cut(ledger, homes.folder / "a" / "home")
    assert ledger.events(0, 1)[0].seq == cut.seq + 1
    ledger.close()
    assert "ganglion up --take-over" in homes.refused(1)

    homes.start(1, "--take-over")
    homes.begun(2, 2)
    assert not any(map(psutil.pid_exists, first))
    assert "ended 1 attempts of" in (homes.folder / "b" / "stderr").read_text()
    reader = Reader.at_rest(path)
    found = verified(reader)
    base = reader.base()
    reader.leave()
    assert (found.flaws, base and base.checksum) == ([], cut.checksum)
    assert found.head > cut.seq + 1
    assert str(homes.nurseries[1].home) in homes.refused(0)


@pytest.mark.parametrize("homes", ["postgresql"], indirect=True)
def test_a_server_that_lives_ends_what_it_runs_and_then_itself(homes: Homes) -> None:
    homes.start(0)
    homes.submit(0)
    homes.start(1, "--take-over")
    assert homes.nurseries[0].reap() == 3
    assert "is executed by another home now" in (homes.folder / "a" / "stderr").read_text()
    homes.begun(2, 2)
    assert [mark[:2] for mark in homes.marks()] == [
        *[["begin", "1"]] * 2,
        *[["end", "1"]] * 2,
        *[["begin", "2"]] * 2,
    ]


# --- what two machines do, on one ----------------------------------------------------------


def elsewhere(path: Path, **values: str) -> None:
    """As if the newest term were that of another machine."""
    values = {"machine": "m2", "boot": "b2", "host": "far", **values}
    changes = ", ".join(f"{key} = '{value}'" for key, value in values.items())
    with create_engine(f"sqlite:///{path}").begin() as connection:
        connection.execute(
            text(
                f"UPDATE executors SET {changes} WHERE generation ="
                " (SELECT max(generation) FROM executors)"
            )
        )


def held(tmp_path: Path, home: str, *, take_over: bool = False) -> tuple[Held, list[str]]:
    said: list[str] = []
    (tmp_path / home).mkdir(exist_ok=True)
    made = hold(tmp_path / "ledger.db", tmp_path / home, take_over=take_over, say=said.append)
    return made, said


def live_work(ledger: Ledger) -> None:
    new = Submitted("w-1", 1, 1, b"{}", Workload("w"))
    ledger.append(Batch(1, [NodeLost(1, "n")], submitted=[new]))


def test_a_machine_that_does_not_answer_is_waited_for_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "ANSWER_S", 0.3)
    first, _ = held(tmp_path, "a")
    live_work(first.ledger)
    first.ledger.close()
    elsewhere(tmp_path / "ledger.db")
    second, said = held(tmp_path, "b", take_over=True)
    assert f"{tmp_path}/a on far did not answer" in said[0]
    assert second.inherits
    second.ledger.close()


def test_a_machine_that_answers_is_waited_for_no_longer(tmp_path: Path) -> None:
    first, _ = held(tmp_path, "a")
    live_work(first.ledger)
    first.ledger.executors.claim(held_by_b(tmp_path), 2, take_over=True)
    resign(first, tmp_path / "a")
    first.ledger.close()
    second, said = held(tmp_path, "b", take_over=True)
    assert (said, second.inherits) == ([], True)
    second.ledger.executors.begun(second.term.generation, 3)
    second.ledger.close()
    again, _ = held(tmp_path, "b")
    assert not again.inherits
    again.ledger.close()
    assert fence.least(tmp_path / "a", again.term.ledger) == 2


def held_by_b(tmp_path: Path) -> Executor:
    (tmp_path / "b").mkdir(exist_ok=True)
    return identify(tmp_path / "b")


def test_a_machine_without_work_need_not_answer(tmp_path: Path) -> None:
    first, _ = held(tmp_path, "a")
    first.ledger.close()
    elsewhere(tmp_path / "ledger.db")
    second, said = held(tmp_path, "b", take_over=True)
    assert "nothing to end" in said[0]
    second.ledger.close()


def test_a_machine_that_was_restarted_runs_nothing_any_more(tmp_path: Path) -> None:
    first, _ = held(tmp_path, "a")
    first.ledger.close()
    elsewhere(
        tmp_path / "ledger.db", machine=first.term.executor.machine, host=first.term.executor.host
    )
    second, said = held(tmp_path, "b", take_over=True)
    assert "was restarted since" in said[0]
    second.ledger.close()


def test_a_taker_that_was_killed_half_way_goes_on_where_it_was(tmp_path: Path) -> None:
    """Its claim stands, but nothing shows that what ran before is gone."""
    first, _ = held(tmp_path, "a")
    first.ledger.executors.claim(held_by_b(tmp_path), 2, take_over=True)
    first.ledger.close()
    second, said = held(tmp_path, "b")
    assert f"ended 0 attempts of {tmp_path}/a" in said[0]
    assert second.inherits
    second.ledger.close()


def test_a_home_that_is_refused_ends_what_it_still_runs(tmp_path: Path) -> None:
    first, _ = held(tmp_path, "a")
    first.ledger.close()
    second, _ = held(tmp_path, "b", take_over=True)
    second.ledger.close()
    records.write(fence.path_of(tmp_path / "a"), {})  # as on a machine that could not be reached
    with pytest.raises(NotExecutor, match=f"run by {tmp_path}/b"):
        held(tmp_path, "a")
    assert fence.least(tmp_path / "a", second.term.ledger) == 2
