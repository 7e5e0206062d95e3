"""Pressing Tab offers commands and live names, and never an error message."""

import os
import subprocess
import sys

import httpx2
import pytest
from tests.cli import answers
from tests.cli.harness import FakeServer, Ganglion

from ganglion.cli.connection.connect import complete_jobs, complete_nodes, complete_queues
from ganglion.cli.main import cli

CONTEXT = cli.make_context("ganglion", ["ps"], resilient_parsing=True)
PARAM = cli.params[0]


def offered(offer: object, incomplete: str) -> list[str]:
    assert callable(offer)
    return [item.value for item in offer(CONTEXT, PARAM, incomplete)]


def test_live_names_that_begin_so_are_offered(server: FakeServer) -> None:
    server.on("GET /api/v1/workloads", answers.PAGE)
    server.on("GET /api/v1/queues", answers.QUEUES)
    server.on("GET /api/v1/nodes", answers.NODES)
    assert offered(complete_jobs, "lla") == ["llama-sft-7"]
    assert offered(complete_queues, "") == ["acme", "research"]
    assert offered(complete_nodes, "node-1") == ["node-1"]


def test_without_a_server_nothing_is_offered() -> None:
    assert offered(complete_jobs, "") == []


def test_a_server_that_breaks_offers_nothing(server: FakeServer) -> None:
    server.on("GET /api/v1/workloads", httpx2.Response(500, content=b"\x00"))
    assert offered(complete_jobs, "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_calls_back_the_program(ganglion: Ganglion, shell: str) -> None:
    done = ganglion("completion", shell)
    assert done.code == 0
    assert "_GANGLION_COMPLETE" in done.out
    assert "ganglion" in done.out


def test_the_shell_in_use_is_the_default(
    ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert ganglion("completion").out == ganglion("completion", "fish").out


def test_another_shell_is_refused(ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    done = ganglion("completion")
    assert (done.code, "no completion for the shell 'tcsh'" in done.err) == (2, True)


def test_commands_and_options_are_completed_by_the_program_itself() -> None:
    def complete(words: str, at: int) -> list[str]:
        environment = {
            **os.environ,
            "_GANGLION_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(at),
        }
        done = subprocess.run(
            [sys.executable, "-c", "from ganglion.cli.main import main; main()"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert complete("ganglion pl", 1) == ["plugins"]
    assert "--priority" in complete("ganglion update --p", 2)
