"""What is below a process, and below the helper that started programs in its place."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from ganglion.worlds.local.machine.presence import total

LARGE = "x = bytearray(64 << 20); print(flush=True); input()"


@pytest.fixture
def two() -> Iterator[list[subprocess.Popen[bytes]]]:
    made = [
        subprocess.Popen(
            [sys.executable, "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for line in ("print(flush=True); input()", LARGE)
    ]
    for each in made:
        assert each.stdout
        each.stdout.readline()
    yield made
    for each in made:
        each.communicate(b"\n")


def test_what_a_helper_has_started_counts_as_what_is_below(
    two: list[subprocess.Popen[bytes]],
) -> None:
    """Here this process is the parent of both, as the helper's process is."""
    supervisor, program = two
    alone = total(supervisor.pid, 1)
    both = total(supervisor.pid, 1, frozenset({program.pid}))
    gone = total(supervisor.pid, 1, frozenset({1 << 29}))
    assert alone
    assert both
    assert gone == alone
    assert alone.memory_mib < 64 <= both.memory_mib
