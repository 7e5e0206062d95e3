"""Suspending says what is lost before anything happens."""

import io
import json
import sys

import pytest
from tests.cli import answers
from tests.cli.harness import FakeServer, Ganglion, refusal

API = "/api/v1"
LOSS = "lost: the variables of 2 kernels, 1 shell; kept: name, environment, address"


@pytest.fixture
def sleepy(server: FakeServer) -> FakeServer:
    server.on(f"POST {API}/workloads/nb/suspend", {"id": "nb-4", "loss": LOSS})
    server.on(f"POST {API}/workloads/nb-4/suspend", {"id": "nb-4", "loss": LOSS})
    server.on(f"POST {API}/workloads/nb/resume", answers.DETAIL | {"id": "nb-4"})
    return server


def asked(server: FakeServer) -> list[str]:
    return [f"{each.url.path}?{each.url.query.decode()}" for each in server.requests]


def test_what_is_lost_is_said_first(ganglion: Ganglion, sleepy: FakeServer) -> None:
    done = ganglion("suspend", "nb", "--yes")
    assert (done.code, done.err) == (0, f"nb-4: {LOSS}\n")
    assert done.out == "suspending nb-4; resume it with: ganglion resume nb-4\n"
    assert asked(sleepy) == [
        f"{API}/workloads/nb/suspend?dry_run=true",
        f"{API}/workloads/nb-4/suspend?",
    ]


def test_a_dry_run_only_says_it(ganglion: Ganglion, sleepy: FakeServer) -> None:
    done = ganglion("suspend", "nb", "--dry-run")
    assert (done.code, done.out, done.err) == (0, f"nb-4: {LOSS}\n", "")
    assert asked(sleepy) == [f"{API}/workloads/nb/suspend?dry_run=true"]


def test_programs_get_data(ganglion: Ganglion, sleepy: FakeServer) -> None:
    done = ganglion("suspend", "nb", "-o", "json")
    assert done.err == ""
    assert json.loads(done.out) == [{"id": "nb-4", "loss": LOSS}]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_may_think_better_of_it(
    ganglion: Ganglion, sleepy: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    done = ganglion("suspend", "nb")
    assert done.code != 0
    assert LOSS in done.err
    assert len(sleepy.requests) == 1


def test_what_cannot_be_suspended_keeps_the_others_awake(
    ganglion: Ganglion, sleepy: FakeServer
) -> None:
    sleepy.on(
        f"POST {API}/workloads/train/suspend",
        refusal(409, "state.conflict", "train-1 is of kind train: only workspaces are suspended"),
    )
    done = ganglion("suspend", "nb", "train", "--yes")
    assert done.code == 1
    assert "only workspaces are suspended" in done.err
    assert not any(path.endswith("suspend?") for path in asked(sleepy))


def test_what_cannot_be_resumed_does_not_keep_the_others_asleep(
    ganglion: Ganglion, sleepy: FakeServer
) -> None:
    sleepy.on(
        f"POST {API}/workloads/a/resume", refusal(409, "state.conflict", "a-1 is not suspended")
    )
    done = ganglion("resume", "a", "nb")
    assert (done.code, done.out) == (1, "resuming nb-4\n")
    assert "a-1 is not suspended" in done.err
    assert "1 of 2 not resumed" in done.err
