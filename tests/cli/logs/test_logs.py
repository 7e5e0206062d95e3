"""Logs of one rank, of all, of those on a node; and what the scheduler did instead."""

from typing import Any

import httpx2
import pytest
from tests.cli import answers
from tests.cli.harness import FakeServer, Ganglion, refusal

from ganglion.cli.main import run

JOB = "/api/v1/workloads/train"
EVENTS = {"content-type": "text/event-stream"}


def said(request: httpx2.Request) -> httpx2.Response:
    """A log that tells which one it is."""
    asked = request.url.params
    return httpx2.Response(200, text=f"rank {asked['rank']} of {asked.get('index', 'the first')}\n")


@pytest.fixture
def logging(server: FakeServer) -> FakeServer:
    server.on(f"GET {JOB}", answers.DETAIL)
    server.on(f"GET {JOB}/logs", said)
    events = httpx2.Response(200, text=answers.EVENTS, headers=EVENTS)
    server.on("GET /api/v1/events", events)
    return server


def asked(server: FakeServer) -> dict[str, str]:
    return dict(server.requests[-1].url.params)


def test_without_options_the_log_of_rank_0_is_printed(
    ganglion: Ganglion, logging: FakeServer
) -> None:
    done = ganglion("logs", "train")
    assert (done.code, done.out, done.err) == (0, "rank 0 of the first\n", "")


def test_every_option_reaches_the_server(ganglion: Ganglion, logging: FakeServer) -> None:
    flags = ["--follow", "--rank", "3", "--tail", "5", "--since", "10m", "--previous"]
    assert ganglion("logs", "train/2", *flags).code == 0
    wanted = {"index": "2", "rank": "3", "tail": "5", "since": "10m"}
    assert asked(logging) == wanted | {"follow": "true", "previous": "true"}


def test_all_ranks_are_printed_one_after_the_other_with_their_names(
    ganglion: Ganglion, logging: FakeServer
) -> None:
    lines = ganglion("logs", "train", "--all-ranks").out.splitlines()
    assert lines == [f"[rank {n}] rank {n} of 0" for n in range(8)]


def test_the_ranks_of_one_node_are_chosen(ganglion: Ganglion, logging: FakeServer) -> None:
    lines = ganglion("logs", "train", "--node", "node-1").out.splitlines()
    assert lines == [f"[rank {n}] rank {n} of 0" for n in range(4, 8)]


def test_pod_sets_may_have_different_numbers_of_processes(
    ganglion: Ganglion, logging: FakeServer
) -> None:
    sets = [{"name": "a", "procs_per_node": 3}, {"name": "b"}]
    pods = [("a", "node-1"), ("b", "node-0"), ("b", "node-1")]
    placed = [{"pod_set": name, "index": 0, "node": node} for name, node in pods]
    (gang,) = answers.DETAIL["gangs"]
    detail = answers.DETAIL | {"document": {"name": "x", "pod_sets": sets}}
    detail["gangs"] = [gang | {"ranks": 5, "placement": {"pods": placed}}]
    logging.on(f"GET {JOB}", detail)
    lines = ganglion("logs", "train", "--node", "node-1").out.splitlines()
    assert lines == [f"[rank {n}] rank {n} of 0" for n in (0, 1, 2, 4)]


def test_all_ranks_can_be_followed(ganglion: Ganglion, logging: FakeServer) -> None:
    lines = ganglion("logs", "train", "--all-ranks", "-f").out.splitlines()
    assert sorted(lines) == [f"[rank {n}] rank {n} of 0" for n in range(8)]


def test_a_failure_in_one_of_several_logs_is_told(ganglion: Ganglion, logging: FakeServer) -> None:
    def broken(request: httpx2.Request) -> httpx2.Response:
        if request.url.params["rank"] == "5":
            return refusal(404, "state.not_found", "the log of rank 5 is gone")
        return said(request)

    logging.on(f"GET {JOB}/logs", broken)
    done = ganglion("logs", "train", "--all-ranks", "-f")
    assert done.code == 1
    assert "the log of rank 5 is gone" in done.err


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["train", "--node", "node-7"], 1, "has no process on node node-7"),
        (["train/9", "--all-ranks"], 1, "llama-sft-7 has no number 9"),
        (["train/x"], 2, "no number behind the slash"),
        (["train/1", "--index", "2"], 2, "contradict each other"),
        (["train", "--rank", "1", "--all-ranks"], 2, "exclude each other"),
    ],
)
def test_what_does_not_exist_or_contradicts_itself_is_refused(
    ganglion: Ganglion, logging: FakeServer, args: list[str], code: int, says: str
) -> None:
    done = ganglion("logs", *args)
    assert done.code == code
    assert says in done.err


def test_bytes_of_a_log_are_not_touched(
    server: FakeServer, ganglion: Ganglion, capfdbinary: Any
) -> None:
    raw = b"caf\xe9\r\x1b[2K\x00no newline"
    server.on(f"GET {JOB}/logs", httpx2.Response(200, content=raw))
    assert run(["logs", "train"]) == 0
    assert capfdbinary.readouterr().out == raw


def test_diagnose_prints_the_events_of_the_job_alone(
    ganglion: Ganglion, logging: FakeServer
) -> None:
    out = ganglion("logs", "train", "--diagnose").out
    assert [line.split()[2] for line in out.splitlines()] == [
        "gang_submitted",
        "gang_placed",
        "gang_started",
        "gang_ended",
        "gang_stopping",
        "checkpoint_committed",
    ]
    assert asked(logging) == {"after": "0", "follow": "false"}


@pytest.mark.parametrize(("job", "count"), [("train", 6), ("train/0", 6), ("train/1", 0)])
def test_events_of_a_job_or_of_one_gang_are_chosen(
    ganglion: Ganglion, logging: FakeServer, job: str, count: int
) -> None:
    assert len(ganglion("events", job).out.splitlines()) == count


def test_a_stream_of_events_that_the_server_ends_is_told(
    ganglion: Ganglion, server: FakeServer
) -> None:
    text = 'event: end\ndata: {"code":"shutting_down","message":"bye","hint":"later"}\n\n'
    server.on("GET /api/v1/events", httpx2.Response(200, text=text, headers=EVENTS))
    done = ganglion("events", "-f")
    assert done.code == 1
    assert "the stream of events ended: bye" in done.err
