"""Tests that leave changed what they share with others of their process are found."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from tests.untouched import untouched


def _quiet() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what the cases below leave."""
    monkeypatch.setenv("GANGLION_HOME", "one")
    monkeypatch.chdir(Path.cwd())
    monkeypatch.setattr(sys, "path", sys.path.copy())
    ignored, level = signal.getsignal(signal.SIGUSR1), logging.getLogger().level
    yield
    os.umask(0o022)
    signal.signal(signal.SIGUSR1, ignored)
    logging.getLogger().setLevel(level)
    structlog.reset_defaults()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda: os.environ.update(GANGLION_HOME="two"), "GANGLION_HOME 'one' -> 'two'"),
        (lambda: os.environ.pop("GANGLION_HOME"), "GANGLION_HOME 'one' -> None"),
        (lambda: os.chdir("/"), "folder"),
        (lambda: os.umask(0o077), "umask"),
        (lambda: sys.path.append("/nowhere"), "import_path"),
        (lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN), "signals"),
        (lambda: logging.getLogger().setLevel(logging.DEBUG), "root_logger"),
        (_quiet, "structlog"),
    ],
)
def test_what_is_left_changed_is_named(
    restored: None, change: Callable[[], object], named: str
) -> None:
    with pytest.raises(AssertionError, match=rf"^a test leaves .*{named}"), untouched("a test"):
        change()


def test_what_is_as_it_was_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    with untouched("a test"), monkeypatch.context() as patch, structlog.testing.capture_logs():
        patch.setenv("GANGLION_HOME", "two")
        patch.syspath_prepend("/nowhere")
