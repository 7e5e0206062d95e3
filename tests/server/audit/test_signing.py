"""Signing while the disk refuses, and after."""

import errno
import os
from pathlib import Path

from tests.audit.trail import at_rest, write

from ganglion.audit.export import exported
from ganglion.audit.folder import CHECKPOINTS, AuditFolder
from ganglion.audit.verify import verified
from ganglion.ledger.ledger import Ledger
from ganglion.seams.effects import SYSTEM
from ganglion.seams.files import OWNER, SystemFiles, Where
from ganglion.server.audit.signing import Signing


class FullDisk(SystemFiles):
    """Writes a part of a checkpoint and refuses the rest, while `full`."""

    def __init__(self) -> None:
        self.full = False
        self._checkpoints = set[int]()

    def open(self, path: Where, flags: int, mode: int = OWNER) -> int:
        descriptor = super().open(path, flags, mode)
        if Path(path).name == CHECKPOINTS:
            self._checkpoints.add(descriptor)
        return descriptor

    def close(self, descriptor: int) -> None:
        self._checkpoints.discard(descriptor)
        super().close(descriptor)

    def write(self, descriptor: int, content: bytes) -> None:
        if self.full and descriptor in self._checkpoints:
            super().write(descriptor, content[:50])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(descriptor, content)


def test_a_full_disk_is_said_and_what_was_not_signed_is_signed_later(tmp_path: Path) -> None:
    disk = FullDisk()
    ledger = Ledger.open(tmp_path / "ledger.db")
    signing = Signing(tmp_path, ledger, lambda: 0, SYSTEM._replace(files=disk))
    write(ledger, 1)
    assert signing.step(ending=True)
    assert signing.trouble == ""
    write(ledger, 1)
    disk.full = True
    assert signing.step(ending=True) is None
    assert "No space left" in signing.trouble
    disk.full = False
    write(ledger, 1)
    made = signing.step(ending=True)
    assert made
    assert (made.seq, signing.newest, signing.trouble) == (6, made, "")
    ledger.close()
    assert [each.seq for each in AuditFolder(tmp_path).sealed()] == [2, 6]
    with at_rest(tmp_path) as reader:
        assert verified(exported(reader, AuditFolder(tmp_path)), None).sound


def test_a_key_that_others_can_read_signs_nothing_and_the_thread_goes_on(tmp_path: Path) -> None:
    key = tmp_path / "audit" / "key"
    AuditFolder(tmp_path).signer()
    key.chmod(0o644)
    ledger = Ledger.open(tmp_path / "ledger.db")
    write(ledger, 1)
    signing = Signing(tmp_path, ledger, lambda: 0)
    assert signing.step(ending=True) is None
    assert "other users can read" in signing.trouble
    key.chmod(0o600)
    signing.start()
    signing.close()
    assert signing.newest
    assert signing.newest.seq == 2
    ledger.close()
