"""Submitting: what is sent, once; then detach, wait or follow to the job's own exit code."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
import time_machine
from tests.cli import answers
from tests.cli.harness import FakeServer, Ganglion, refusal

from ganglion.cli.logs import follow
from ganglion.cli.output import screen
from ganglion.cli.submission.documents import SHELL

POST = "POST /api/v1/workloads"
LIST = "GET /api/v1/workloads"
ACCEPTED = {"id": "train-7", "name": "train", "gangs": 1, "next": []}
GET = "GET /api/v1/workloads/train-7"
LOGS = "GET /api/v1/workloads/train-7/logs"


def view(state: str, **more: Any) -> dict[str, Any]:
    """The job in a state; it has run when it has started."""
    begun: dict[str, Any] = {"phase": "running"} if state == "RUNNING" else {"phase": "pending"}
    if state not in ("QUEUED", "RUNNING"):
        begun = {"phase": "ended", "started": answers.NOW - 60_000}
    gang = {"id": "train-7/0", "index": 0, "attempt": 1, "submitted": 1, **begun}
    base = answers.TRAIN | {"id": "train-7", "name": "train", "state": state, "gangs": [gang]}
    if state != "QUEUED":
        base |= {"reason": "", "message": "", "position": None}
    return base | more


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait between two looks."""
    monkeypatch.setattr(follow, "PERIOD_S", 0)


@pytest.fixture
def accepting(server: FakeServer) -> FakeServer:
    server.on(POST, ACCEPTED)
    server.on(LIST, {"items": []})
    server.on(LOGS, httpx2.Response(200, text="step 1\nstep 2\n"))
    return server


@pytest.fixture
def workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("train.yaml").write_text("name: train\nrun: python train.py\ngpus: 2\nenv: [A=1]\n")
    return "train.yaml"


def sent(server: FakeServer) -> dict[str, Any]:
    (body,) = server.bodies(POST)
    assert isinstance(body, dict)
    return body


@pytest.fixture(autouse=True)
def bare_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell that sets nothing that goes along with a job."""
    for name in SHELL:
        monkeypatch.delenv(name, raising=False)


def test_the_persons_own_python_goes_along_and_is_overridden_by_name(
    ganglion: Ganglion, accepting: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/venv/bin:/bin")
    monkeypatch.setenv("VIRTUAL_ENV", "/venv")
    monkeypatch.setenv("SECRET", "x")

    assert ganglion("run", "-d", "-e", "VIRTUAL_ENV=/other", "--", "python", "t.py").code == 0

    assert sent(accepting)["env"] == {"PATH": "/venv/bin:/bin", "VIRTUAL_ENV": "/other"}


def test_an_image_brings_its_own_environment(
    ganglion: Ganglion, accepting: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/venv/bin:/bin")

    assert ganglion("run", "-d", "--image", "pytorch:26.09", "--", "python", "t.py").code == 0

    assert "env" not in sent(accepting)


def test_run_sends_the_command_the_directory_and_the_flags(
    ganglion: Ganglion, accepting: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", "abc")
    flags = ["--gpus", "H100:2", "--nodes", "2..4", "-q", "research", "--time", "2h"]
    flags += ["-e", "A=1", "-e", "HF_TOKEN", "--priority", "high", "--memory", "64Gi"]
    done = ganglion("run", "-d", *flags, "--", "python", "train.py", "--lr", "3")
    assert (done.code, done.out) == (0, "train-7\n")
    body = sent(accepting)
    assert body["run"] == ["python", "train.py", "--lr", "3"]
    assert body["name"] == "train"
    assert body["workdir"] == str(tmp_path)
    assert (body["env"], body["secrets"]) == ({"A": "1"}, {"HF_TOKEN": "abc"})
    assert body["resources"] == {"gpus": "H100:2", "memory": "64GiB"}
    assert (body["nodes"], body["queue"], body["priority"]) == ("2..4", "research", "high")
    assert body["time_limit"] == "2h"


@pytest.mark.parametrize(
    "words", [["--", "sh", "-c", "a && b"], ["sh", "-c", "a && b"], ["--", "sh -c 'a && b'"]]
)
def test_run_takes_words_with_and_without_dashes_and_a_quoted_line(
    ganglion: Ganglion, accepting: FakeServer, words: list[str]
) -> None:
    assert ganglion("run", "-d", *words).code == 0
    assert sent(accepting)["run"] in (["sh", "-c", "a && b"], "sh -c 'a && b'")


def test_a_name_that_nobody_chose_is_numbered_when_it_is_taken(
    ganglion: Ganglion, accepting: FakeServer
) -> None:
    taken = [answers.TRAIN | {"name": name} for name in ("train", "train-2")]
    accepting.on(LIST, {"items": taken})
    assert ganglion("run", "-d", "--", "python", "train.py").code == 0
    assert sent(accepting)["name"] == "train-3"


def test_a_name_that_was_chosen_is_sent_as_it_is(ganglion: Ganglion, accepting: FakeServer) -> None:
    accepting.on(LIST, {"items": [answers.TRAIN | {"name": "mine"}]})
    assert ganglion("run", "-d", "--name", "mine", "--", "true").code == 0
    assert sent(accepting)["name"] == "mine"


def test_flags_win_over_keys_of_the_file_and_env_is_merged(
    ganglion: Ganglion, accepting: FakeServer, workload: str
) -> None:
    assert ganglion("submit", workload, "-d", "--gpus", "8", "-e", "B=2").code == 0
    body = sent(accepting)
    assert body["resources"]["gpus"] in (8, "8")
    assert body["env"] == {"A": "1", "B": "2"}


@pytest.mark.parametrize("args", [["submit", "train.yaml"], ["submit", "-f", "train.yaml"]])
@pytest.mark.usefixtures("workload")
def test_a_file_is_an_argument_or_an_option(
    ganglion: Ganglion, accepting: FakeServer, args: list[str]
) -> None:
    assert ganglion(*args, "-d").code == 0
    assert sent(accepting)["name"] == "train"


@pytest.mark.usefixtures("workload")
def test_every_document_of_every_file_is_submitted_with_its_own_key(
    ganglion: Ganglion, accepting: FakeServer
) -> None:
    Path("two.yaml").write_text("name: a\nrun: x\n---\nname: b\nrun: x\n")
    done = ganglion("submit", "train.yaml", "two.yaml", "-d", "-o", "json")
    assert [body["name"] for body in accepting.bodies(POST)] == ["train", "a", "b"]
    assert len({request.headers["idempotency-key"] for request in accepting.requests}) == 3
    assert [answer["id"] for answer in json.loads(done.out)] == ["train-7"] * 3


@pytest.mark.usefixtures("workload")
def test_nothing_is_submitted_when_one_of_several_files_is_wrong(
    ganglion: Ganglion, accepting: FakeServer
) -> None:
    assert ganglion("submit", "train.yaml", "missing.yaml", "-d").code == 2
    assert accepting.requests == []


def test_what_a_batch_script_says_in_vain_is_told(
    ganglion: Ganglion, accepting: FakeServer, tmp_path: Path
) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --mail-type=END\npython x.py\n")
    done = ganglion("submit", str(script), "-d")
    assert done.code == 0
    assert "Warning: " in done.err
    assert "mail" in done.err
    assert sent(accepting)["nodes"] == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02", "binary"),
        (b"name: x\nrnu: python x.py\n", "bad.yaml:2:1: rnu"),
        (b"name: x\nrun: y\ngpus: -1\n", "bad.yaml:3:1: gpus"),
        (b"name: [x\n", "bad.yaml"),
        (b"- just\n- a list\n", "bad.yaml"),
        (b"a" * 2_000_000, "larger than 1 MiB"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_place(
    ganglion: Ganglion,
    server: FakeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_bytes(content)
    done = ganglion("submit", "bad.yaml")
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert "Traceback" not in done.err
    assert server.requests == []


@pytest.mark.parametrize(
    ("path", "says"), [("missing.yaml", "there is no file"), (".", "is a directory")]
)
def test_a_path_that_is_no_file_is_named(ganglion: Ganglion, path: str, says: str) -> None:
    done = ganglion("submit", path)
    assert done.code == 2
    assert says in done.err


@pytest.mark.parametrize(
    ("flag", "value"),
    [("--gpus", "-1"), ("--memory", "-1"), ("--nodes", "0"), ("--time", "soon")],
)
def test_a_flag_that_is_wrong_is_named(
    ganglion: Ganglion, server: FakeServer, flag: str, value: str
) -> None:
    done = ganglion("run", flag, value, "--", "true")
    assert done.code == 2
    assert flag.removeprefix("--") in done.err
    assert server.requests == []


def test_a_refusal_of_the_server_is_told_and_may_be_overruled(
    ganglion: Ganglion, accepting: FakeServer
) -> None:
    hint = "force=true submits it all the same"
    accepting.on(POST, refusal(422, "input.never", "it could never start", hint), ACCEPTED)
    done = ganglion("run", "-d", "--", "true")
    assert done.code == 2
    assert done.err == ("Error: it could never start\nHint: --force submits it all the same\n")
    assert ganglion("run", "-d", "--force", "--", "true").code == 0
    assert accepting.requests[-1].url.params["force"] == "true"


def test_detach_and_wait_contradict_each_other(ganglion: Ganglion, accepting: FakeServer) -> None:
    assert ganglion("run", "-d", "--wait", "--", "true").code == 2
    assert accepting.bodies(POST) == []


# Attached


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (view("SUCCEEDED", exit_code=0), 0),
        (view("FAILED", exit_code=3), 3),
        (view("FAILED", exit_code=-9), 137),
        (view("FAILED"), 1),
        (view("TIMED_OUT", exit_code=-15), 124),
        (view("CANCELLED"), 1),
    ],
)
def test_attached_it_prints_the_log_and_exits_as_the_job_did(
    ganglion: Ganglion, accepting: FakeServer, end: dict[str, Any], code: int
) -> None:
    accepting.on(GET, view("QUEUED"), view("RUNNING"), end)
    done = ganglion("run", "--", "python", "train.py")
    assert done.code == code
    assert done.out == "step 1\nstep 2\n"
    assert "Submitted train-7. Ctrl-C leaves it running." in done.err
    assert end["state"] in done.err.splitlines()[-1]


def test_attached_it_says_why_the_job_waits_once_per_reason(
    ganglion: Ganglion, accepting: FakeServer
) -> None:
    waiting = [view("QUEUED"), view("QUEUED"), view("QUEUED", reason="quota", message="9 of 8")]
    accepting.on(GET, *waiting, view("SUCCEEDED"))
    err = ganglion("run", "--", "true").err
    assert err.count(answers.TRAIN["message"]) == 1
    assert "train-7 QUEUED (position 3) quota: 9 of 8" in err


def test_on_a_terminal_the_wait_is_one_line_that_changes_in_place(
    ganglion: Ganglion, accepting: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (screen, follow):
        monkeypatch.setattr(module, "is_tty", lambda *, stderr=False: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    accepting.on(GET, view("QUEUED"), view("RUNNING"), view("FAILED", exit_code=3))
    done = ganglion("run", "--", "true")
    assert (done.code, done.out) == (3, "step 1\nstep 2\n")
    assert answers.TRAIN["message"] in done.err
    assert "\x1b[2K" in done.err  # the line is erased before the log begins


def test_a_job_that_starts_again_has_the_logs_of_every_attempt(
    ganglion: Ganglion, accepting: FakeServer
) -> None:
    second = view("RUNNING")
    second["gangs"][0] |= {"attempt": 2}
    ended = view("SUCCEEDED")
    ended["gangs"][0] |= {"attempt": 2}
    accepting.on(GET, view("RUNNING"), view("QUEUED"), second, ended)
    logs = [httpx2.Response(200, text=f"attempt {n}\n") for n in (1, 2)]
    accepting.on(LOGS, *logs)
    done = ganglion("run", "--", "true")
    assert (done.code, sorted(done.out.splitlines())) == (0, ["attempt 1", "attempt 2"])


def test_all_ranks_are_told_apart(ganglion: Ganglion, accepting: FakeServer) -> None:
    end = view("SUCCEEDED")
    end["gangs"][0] |= {"ranks": 2}
    accepting.on(GET, end)
    accepting.on(LOGS, lambda r: httpx2.Response(200, text=f"I am {r.url.params['rank']}"))
    done = ganglion("run", "--all-ranks", "--", "true")
    assert sorted(done.out.splitlines()) == ["[rank 0] I am 0", "[rank 1] I am 1"]


def test_gangs_of_a_sweep_are_told_apart_and_counted(
    ganglion: Ganglion, accepting: FakeServer
) -> None:
    end = view("SUCCEEDED", succeeded=2)
    gang = end["gangs"][0]
    end["gangs"] = [gang, gang | {"id": "train-7/1", "index": 1}]
    accepting.on(GET, end | {"state": "RUNNING", "succeeded": 1}, end)
    accepting.on(LOGS, lambda r: httpx2.Response(200, text=f"trial {r.url.params['index']}\n"))
    done = ganglion("run", "--", "true")
    assert sorted(done.out.splitlines()) == ["[0] trial 0", "[1] trial 1"]
    assert "train-7 RUNNING 1/2 done" in done.err


def test_waiting_prints_no_logs_and_exits_as_the_job_did(
    ganglion: Ganglion, accepting: FakeServer
) -> None:
    accepting.on(GET, view("RUNNING"), view("FAILED", exit_code=4))
    done = ganglion("run", "--wait", "-o", "json", "--", "true")
    assert done.code == 4
    assert json.loads(done.out)["state"] == "FAILED"


def test_ctrl_c_detaches_and_says_how_to_come_back(
    ganglion: Ganglion, accepting: FakeServer
) -> None:
    def interrupt(request: httpx2.Request) -> httpx2.Response:
        raise KeyboardInterrupt

    accepting.on(GET, view("RUNNING"), interrupt)
    done = ganglion("run", "--", "true")
    assert done.code == 130
    assert "Detached; train-7 goes on." in done.err
    assert "ganglion logs train-7 -f" in done.err
    assert "ganglion cancel train-7" in done.err


def test_losing_the_server_while_attached_is_told(
    ganglion: Ganglion, accepting: FakeServer
) -> None:
    def lose(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    accepting.on(GET, view("RUNNING"), lose)
    done = ganglion("run", "--", "true")
    assert done.code == 1
    assert "no server is running" in done.err
    assert "Detached; train-7 goes on." in done.err


def test_an_interrupted_submit_is_repeated_with_the_same_key_and_says_how_to_check(
    ganglion: Ganglion, accepting: FakeServer, workload: str, tmp_path: Path
) -> None:
    def interrupt(request: httpx2.Request) -> httpx2.Response:
        raise KeyboardInterrupt

    accepting.on(POST, interrupt, ACCEPTED)
    done = ganglion("submit", workload, "-d")
    assert done.code == 130
    assert "Interrupted while submitting train" in done.err
    assert "ganglion ps" in done.err
    # Another process would find what this one left; its number is in place of one that is gone.
    (left,) = (tmp_path / "home" / "submits").iterdir()
    mark, _, key = left.name.split(".")
    left.rename(left.with_name(f"{mark}.999999999.{key}"))
    with time_machine.travel(left.parent.stat().st_mtime):
        again = ganglion("submit", workload, "-d")
    assert "Resuming the interrupted submit of train." in again.err
    posts = [r for r in accepting.requests if r.method == "POST"]
    assert [r.headers["idempotency-key"] for r in posts] == [key, key]


# Dry run

DRY = POST


def test_a_dry_run_that_fits_shows_where_and_exits_with_0(
    ganglion: Ganglion, server: FakeServer, workload: str
) -> None:
    server.on(POST, {"placement": answers.PLACEMENT})
    done = ganglion("submit", workload, "--dry-run")
    assert done.code == 0
    assert done.out == (
        "train would start now, within one rack (rack=r1)\n"
        "NODE    PODS    GPUS\n"
        "node-0  1 main  8: 0-7\n"
        "node-1  1 main  3: 0,2-3\n"
    )
    assert [r.url.params["dry_run"] for r in server.requests] == ["true"]


def test_a_dry_run_that_waits_shows_why_and_exits_with_1(
    ganglion: Ganglion, server: FakeServer, workload: str
) -> None:
    verdict = {"reason": answers.REASON, "suggestions": answers.EXPLANATION["suggestions"]}
    server.on(POST, verdict)
    done = ganglion("submit", workload, "--dry-run")
    assert done.code == 1
    assert done.out.splitlines()[0] == f"train would wait: {answers.REASON['message']}"
    assert "Would start it  let it span racks" in done.out


DISPLACED = {
    "items": [
        {
            **{"gang": "sweep-3/7", "workload": "sweep-3", "name": "sweep", "queue": "vision"},
            **{"user": "ann", "fate": "requeued", "gpu_milli": 8000, "lost_gpu_ms": 5_400_000},
            **{"most_gpu_ms": 5_400_000, "most_micro": 3_000_000},
        },
        {
            **{"gang": "big-9/0", "workload": "big-9", "name": "big", "queue": "nlp"},
            **{"user": "bob", "fate": "moved", "gpu_milli": 4000, "lost_gpu_ms": None},
            **{"most_gpu_ms": 36_000_000, "most_micro": 20_000_000},
        },
    ],
    **{"others": 2, "gpu_milli": 14_000, "lost_gpu_ms": 5_400_000, "unknown": 1},
    **{"most_gpu_ms": 41_400_000, "most_micro": 23_000_000, "currency": "EUR"},
}


def test_a_dry_run_says_whom_it_displaces_and_what_they_lose(
    ganglion: Ganglion, server: FakeServer, workload: str
) -> None:
    stops = ["sweep-3/7", "big-9/0"]
    server.on(POST, {"placement": answers.PLACEMENT, "stops": stops, "displaced": DISPLACED})
    done = ganglion("submit", workload, "--dry-run")
    assert done.code == 0
    first, *_, head, one, other, rest, total = done.out.splitlines()
    assert first.startswith("train would start once sweep-3/7, big-9/0 and 2 others yield")
    assert head.split("  ")[0] == "YIELDS"
    words = "sweep-3/7 vision ann 8 1.5 GPU-hours 3.00 EUR stopped, waits again"
    assert " ".join(one.split()) == words
    assert "unknown, at most 10 GPU-hours" in other
    assert other.endswith("goes on elsewhere")
    assert rest == "and 2 others that you may not see"
    assert total == (
        "they give up 14 GPUs; 1.5 GPU-hours of work lost, at most 11.5 GPU-hours, charged"
        " 23.00 EUR; 1 gang may lose all: it reports no checkpoints"
    )
    told = json.loads(ganglion("submit", workload, "--dry-run", "-o", "json").out)
    assert told["displaced"]["items"][1]["lost_gpu_ms"] is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"start": {"p50": 600_000, "p90": 1_800_000}},
            "in about 10m00s; nine times in ten within",
        ),
        ({"start_unknown": "guesses", "guesses": ["w-1/0"]}, "unknown: w-1/0 may run for any time"),
        ({"start_unknown": "no_end"}, "unknown: no expected end of a running gang"),
        ({"start_unknown": "blocked"}, "unknown: what it waits for is not room"),
        ({"start_unknown": "large"}, "unknown: the server knows too many gangs"),
        ({"takeover_ms": 300_000}, "Takes over  in 5m00s, once those in its way have saved"),
    ],
)
def test_a_dry_run_that_waits_says_when_it_would_start(
    ganglion: Ganglion, server: FakeServer, workload: str, more: dict[str, Any], said: str
) -> None:
    server.on(POST, {"reason": answers.REASON} | more)
    with time_machine.travel(0, tick=False):
        out = ganglion("submit", workload, "--dry-run").out
    assert said in out


def test_a_dry_run_tells_never_from_not_now(
    ganglion: Ganglion, server: FakeServer, workload: str
) -> None:
    server.on(POST, {"reason": answers.NEVER})
    done = ganglion("submit", workload, "--dry-run")
    assert done.code == 1
    assert "train can never start: one pod needs 16 GPUs" in done.out
    assert "never, as things are" in done.out


def test_a_dry_run_as_json_is_the_verdict(
    ganglion: Ganglion, server: FakeServer, workload: str
) -> None:
    server.on(POST, {"reason": answers.NEVER})
    done = ganglion("submit", workload, "--dry-run", "-o", "json")
    assert done.code == 1
    assert json.loads(done.out)["reason"]["never"] is True


def test_a_dry_run_names_its_plan_and_a_submit_asks_for_it(
    ganglion: Ganglion, server: FakeServer, workload: str
) -> None:
    server.on(POST, {"placement": answers.PLACEMENT, "plan": "0123456789", "snapshot": 41})
    assert "plan 0123456789 of event 41" in ganglion("submit", workload, "--dry-run").err
    server.on(POST, ACCEPTED)
    ganglion("submit", workload, "-d", "--if-plan", "0123456789")
    assert server.requests[-1].url.params["if_plan"] == "0123456789"
    done = ganglion("submit", workload, workload, "-d", "--if-plan", "0123456789")
    assert done.code == 2
    assert "a plan is that of one workload" in done.err


def test_a_dry_run_of_a_sweep_says_that_it_looked_at_the_first_trial(
    ganglion: Ganglion, server: FakeServer, tmp_path: Path
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text("name: sweep\nrun: x\nparams: {lr: [1, 2], seed: 0..4}\n")
    server.on(POST, {"placement": answers.PLACEMENT})
    out = ganglion("submit", str(file), "--dry-run").out
    assert out.startswith("sweep/0, the first of 10, would start now")


def test_everything_that_is_wrong_with_a_file_is_said_at_once(
    ganglion: Ganglion, tmp_path: Path
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("run: x\nnodes: 0\nresources:\n  memry: 3\n")
    done = ganglion("submit", str(file))
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert lines[0].startswith(f"Error: {file}:2:1: nodes: `0` is too small")
    assert f"Error: {file}:4:3: resources.memry: unknown key `memry`" in lines
    said = json.loads(ganglion("submit", str(file), "-o", "json").err)
    places = [(each["line"], each["column"], each["key"]) for each in said["errors"]]
    assert places == [(2, 1, "nodes"), (4, 3, "resources.memry")]
    assert {"code", "message", "hint"} <= said.keys()


def test_everything_that_is_wrong_with_several_files_and_flags_is_said_at_once(
    ganglion: Ganglion, server: FakeServer, workload: str, tmp_path: Path
) -> None:
    Path("two.yaml").write_text("run: x\nnodes: 0\n---\nrun: [\n---\nrun: y\nmemry: 3\n")
    flags = ("--gpus", "-1", "--memory", "lots", "--env", "A-B=1", "-d", "--wait")
    done = ganglion("submit", workload, "two.yaml", "absent.yaml", *flags)
    assert (done.code, done.out) == (2, "")
    errors = [each for each in done.err.splitlines() if each.startswith("Error:")]
    starts = [
        *("--wait: stays", "env: ", "gpus: ", "memory: ", "two.yaml:2:1: nodes: "),
        *("two.yaml:5:1: this is not YAML", "two.yaml:7:1: memry: ", "there is no file absent"),
    ]
    assert len(errors) == len(starts), errors
    for error, start in zip(errors, starts, strict=True):
        assert error.startswith(f"Error: {start}"), errors
    assert server.bodies(POST) == []


def test_flags_that_contradict_several_documents_are_named_once(
    ganglion: Ganglion, workload: str, tmp_path: Path
) -> None:
    Path("more.yaml").write_text("run: y\npod_sets: [{name: a}]\n---\nrun: z\nkind: sweep\n")
    done = ganglion("submit", "more.yaml", workload, "--nodes", "2")
    assert done.err.count("kind: a sweep needs `params`") == 1
    Path("more.yaml").write_text(
        "run: y\npod_sets: [{name: a}]\n---\nrun: z\npod_sets: [{name: b}]"
    )
    done = ganglion("submit", "more.yaml", "--nodes", "2", "--gpus", "1")
    errors = [each for each in done.err.splitlines() if each.startswith("Error:")]
    assert [each.partition(" cannot")[0] for each in errors] == ["Error: nodes:", "Error: gpus:"]


def test_every_variable_that_is_plain_and_secret_is_named(
    ganglion: Ganglion, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text("run: x\nenv: {A: 1, B: 2}\nsecrets: [A, B]\n")
    (tmp_path / "b.yaml").write_text("run: x\nenv: {C: 1}\nsecrets: [C]\n")
    done = ganglion("submit", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"))
    assert [name for name in "ABC" if f"the variable `{name}` is in `env`" in done.err] == [*"ABC"]
