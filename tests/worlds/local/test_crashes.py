"""The server is killed with -9 again and again while jobs run."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
from tests.worlds.local.driver import code
from tests.worlds.local.jobs import until

from ganglion.model.events import Event, GangEnded, Outcome
from ganglion.worlds.local.run_files import paths

KILLS, SEED, MOST = 20, 20_261_121, 60
ROOT = Path(__file__).parents[3]


def told(ledger: Path) -> list[GangEnded]:
    lines = ledger.read_bytes().splitlines() if ledger.exists() else []
    events = (msgspec.json.decode(line, type=Event) for line in lines)
    return [event for event in events if isinstance(event, GangEnded)]


class Servers:
    """Forks servers one after the other, and kills them."""

    def __init__(self, home: Path, most: int) -> None:
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.worlds.local.driver", str(home), str(most)],
            cwd=ROOT,
            env=dict(os.environ) | {"WORKDIR": str(home.parent)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self) -> int:
        """Start a server and return its pid."""
        assert self._nursery.stdin is not None
        self._nursery.stdin.write("go\n")
        self._nursery.stdin.flush()
        return int(self._line())

    def kill(self, pid: int) -> None:
        """Kill it with -9 and wait until it is gone."""
        os.kill(pid, signal.SIGKILL)
        assert self._line() == "dead"

    def _line(self) -> str:
        assert self._nursery.stdout is not None
        while line := self._nursery.stdout.readline():
            if line.strip().isdigit() or line.strip() == "dead":
                return line.strip()
        raise AssertionError("the server ended by itself")

    def close(self) -> None:
        """End the nursery."""
        self._nursery.communicate(timeout=30)


def test_every_job_ends_exactly_once_however_often_the_server_is_killed(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    home, ledger = tmp_path / "home", tmp_path / "ledger"
    (home / "runs").mkdir(parents=True)
    servers = Servers(home, MOST)
    for _ in range(KILLS):
        pid = servers.begin()
        time.sleep(chance.uniform(0.0, 0.4))  # the moment of death is the input of this test
        servers.kill(pid)
    last = len(told(ledger)) + 4
    pid = servers.begin()
    until(lambda: len(told(ledger)) >= min(last, MOST), "the jobs end")
    placed = set(Counter(line.split()[0] for line in (tmp_path / "begun").read_text().splitlines()))
    until(lambda: placed <= {event.gang for event in told(ledger)}, "all that began have ended")
    servers.kill(pid)
    servers.close()
    check(tmp_path, told(ledger), placed)


def check(folder: Path, ends: list[GangEnded], placed: set[str]) -> None:
    """Every job began once per rank, ended once, and its log is whole."""
    assert len(placed) >= 5
    times = Counter(event.gang for event in ends)
    assert {times[gang] for gang in placed} == {1}
    begun = Counter((folder / "begun").read_text().splitlines())
    assert all(begun[f"{gang} {rank}"] == 1 for gang in placed for rank in (0, 1))
    for event in ends:
        number = int(event.gang.split("/", maxsplit=1)[0].rpartition("-")[2])
        wanted = Outcome.SUCCEEDED if code(number) == "0" else Outcome.FAILED
        assert (event.outcome, event.exit_code) == (wanted, int(code(number))), event.gang
        logs = [paths.log_file(folder / "home", event.gang, 1, rank) for rank in (0, 1)]
        whole = "".join(f"line {i}\n" for i in range(1, 31))
        if wanted is Outcome.SUCCEEDED:
            assert [log.read_text() for log in logs] == [whole, whole]
        else:
            assert whole in [log.read_text() for log in logs]
