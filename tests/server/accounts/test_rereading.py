"""`accounts.yaml` counts as it is on disk; while it is wrong, as it was."""

import errno
import os
import pwd
from pathlib import Path

import pytest
import structlog

from ganglion.model.errors import FieldError, FileError, InputError
from ganglion.server.accounts.settings import AccountMap, SharedHost, read_accounts
from tests.faults.files import FaultyFiles
from tests.faults.plan import Nth

FIRST, SECOND = [each for each in pwd.getpwall() if each.pw_uid not in (0, os.geteuid())][:2]


class File:
    """The file of one home, and the host that reads it.

    Args:
        home: where it is.
    """

    def __init__(self, home: Path) -> None:
        self.path = home / "accounts.yaml"
        self.says(f"users: {{eve: {FIRST.pw_name}}}\ngroups: {{ml: [eve]}}\n")
        self.host = SharedHost(home, owner="ada")

    def says(self, text: str) -> None:
        """Replace it, as editors do: a file of its own, whatever the clock shows."""
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.replace(self.path)

    def users(self) -> list[str]:
        return sorted(self.host.accounts)


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path)


def test_a_change_counts_without_a_restart(file: File) -> None:
    assert (file.users(), file.host.groups_of("eve")) == (["eve"], ("ml",))
    file.says(f"users: {{bob: {SECOND.pw_name}}}\ngroups: {{ops: [bob], ml: [bob]}}\n")
    assert file.host.of("eve") is None
    assert file.host.user_of(SECOND.pw_uid) == "bob"
    assert (file.host.groups_of("bob"), file.host.groups_of("eve")) == (("ops", "ml"), ())
    file.path.unlink()
    assert (file.users(), file.host.trouble()) == ([], "")


def test_a_file_that_is_made_later_counts_too(tmp_path: Path) -> None:
    host = SharedHost(tmp_path, owner="ada")
    assert host.user_of(FIRST.pw_uid) == ""
    (tmp_path / "accounts.yaml").write_text(f"users: {{eve: {FIRST.pw_name}}}\n")
    assert host.user_of(FIRST.pw_uid) == "eve"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("users: [", FileError.code, "expected the node content"),
        ("users: {eve: no-such}", FieldError.code, "users.eve: this machine has no account"),
        ("", FieldError.code, "Expected `object`"),
    ],
)
def test_a_wrong_file_leaves_what_counted_and_is_named_once(
    file: File, text: str, code: str, said: str
) -> None:
    with structlog.testing.capture_logs() as logged:
        file.says(text)
        for _ in range(3):
            assert file.users() == ["eve"]
    found = file.host.trouble()
    assert str(file.path) in found
    assert said in found
    assert found.endswith("; what it said before counts")
    assert [(each["code"], each["reason"]) for each in logged] == [(code, found)]
    file.says(f"users: {{bob: {SECOND.pw_name}}}\n")
    assert (file.users(), file.host.trouble()) == (["bob"], "")


def test_a_file_that_cannot_be_read_leaves_what_counted(file: File, tmp_path: Path) -> None:
    host = SharedHost(tmp_path, FaultyFiles(Nth(3, stays=True), errno.EIO), owner="ada")
    assert sorted(host.accounts) == ["eve"]
    assert host.trouble() == (
        f"{file.path}: [Errno {errno.EIO}] {os.strerror(errno.EIO)}: '{file.path}'"
        "; what it said before counts"
    )


def test_sockets_of_the_file_count_from_the_next_start_on(file: File) -> None:
    before = file.host.socket, file.host.helper
    file.says(f"socket: /run/x.sock\nusers: {{bob: {SECOND.pw_name}}}\n")
    assert file.users() == ["bob"]
    assert file.host.trouble() == f"{file.path}: socket count from the next start on"
    assert (file.host.socket, file.host.helper) == before


def test_a_group_of_users_that_are_not_there_is_refused(tmp_path: Path) -> None:
    text = f"users: {{eve: {FIRST.pw_name}}}\ngroups: {{ml: [eve, eve, bob], 'a b': [eve]}}\n"
    (tmp_path / "accounts.yaml").write_text(text)
    with pytest.raises(InputError) as refused:
        read_accounts(tmp_path, owner="ada")
    assert {each.key for each in refused.value.errors} == {"groups.ml", "groups.a b"}
    (tmp_path / "accounts.yaml").write_text(text.replace(", bob], 'a b': [eve]", "]"))
    assert read_accounts(tmp_path, owner="ada").groups == {"eve": ("ml",)}
    (tmp_path / "accounts.yaml").unlink()
    assert read_accounts(tmp_path, owner="ada") == AccountMap()
