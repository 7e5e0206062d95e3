"""A socket that listens in a process that may open no more files."""

import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from ganglion.transport.accepting import Listening, listening
from ganglion.transport.refusals import BUSY

CALLERS = 3


@contextmanager
def no_more_files() -> Iterator[None]:
    """No file may be opened that would get a number higher than all that are open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        highest = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
        while (filler := os.open(os.devnull, os.O_RDONLY)) <= highest:
            stack.callback(os.close, filler)
        os.close(filler)
        resource.setrlimit(resource.RLIMIT_NOFILE, (filler, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def called() -> Iterator[tuple[Listening, list[socket.socket]]]:
    """A socket for whose answer some callers wait."""
    with ExitStack() as stack:
        bound = socket.socket()
        bound.bind(("127.0.0.1", 0))
        ours = stack.enter_context(listening(bound))
        ours.listen()
        ours.setblocking(False)
        callers = [stack.enter_context(socket.socket()) for _ in range(CALLERS)]
        for each in callers:
            each.connect(ours.getsockname())
            each.settimeout(10)
        yield ours, callers


def test_without_files_every_caller_is_refused() -> None:
    with called() as (ours, callers), no_more_files():
        with pytest.raises(BlockingIOError):
            ours.accept()
        assert [each.recv(len(BUSY)) for each in callers] == [BUSY] * CALLERS


def test_a_file_that_comes_back_is_kept_for_refusals_not_given_to_a_caller() -> None:
    with called() as (ours, callers), no_more_files():
        assert ours._spare is not None
        os.close(ours._spare)
        thief = os.open(os.devnull, os.O_RDONLY)
        ours._spare = None
        with pytest.raises(OSError, match="Too many open files"):
            ours.accept()
        os.close(thief)
        with pytest.raises(BlockingIOError):
            ours.accept()
        assert [each.recv(len(BUSY)) for each in callers] == [BUSY] * CALLERS
