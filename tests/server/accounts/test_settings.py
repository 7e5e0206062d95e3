"""`accounts.yaml`: whose programs run as which account."""

import os
import pwd
from pathlib import Path

import pytest

from ganglion.helper.policy import HelperPolicy
from ganglion.model.errors import FieldError, FileError, InputError
from ganglion.model.workload import UnixAccount
from ganglion.server.accounts.settings import AccountMap, read_accounts
from ganglion.worlds.local.attempts.helping import SOCKET

PAGE = Path(__file__).parents[3] / "docs" / "access.md"
OTHERS = [each for each in pwd.getpwall() if each.pw_uid not in (0, os.geteuid())]


def read(home: Path, text: str) -> object:
    (home / "accounts.yaml").write_text(text)
    return read_accounts(home, owner="ada")


def test_without_the_file_no_user_has_an_account(tmp_path: Path) -> None:
    assert read_accounts(tmp_path, owner="ada") == AccountMap()


def test_a_user_has_the_account_that_is_named_and_no_other(tmp_path: Path) -> None:
    first = OTHERS[0]
    (tmp_path / "accounts.yaml").write_text(f"users: {{eve@example.org: {first.pw_name}}}\n")
    found = read_accounts(tmp_path, owner="ada")
    assert found.of("eve@example.org") == UnixAccount(first.pw_name, first.pw_uid)
    assert found.of(first.pw_name) is None
    assert (found.user_of(first.pw_uid), found.user_of(61234567)) == ("eve@example.org", "")
    assert (str(found.helper), found.socket) == (SOCKET, None)
    assert HelperPolicy(1).socket == found.helper


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expected `object`"),
        ("users: [eve]", "Expected `object`"),
        ("user: {}", "unknown field `user`"),
        ("users: {eve: no-such-account}", "no account 'no-such-account'"),
        (f"users: {{ada: {OTHERS[0].pw_name}}}", "no user but the owner"),
        ("users: {eve: root}", "that of root or of the server"),
        (
            f"users: {{eve: {OTHERS[0].pw_name}, bob: {OTHERS[0].pw_name}}}",
            "that of user eve already",
        ),
        ("helper: x.sock", "x.sock is not an absolute path"),
        ('helper: ""', "it is empty"),
        (f"socket: /{'x' * 100}", "more than 100 bytes"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FieldError, match=said) as refused:
        read(tmp_path, text)
    assert "docs/access.md" in refused.value.hint or refused.value.hint
    assert "accounts.yaml" in refused.value.message


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(FieldError) as refused:
        read(tmp_path, "socket: x\nusers: {eve: no-such, bob: nor-this}\n")
    assert [each.key for each in refused.value.errors] == ["socket", "users.eve", "users.bob"]


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"accounts\.yaml"):
        read(tmp_path, "users: [")


def test_the_page_shows_a_file_that_is_understood(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8").partition("## A shared host")[2]
    shown = page.partition("```yaml\n")[2].partition("```")[0]
    with pytest.raises(InputError) as refused:  # the accounts of the page are not on this machine
        read(tmp_path, shown)
    assert {each.problem for each in refused.value.errors} == {
        "this machine has no account 'eve'",
        "this machine has no account 'rjones'",
    }
