"""`ganglion user`: passwords come from a terminal, a file or standard input."""

import io
from pathlib import Path

import pytest
from tests.cli.harness import FakeServer, Ganglion, refusal

GOOD, OTHER = "nine blue trains to Ulm", "no trains on Sundays, sorry"
ADD, WHO = "POST /api/v1/users", "GET /api/v1/whoami"
SET = "PUT /api/v1/users/eve/password"


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_a_user_is_added_with_a_password_from_a_file_or_standard_input(
    server: FakeServer, ganglion: Ganglion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.on(ADD, {"user": "eve"})
    path = tmp_path / "password"
    path.write_text(f"{GOOD}\nnot this\n")
    for args, given in (
        (("--password-file", str(path)), ""),
        (("--password-file", "-"), f"{GOOD}\r\n"),
        ((), f"{GOOD}\n"),
    ):
        typed(monkeypatch, given)
        done = ganglion("user", "add", "eve", *args)
        assert (done.code, GOOD in done.out + done.err) == (0, False)
        assert "user eve added; it has no role yet" in done.out
    assert server.bodies(ADD) == [{"user": "eve", "password": GOOD, "groups": []}] * 3


def test_a_password_is_no_argument(ganglion: Ganglion, server: FakeServer) -> None:
    assert ganglion("user", "add", "eve", GOOD).code == 2
    assert ganglion("user", "add", "eve", "--password", GOOD).code == 2
    assert server.requests == []


def test_a_file_that_cannot_be_read_is_named(
    ganglion: Ganglion, server: FakeServer, tmp_path: Path
) -> None:
    done = ganglion("user", "add", "eve", "--password-file", str(tmp_path / "none"))
    assert done.code != 0
    assert "its first line is the password" in done.err
    assert server.requests == []


@pytest.mark.parametrize(("me", "current"), [("ada", ""), ("eve", OTHER)])
def test_ones_own_password_is_changed_with_the_one_so_far(
    server: FakeServer,
    ganglion: Ganglion,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    me: str,
    current: str,
) -> None:
    server.on(WHO, {"user": me})
    server.on(SET, {"ok": True})
    path = tmp_path / "password"
    path.write_text(f"{GOOD}\n{OTHER}\n")
    done = ganglion("user", "password", "eve", "--password-file", str(path))
    assert "password of eve changed" in done.out
    typed(monkeypatch, f"{GOOD}\n" if me == "ada" else f"{OTHER}\n{GOOD}\n")
    assert ganglion("user", "password", "eve").code == 0
    assert server.bodies(SET) == [{"password": GOOD, "current": current}] * 2


def test_users_are_listed_disabled_enabled_and_removed(
    server: FakeServer, ganglion: Ganglion
) -> None:
    eve = {"user": "eve", "disabled": True, "changed": 1, "by": "ada", "at": 1}
    server.on("GET /api/v1/users", {"items": [eve]})
    server.on("POST /api/v1/users/eve/disable", eve)
    server.on("POST /api/v1/users/eve/enable", eve)
    server.on("DELETE /api/v1/users/eve", {"ok": True})
    listed = ganglion("user", "list").out
    assert "eve" in listed
    assert "disabled" in listed
    assert "user eve disabled" in ganglion("user", "disable", "eve").out
    assert "user eve enabled" in ganglion("user", "enable", "eve").out
    assert "user eve removed" in ganglion("user", "remove", "eve").out


def test_at_a_terminal_a_new_password_is_typed_twice_and_not_shown(
    server: FakeServer, ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    answers = [GOOD, OTHER, GOOD, GOOD]

    def prompt(what: str, *, hide_input: bool, err: bool) -> str:
        assert hide_input
        assert err
        asked.append(what)
        return answers[len(asked) - 1]

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("rich_click.prompt", prompt)
    server.on(ADD, {"user": "eve"})
    done = ganglion("user", "add", "eve")
    assert (done.code, "are not equal" in done.err) == (2, True)
    assert server.requests == []
    assert ganglion("user", "add", "eve").code == 0
    assert asked == ["New password of eve", "The same again"] * 2
    assert server.bodies(ADD) == [{"user": "eve", "password": GOOD, "groups": []}]


def test_a_refusal_is_said(
    server: FakeServer, ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.on(ADD, refusal(409, "state.conflict", "there is a user eve"))
    typed(monkeypatch, f"{GOOD}\n")
    done = ganglion("user", "add", "eve")
    assert done.code != 0
    assert "there is a user eve" in done.err


def test_the_link_of_the_first_admin_is_printed(server: FakeServer, ganglion: Ganglion) -> None:
    link = "https://gpu.example.org/login/bootstrap?code=abc"
    server.on("POST /api/v1/users:bootstrap", {"url": link, "until": 1_800_000_000_000})
    done = ganglion("user", "bootstrap")
    assert (done.code, done.out) == (0, f"{link}\n")
    assert "once, until" in done.err
    assert server.bodies("POST /api/v1/users:bootstrap") == [{"if_needed": False}]
