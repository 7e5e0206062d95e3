"""Every failure is printed in words, with an exit code, and never as a traceback."""

import json
import subprocess
import sys

import pytest
from tests.cli.harness import Ganglion

from ganglion.cli.server import version
from ganglion.model.errors import InvariantBroken, NotFound


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["pss"], "no such command: pss; did you mean ps?"),
        (["bench", "jct-itp"], "no such command: bench; benchmarks are not installed; in a"),
        (["cancle"], "did you mean cancel or scale?"),
        (["--frobnicate"], "No such option '--frobnicate'"),
        (["ps", "--al"], "--all"),
        (["nodes", "extra"], "unexpected extra argument"),
        (["ps", "-n", "many"], "'many' is not a valid integer"),
        (["ps", "-n", "0"], "0 is not in the range"),
        (["ps", "-o", "xml"], "'xml' is not one of"),
        (["why"], "Missing argument 'JOB'"),
        (["update", "x"], "nothing to change"),
        (["update"], "as --priority 80; name the workloads to change"),
        (
            ["logs", "x/1", "--index", "2", "--rank", "1", "--all-ranks"],
            "exclude each other; x/1 and --index 2 contradict each other",
        ),
        (["update", "x", "--priority", "101"], "101 is not in the range"),
        (["cancel"], "name the workloads to cancel, give a filter, or --all"),
        (["cancel", "x", "--all"], "--all is every workload"),
        (["submit"], "which file?"),
        (["run"], "there is no command to run"),
        (["completion", "tcsh"], "'tcsh' is not one of"),
        (["logs", "x", "--rank", "-1"], "-1 is not in the range"),
        (["cordon", "n", "--reason", " "], "an empty reason explains nothing"),
        (["drain", "n", "--reason", " "], "an empty reason explains nothing"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(
    ganglion: Ganglion, args: list[str], says: str
) -> None:
    done = ganglion(*args)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert "Traceback" not in done.err


def test_without_arguments_the_help_is_printed(ganglion: Ganglion) -> None:
    done = ganglion()
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: ganglion")


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_errors_heed_what_is_said_about_colour(
    ganglion: Ganglion,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    coloured: bool,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in ganglion("pss").err) is coloured


def test_wrong_usage_points_to_the_help_of_the_command(ganglion: Ganglion) -> None:
    assert "Hint: ganglion ps --help" in ganglion("ps", "--nope").err


@pytest.mark.parametrize(
    "args",
    [["ps"], ["why", "x"], ["logs", "x"], ["run", "--", "true"], ["cancel", "x"], ["nodes"]],
)
def test_without_a_server_every_command_says_how_to_start_one(
    ganglion: Ganglion, args: list[str]
) -> None:
    done = ganglion(*args)
    assert (done.code, done.out) == (1, "")
    assert done.err == "Error: no server is running\nHint: start one with: ganglion up\n"


def test_errors_are_json_when_the_answer_would_be(ganglion: Ganglion) -> None:
    error = json.loads(ganglion("ps", "-o", "json").err)
    assert error["code"] == "environment"
    assert error["message"] == "no server is running"
    assert "ganglion up" in error["hint"]


def test_a_json_flag_of_the_job_is_not_ours(ganglion: Ganglion) -> None:
    assert ganglion("run", "--", "tool", "-o", "json").err.startswith("Error: ")


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (NotFound("no workload x", "see: ganglion ps"), 1, "Error: no workload x\nHint: see:"),
        (InvariantBroken("a GPU is used twice"), 1, "Error: a GPU is used twice"),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (RuntimeError("boom\nsecond line"), 70, "failed unexpectedly: RuntimeError: boom\nHint:"),
    ],
)
def test_whatever_is_raised_becomes_words_and_a_code(
    ganglion: Ganglion,
    monkeypatch: pytest.MonkeyPatch,
    raised: BaseException,
    code: int,
    says: str,
) -> None:
    def fail() -> None:
        raise raised

    monkeypatch.setattr(version, "_server", fail)
    done = ganglion("version")
    assert done.code == code
    assert says in done.err
    assert "Traceback" not in done.err


def test_debug_shows_where_a_bug_is(ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(version, "_server", fail)
    with pytest.raises(RuntimeError, match="boom"):
        ganglion("--debug", "version")


def test_a_reader_that_leaves_early_causes_no_message() -> None:
    script = f"{sys.executable} -m ganglion schema | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "{"
    assert done.stderr == ""
