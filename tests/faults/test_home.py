"""The files of a home, with a call of the file system that fails, whichever it is."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ganglion.ledger.lock import FileLock
from ganglion.model.errors import EnvironmentFault, InUse
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import replace_whole
from ganglion.server.rest.listening.home import Home, ServerRecord
from ganglion.server.signals.access import FILE, KEY_BYTES, Keys
from tests.faults.files import FaultyFiles
from tests.faults.plan import Nth, at_every_call

FULL_OR_BROKEN = pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
STAYS = pytest.mark.parametrize("stays", [False, True])


@contextmanager
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


def failing(plan: Nth, number: int) -> Effects:
    return SYSTEM._replace(files=FaultyFiles(plan, number))


def scratches(home: Path) -> list[str]:
    """Files that nothing reads."""
    return sorted(each.name for each in home.iterdir() if each.name.startswith("."))


@FULL_OR_BROKEN
@STAYS
def test_a_home_says_what_fails_and_works_once_nothing_does(number: int, stays: bool) -> None:
    record = ServerRecord(SYSTEM.processes.own(), "http://localhost:1", 7)

    def story(plan: Nth) -> None:
        with folder() as root:
            try:
                home = Home(root / "home", failing(plan, number))
                home.new_token()
                home.announce(record)
                home.withdraw()
            except EnvironmentFault as error:
                assert "cannot write" in error.message
            sound = Home(root / "home")
            token = sound.new_token()
            assert (sound.root / "token").read_text().strip() == token
            sound.announce(record)
            assert sound.announced() == record
            sound.withdraw()
            assert sound.announced() is None

    assert at_every_call(story, stays=stays) > 15


@FULL_OR_BROKEN
def test_a_token_that_is_not_written_leaves_the_one_before_and_nothing_else(number: int) -> None:
    def story(plan: Nth) -> None:
        with folder() as root:
            before = Home(root).new_token()
            home = Home(root, SYSTEM)
            home._effects = failing(plan, number)
            try:
                token = home.new_token()
            except EnvironmentFault:
                assert (root / "token").read_text().strip() == before
            else:
                assert (root / "token").read_text().strip() == token
            assert scratches(root) == []

    assert at_every_call(story, "open", "write", "sync", "rename") >= 4


@FULL_OR_BROKEN
@STAYS
def test_the_key_of_services_is_whole_or_not_there(number: int, stays: bool) -> None:
    def story(plan: Nth) -> None:
        with folder() as root:
            made = None
            try:
                made = Keys(root, failing(plan, number)).key("a")
            except EnvironmentFault:
                found = root / FILE
                assert not found.exists() or len(bytes.fromhex(found.read_text())) == KEY_BYTES
            again = Keys(root).key("a")
            assert made in (None, again)

    assert at_every_call(story, stays=stays) >= 6


@FULL_OR_BROKEN
def test_a_lock_that_cannot_be_taken_is_not_taken_for_another_server(number: int) -> None:
    def story(plan: Nth) -> None:
        with folder() as root:
            lock = None
            try:
                lock = FileLock(root / "lock", "x", FaultyFiles(plan, number))
            except InUse:
                pytest.fail("nothing else has the lock")
            except EnvironmentFault:
                assert plan.struck in ("open", "lock")
            else:
                with pytest.raises(InUse):
                    FileLock(root / "lock", "x")
                lock.release()
            FileLock(root / "lock", "x").release()

    assert at_every_call(story) >= 4


@FULL_OR_BROKEN
def test_a_file_is_replaced_as_a_whole_or_not_at_all(number: int) -> None:
    def story(plan: Nth) -> None:
        with folder() as root:
            path = root / "file"
            path.write_bytes(b"before")
            try:
                replace_whole(FaultyFiles(plan, number), path, b"after, and longer", 1)
            except OSError:
                assert path.read_bytes() == b"before"
            else:
                assert path.read_bytes() == b"after, and longer"

    assert at_every_call(story) >= 5
