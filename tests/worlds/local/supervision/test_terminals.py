"""What callers of terminals and disks do must not end a job."""

import os
import pty
from pathlib import Path

import pytest

from ganglion.worlds.local.run_files.withheld import WITHHELD, SecretsGone, credentials_of
from ganglion.worlds.local.supervision import pseudo
from ganglion.worlds.local.supervisor import _secrets_of

MALFORMED = (
    b"",
    b"{",
    b"\xff",
    b"[]",
    b"null",
    b"{}",
    b'{"rows": null, "columns": 1}',
    b'{"rows": "many", "columns": 1}',
    b'{"rows": Infinity, "columns": 1}',
    b"[" * 100_000,
)


@pytest.mark.parametrize("payload", MALFORMED, ids=range(len(MALFORMED)))
def test_a_size_that_is_none_changes_nothing(payload: bytes) -> None:
    master, end = pty.openpty()
    try:
        pseudo.resized(end, b'{"rows": 41, "columns": 99}')
        pseudo.resized(end, payload)
        assert os.get_terminal_size(end) == (99, 41)
    finally:
        os.close(master)
        os.close(end)


def test_secrets_that_cannot_be_read_are_gone_and_end_no_supervisor(tmp_path: Path) -> None:
    spec = {WITHHELD: str(tmp_path)}  # a folder: reading it fails with an OSError
    with pytest.raises(SecretsGone, match="cannot be read"):
        credentials_of(spec)
    assert _secrets_of(spec) == []
