"""`logs` reads the files of the home while the server is down."""

import os
import threading
from pathlib import Path

import pytest
from tests.cli.harness import Done, Ganglion

from ganglion.cli.logs.offline import HomeLogs
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.paths import log_file, logged_gangs, run_dir

DOWN = "no server is running: these are the files in"


@pytest.fixture
def home() -> Path:
    """The home of a server that has ended, with the logs of three workloads."""
    folder = Path(os.environ["GANGLION_HOME"])
    for gang, attempt, rank, text in [
        ("train-1/0", 1, 0, "old\n"),
        ("train-9/0", 1, 0, "first try\n"),
        ("train-9/0", 2, 0, "one\ntwo\nthree\n"),
        ("train-9/0", 2, 1, "of rank 1\n"),
        ("sweep-12/0", 1, 0, "trial 0\n"),
        ("sweep-12/3", 1, 0, "trial 3\n"),
    ]:
        path = log_file(folder, gang, attempt, rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["train"], "one\ntwo\nthree\n"),
        (["train-9"], "one\ntwo\nthree\n"),
        (["train-1"], "old\n"),
        (["sw"], "trial 0\n"),
        (["sweep-12/3"], "trial 3\n"),
        (["sweep", "--index", "3"], "trial 3\n"),
        (["train", "--tail", "1"], "three\n"),
        (["train", "--rank", "1"], "of rank 1\n"),
        (["train", "--previous"], "first try\n"),
        (["train", "--since", "1h"], ""),
        (["train", "--all-ranks", "--tail", "1"], "[rank 0] three\n[rank 1] of rank 1\n"),
    ],
)
def test_the_log_is_found_by_the_names_of_files(
    ganglion: Ganglion, words: list[str], text: str
) -> None:
    done = ganglion("logs", *words)
    assert (done.code, done.out) == (0, text)
    assert DOWN in done.err


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nobody"], "no workload 'nobody' has logs in"),
        (["trai"], "fits several workloads"),
        (["sweep/7"], "no logs of number 7"),
        (["train", "--rank", "5"], "no log of rank 5"),
        (["sweep", "--previous"], "no attempt before this one"),
    ],
)
def test_what_is_not_there_is_named(ganglion: Ganglion, words: list[str], says: str) -> None:
    done = ganglion("logs", *words)
    assert (done.code, done.out) == (1, "")
    assert says in done.err


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "words", [["logs", "train", "--diagnose"], ["logs", "train", "--node", "n"]]
)
def test_what_only_a_server_knows_needs_one(ganglion: Ganglion, words: list[str]) -> None:
    done = ganglion(*words)
    assert (done.code, "no server is running" in done.err) == (1, True)


def test_a_job_that_runs_on_is_followed_to_its_end(ganglion: Ganglion, home: Path) -> None:
    run = run_dir(home, "train-9/0", 2)
    run.mkdir(parents=True, exist_ok=True)
    lock = records.RunLock(run / records.LOCK)
    assert lock.take()
    log = log_file(home, "train-9/0", 2, 0)
    found: list[Done] = []
    reader = threading.Thread(target=lambda: found.append(ganglion("logs", "train", "-f")))
    reader.start()
    with log.open("a") as file:
        file.write("four\n")
    lock.close()
    reader.join(30)
    assert found
    assert (found[0].code, found[0].out) == (0, "one\ntwo\nthree\nfour\n")


def test_the_home_is_listed_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = list[Path]()

    def counted(folder: Path) -> list[str]:
        listed.append(folder)
        return logged_gangs(folder)

    monkeypatch.setattr("ganglion.cli.logs.offline.logged_gangs", counted)
    assert HomeLogs(home).ranks("train", None) == (0, 1)
    assert len(listed) == 1
