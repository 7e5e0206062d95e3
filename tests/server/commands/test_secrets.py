"""A value that is secret is found nowhere: not in the home, not in any output."""

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from ganglion.model.credentials import REDACTED, is_credential, redacted
from ganglion.model.events import Outcome
from ganglion.server.commands import schedules
from ganglion.server.commands.schedules import SchedulesKeeper
from ganglion.server.commands.secrets import SecretsKeeper
from ganglion.server.commands.submission import submit
from ganglion.worlds.local.run_files.secret_store import SCHEDULES, WORKLOADS, SecretStore
from tests.forking import ganglion
from tests.server.conftest import Rig
from tests.server.process import Api, Nursery, until

SHELL, BARE, KEPT, PLAIN, SERVER = (f"canary-{n}-93b1c7" for n in range(5))
PLAIN = f"hf_{'Canary93b1c7' * 3}"
ALL = (SHELL, BARE, KEPT, PLAIN, SERVER)
PROGRAM = """\
import hashlib, os, pathlib, sys, time
names = ("FROM_SHELL", "BARE", "KEPT", "MY_TOKEN", "SERVER_API_KEY", "EPOCHS")
told = "".join(os.environ.get(name, "?") for name in names)
pathlib.Path("told").write_text(hashlib.sha256(told.encode()).hexdigest())
while not pathlib.Path("enough").exists():
    time.sleep(0.02)
print("failed with", os.environ["FROM_SHELL"])
sys.exit(3)
"""
FILE = """\
name: job
run: python prog.py 2>/dev/null
queue: red
env: [BARE, EPOCHS=3, MY_TOKEN={plain}]
secrets: [FROM_SHELL, KEPT]
"""


class Shell:
    """A person's shell, beside a real server that was started with a secret of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.nursery, self.api = Nursery(self.home), Api(self.home)
        self.nursery.start()
        (folder / "prog.py").write_text(PROGRAM)
        (folder / "job.yaml").write_text(FILE.format(plain=PLAIN))

    def ganglion(self, *words: str, given: str = "", code: int = 0, **env: str) -> str:
        """Run a command; returns all that it wrote."""
        until((self.home / "server.json").exists)
        environ = os.environ | {"GANGLION_HOME": str(self.home), **env}
        done = ganglion(*words, given=given, folder=self.folder, environ=environ)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def leaks(self, *, apart: tuple[str, ...] = (), log: str = "") -> set[tuple[str, str]]:
        """Files of the home that hold a value, with the value; `log` matches files left out."""
        files = {str(path.relative_to(self.home)): path for path in self.home.rglob("*")}
        return {
            (name, value)
            for name, path in files.items()
            if path.is_file() and not (log and path.match(log)) and not name.startswith(apart)
            for value in ALL
            if value.encode() in path.read_bytes()
        }

    def close(self) -> None:
        self.nursery.close()
        self.api.close()


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    monkeypatch.setenv("SERVER_API_KEY", SERVER)
    made = Shell(tmp_path)
    monkeypatch.delenv("SERVER_API_KEY")
    yield made
    (tmp_path / "enough").touch()
    until(lambda: not made.api.patiently("GET", "/workloads")["items"])
    made.close()


def test_a_value_that_is_secret_reaches_the_ranks_and_is_found_nowhere_else(shell: Shell) -> None:
    shell.ganglion("secret", "set", "KEPT", given=f"{KEPT}\n")
    said = shell.ganglion("submit", "job.yaml", "-d", FROM_SHELL=SHELL, BARE=BARE)
    assert "MY_TOKEN looks like a credential" in said
    until((shell.folder / "told").exists)
    reached = "".join((SHELL, BARE, KEPT, PLAIN, SERVER, "3"))
    told = (shell.folder / "told").read_text
    assert until(told) == sha256(reached.encode()).hexdigest()

    outputs = [
        said,
        shell.ganglion("secret", "list"),
        shell.ganglion("describe", "job"),
        shell.ganglion("get", "job", "-o", "yaml"),
        shell.ganglion("get", "job", "-o", "json"),
        shell.ganglion("why", "job"),
        shell.ganglion("ps", "-o", "json"),
    ]
    assert shell.leaks(apart=("secrets/",)) == set()
    modes = {path.stat().st_mode & 0o077 for path in (shell.home / "secrets").rglob("*")}
    assert modes == {0}

    (shell.folder / "enough").touch()
    until(lambda: not shell.api.patiently("GET", "/workloads")["items"])
    outputs += [
        shell.ganglion("describe", "job-1"),
        shell.ganglion("get", "job-1", "-o", "yaml"),
        shell.ganglion("events", "-o", "json"),
    ]
    assert "failed with <redacted>" in outputs[-3]
    assert [each for text in outputs for each in ALL if each in text] == []
    assert "MY_TOKEN: null" in outputs[2]
    until(lambda: not [*(shell.home / "secrets").glob("[aw]*/*")])
    shell.ganglion("secret", "rm", "KEPT")
    # What a program prints is its own.
    found = shell.leaks(log="rank-*.log")
    assert [each for each in found if each[1] != PLAIN or not each[0].startswith("ledger.db")] == []


def test_a_secret_that_is_known_nowhere_is_refused_with_what_to_do(shell: Shell) -> None:
    (shell.folder / "enough").touch()
    said = shell.ganglion("submit", "job.yaml", "-d", FROM_SHELL=SHELL, BARE=BARE, code=2)
    assert "the variable KEPT is not set in your shell" in said
    assert "ganglion secret set KEPT" in said
    assert SHELL not in said
    assert "there is no secret NONE" in shell.ganglion("secret", "rm", "NONE", code=1)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """A server over two nodes of 8 GPUs."""
    store = SecretStore(tmp_path / "home")
    made = Rig(tmp_path / "home", lambda: [SchedulesKeeper(), SecretsKeeper(store)])
    yield made
    made.ledger.close()


def kept(rig: Rig, folder: str) -> list[str]:
    return [*rig.service.secrets.keys(folder)]


def test_every_run_of_a_schedule_has_its_values_until_the_schedule_is_removed(rig: Rig) -> None:
    rig.submit("often", schedule="* * * * *", secrets={"A": SHELL})
    for number in (1, 2):
        rig.machine.time += 60_000
        rig.turn(3)
        assert rig.service.secrets.given(WORKLOADS, f"often-{number}") == {"A": SHELL}
        rig.machine.end(f"often-{number}/0")
        rig.turn(2)
        assert (kept(rig, SCHEDULES), kept(rig, WORKLOADS)) == (["often"], [])
    rig.crash()
    rig.turn(2)
    assert kept(rig, SCHEDULES) == ["often"]
    rig.do(lambda draft: schedules.remove(draft, "often", "ada"))
    rig.turn()
    assert kept(rig, SCHEDULES) == []


def test_values_stay_for_another_attempt_and_go_after_the_last(rig: Rig) -> None:
    job = rig.submit("a", secrets={"A": SHELL}, retry=1)
    for left in ([job], []):
        rig.machine.time += 60_000
        rig.turn(3)
        assert kept(rig, WORKLOADS) == [job]
        rig.machine.end(f"{job}/0", Outcome.FAILED)
        rig.turn(3)
        assert kept(rig, WORKLOADS) == left


def test_what_a_turn_that_was_not_written_left_behind_goes_with_the_next_start(rig: Rig) -> None:
    rig.service.secrets.keep(WORKLOADS, "never-9", {"A": SHELL})
    rig.crash()
    rig.turn(2)
    assert kept(rig, WORKLOADS) == []


def test_a_repetition_is_recognised_without_the_value(rig: Rig) -> None:
    def asked(value: str) -> str:
        data = {"name": "a", "run": "true", "secrets": {"A": value}}
        request = submit.checked(data, json.dumps(data).encode(), user="ada", key="k")
        assert SHELL not in request.digest
        return str(rig.do(lambda draft: submit.submit(draft, request)).id)

    assert asked(SHELL) == asked(BARE)


@pytest.mark.parametrize(
    "text",
    [
        "hf_" + "aB3" * 8,
        "sk-proj-" + "aB3" * 8,
        "AKIA" + "ABCDEFGH12345678",
        "ghp_" + "aB3" * 10,
        "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM",
        "postgresql://ann:s3cret@db/x",
        "kX9" + "".join(map(chr, range(65, 91))) + "abcdef0123456789",
    ],
)
def test_credentials_are_told_by_their_shape(text: str) -> None:
    assert is_credential("SETTING", text)
    assert redacted({"env": {"SETTING": text}}) == {"env": {"SETTING": REDACTED}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/home/Ann1/.venv/bin:/usr/local/bin:/usr/bin"),
        ("DATA", "/mnt/Data1/ImageNet/Train2012/shards/part-00001-of-01024"),
        ("CHECKSUM", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("NCCL_SOCKET_IFNAME", "eth0"),
        ("HF_TOKEN", ""),
    ],
)
def test_ordinary_settings_are_shown(name: str, value: str) -> None:
    assert not is_credential(name, value)
