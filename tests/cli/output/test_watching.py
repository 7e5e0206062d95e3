"""Screens that are watched are drawn again, and end quietly at Ctrl-C."""

import pytest
from tests.cli import answers
from tests.cli.harness import FakeServer, Ganglion

from ganglion.cli.output import screen, watching


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch, server: FakeServer) -> None:
    """Three looks at the list, of which the second shows nothing new; then Ctrl-C."""
    other = answers.TRAIN | {"state": "RUNNING"}
    pages = [{"items": [answers.TRAIN]}, {"items": [answers.TRAIN]}, {"items": [other]}]
    server.on("GET /api/v1/workloads", *pages)
    left = [None, None]

    def sleep(_seconds: float) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()

    monkeypatch.setattr(watching.time, "sleep", sleep)  # type: ignore[attr-defined]


@pytest.mark.usefixtures("looks")
def test_through_a_pipe_every_change_is_printed_once(ganglion: Ganglion) -> None:
    done = ganglion("ps", "--watch")
    assert done.code == 0
    assert done.out.count("ID ") == 2
    assert done.out.count("QUEUED") == 1
    assert done.out.count("RUNNING") == 1


@pytest.mark.usefixtures("looks")
def test_on_a_terminal_the_screen_is_drawn_over(
    ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "is_tty", lambda *, stderr=False: True)
    monkeypatch.setattr(watching, "is_tty", lambda *, stderr=False: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = ganglion("ps", "--watch")
    assert done.code == 0
    assert "\x1b[" in done.out
    assert "RUNNING" in done.out


def test_a_server_that_goes_away_ends_the_watch_with_an_error(
    ganglion: Ganglion, server: FakeServer
) -> None:
    done = ganglion("ps", "--watch")
    assert done.code == 1
    assert "nothing at /api/v1/workloads" in done.err
