"""What people read, compared with the files in `golden/`.

Regenerate with `GANGLION_GOLDEN=write pytest tests/cli/test_screens.py` and read the diff.
"""

import os
from pathlib import Path

import httpx2
import pytest
from tests.cli import answers
from tests.cli.harness import NOW_S, FakeServer, Ganglion

from ganglion.cli.output import screen
from ganglion.cli.output.explanation import deadline_lines, explanation_lines, reason_lines
from ganglion.cli.output.formats import clock, now_ms
from ganglion.model.reasons import Band, Explanation, Raise, Reason, Token

GOLDEN = Path(__file__).parent / "golden"
WRITE = os.environ.get("GANGLION_GOLDEN") == "write"


def compare(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.fixture
def cluster(server: FakeServer) -> FakeServer:
    """A server with something to say on every route."""
    api = "/api/v1"
    server.on(f"GET {api}/workloads", answers.PAGE)
    server.on(f"GET {api}/workloads/train", answers.DETAIL)
    server.on(f"GET {api}/workloads/urgent", answers.RESERVED_DETAIL)
    server.on(f"PATCH {api}/workloads/train", answers.DETAIL | {"priority": 80})
    server.on(f"GET {api}/workloads/train/why", answers.WHY)
    server.on(f"GET {api}/workloads/sweep/why", answers.SWEEP_WHY)
    server.on(f"GET {api}/order", answers.ORDER)
    server.on(f"GET {api}/order/starts", answers.STARTS)
    server.on(f"GET {api}/nodes", answers.NODES)
    server.on(f"GET {api}/gpus", answers.GPUS)
    server.on(f"GET {api}/queues", answers.QUEUES)
    server.on(f"GET {api}/reclaims", answers.RECLAIMS)
    server.on(f"GET {api}/usage", answers.USED_BY_DAY)
    events = httpx2.Response(
        200, text=answers.EVENTS, headers={"content-type": "text/event-stream"}
    )
    server.on(f"GET {api}/events", events)
    return server


SCREENS = {
    "ps": ["ps"],
    "ps-wide": ["ps", "-o", "wide"],
    "ps-csv": ["ps", "--csv"],
    "ps-yaml": ["ps", "-o", "yaml"],
    "queue": ["queue"],
    "queue-wide": ["queue", "-o", "wide"],
    "why": ["why", "train"],
    "why-sweep": ["why", "sweep"],
    "describe": ["describe", "train"],
    "describe-reserved": ["describe", "urgent"],
    "get": ["get", "train"],
    "update": ["update", "train", "--priority", "80"],
    "nodes": ["nodes"],
    "nodes-wide": ["nodes", "-o", "wide"],
    "gpus": ["gpus"],
    "queues": ["queues"],
    "queues-wide": ["queues", "-o", "wide"],
    "queues-describe": ["queues", "describe", "research"],
    "queues-describe-cluster": ["queues", "describe", "east:health"],
    "events": ["events"],
}


@pytest.mark.parametrize("name", SCREENS)
@pytest.mark.usefixtures("cluster")
def test_a_piped_screen_reads_as_recorded(ganglion: Ganglion, name: str) -> None:
    done = ganglion(*SCREENS[name])
    assert (done.code, done.err) == (0, "")
    compare(name, done.out)


@pytest.mark.parametrize("name", ["ps", "queue", "why", "describe", "nodes", "queues"])
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.usefixtures("cluster")
def test_a_terminal_screen_reads_as_recorded_and_is_not_too_wide(
    ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch, name: str, width: int
) -> None:
    monkeypatch.setattr(screen, "is_tty", lambda *, stderr=False: True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    done = ganglion(*SCREENS[name])
    assert max(len(line.rstrip()) for line in done.out.splitlines()) <= width
    compare(f"{name}-{width}", "".join(f"{line.rstrip()}\n" for line in done.out.splitlines()))


@pytest.mark.parametrize("name", SCREENS)
@pytest.mark.usefixtures("cluster")
def test_a_pipe_gets_no_colour_and_no_blanks_at_line_ends(ganglion: Ganglion, name: str) -> None:
    text = ganglion(*SCREENS[name]).out
    assert "\x1b" not in text
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


@pytest.mark.usefixtures("cluster")
def test_colour_can_be_forced_into_a_pipe(
    ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in ganglion("ps").out


def test_evidence_is_printed_in_units_of_people_never_in_raw_ms() -> None:
    booked = NOW_S * 1000
    evidence = {
        "reserved_from_ms": booked,
        "until": booked,
        "limit_ms": 5_400_000,
        "recall_ms": 30_000,
        "asked_mib": 2048,
        "free_milli": 1500,
        "nodes": 3,
    }

    (*_, (_, shown)) = reason_lines(Reason(Token.POLICY, "it is booked", evidence=evidence))

    at = clock(booked)
    assert shown.plain == (
        f"reserved from {at}, until {at}, limit 1h30m, recall 30s, asked 2Gi, free 1.5, nodes 3"
    )


@pytest.mark.parametrize(
    ("due_s", "end", "told"),
    [
        (7200, (1800, 3600), "in 2h00m; likely to be met: nine times in ten it ends within 1h00m"),
        (7200, (3600, 9000), "in 2h00m; an even chance: expected to end in about 1h00m"),
        (7200, (9000, 9900), "in 2h00m; unlikely to be met: expected to end in about 2h30m"),
        (7200, None, "in 2h00m; whether it is met is unknown, as its start or its run time is"),
        (-60, (60, 90), "1m00s ago; unlikely to be met: expected to end in about 1m00s"),
    ],
)
def test_a_deadline_comes_with_the_chance_that_it_is_met(
    due_s: int, end: tuple[int, int] | None, told: str
) -> None:
    now = 10_000_000
    band = Band(now + 1000 * end[0], now + 1000 * end[1]) if end else None
    found = Explanation("a/0", "PENDING", deadline_ms=now + 1000 * due_s, end=band)
    assert [(label, text.plain) for label, text in deadline_lines(found, now)] == [
        ("Deadline", told)
    ]


def test_each_step_of_an_escalation_is_named() -> None:
    now = now_ms()
    found = Explanation(
        "a/0",
        "PENDING",
        Reason(Token.CAPACITY, "full"),
        raised=(Raise(now - 3_600_000, 70, 50),),
        next_raise=Raise(now + 7_200_000, 90),
    )
    lines = [text.plain for label, text in explanation_lines(found) if label in ("Priority", "")]
    assert "70, raised from 50 1h00m ago" in lines
    assert any(line.startswith("90 in 1h59m") or line.startswith("90 in 2h00m") for line in lines)
