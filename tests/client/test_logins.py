"""Logins: where they are kept, when they count, and when the file is refused."""

import json
import os
import stat
from pathlib import Path

import pytest

from ganglion.client import Client
from ganglion.client.logins import Login, LoginFile, canonical, chosen_login
from ganglion.model.errors import EnvironmentFault, FileError, InputError

URL, OTHER = "https://gpu.example.org", "https://lab.example.org:8443"
TOKEN = "gng_" + "a" * 36


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GANGLION_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("GANGLION_URL", "GANGLION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def serve(home: Path) -> None:
    """A server of this user runs."""
    (home / "server.json").write_text('{"pid": 1, "url": "http://127.0.0.1:9"}')
    (home / "token").write_text("secret\n")


def test_the_file_is_of_its_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        LoginFile().add(Login(URL, TOKEN, "eve", 5))
    finally:
        os.umask(before)
    path = tmp_path / "config" / "ganglion" / "logins.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert json.loads(path.read_text()) == {
        "logins": [{"url": URL, "token": TOKEN, "user": "eve", "until_ms": 5}]
    }


def test_it_lies_below_the_home_without_a_usable_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ("", "not/absolute"):
        monkeypatch.setenv("XDG_CONFIG_HOME", given)
        assert LoginFile().path == Path.home() / ".config/ganglion/logins.json"


def test_a_login_replaces_the_one_before_at_its_server_and_is_the_default() -> None:
    file = LoginFile()
    assert (file.all(), file.default(), file.of(URL)) == ((), None, None)
    for url, token in ((URL, "1"), (OTHER, "2"), (URL, "3")):
        file.add(Login(url, token))
    assert [(each.url, each.token) for each in file.all()] == [(OTHER, "2"), (URL, "3")]
    assert file.default() == Login(URL, "3")
    file.remove(Login(URL, "3"))
    assert file.default() == Login(OTHER, "2")
    file.remove(Login(OTHER, "2"))
    assert file.default() is None


@pytest.mark.parametrize(
    "spelt",
    ["https://GPU.example.org", "HTTPS://gpu.example.org:443/", "https://gpu.example.org//"],
)
def test_a_server_is_known_however_it_is_spelt(spelt: str) -> None:
    assert canonical(spelt) == URL
    LoginFile().add(Login(URL, TOKEN))
    found = LoginFile().of(spelt)
    assert found
    assert found.token == TOKEN
    for other in ("http://gpu.example.org", "https://gpu.example.org:444", f"{URL}/x"):
        assert LoginFile().of(other) is None


def test_what_is_no_url_of_a_server_is_refused() -> None:
    with pytest.raises(InputError, match="not the URL of a server"):
        LoginFile().of("gpu.example.org")


def test_the_order_in_which_credentials_count(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def used() -> tuple[str, str]:
        with Client.from_home() as client:
            auth = client._http._client.auth
            return client.url, getattr(auth, "token", "")

    LoginFile().add(Login(OTHER, "first"))
    LoginFile().add(Login(URL, "latest"))
    assert used() == (URL, "latest")  # no server runs here
    serve(home)
    assert used() == ("http://127.0.0.1:9", "secret")  # it is the default, and no file is read
    monkeypatch.setenv("GANGLION_URL", f"{OTHER}/")
    assert used() == (OTHER, "first")
    monkeypatch.setenv("GANGLION_TOKEN", "given")
    assert used() == (OTHER, "given")
    monkeypatch.delenv("GANGLION_TOKEN")
    monkeypatch.setenv("GANGLION_URL", "http://127.0.0.1:8")
    assert used() == ("http://127.0.0.1:8", "secret")  # no login there: as before


def test_a_token_of_the_environment_has_no_login_used(monkeypatch: pytest.MonkeyPatch) -> None:
    LoginFile().add(Login(URL, TOKEN))
    monkeypatch.setenv("GANGLION_TOKEN", "given")
    assert chosen_login() is None
    with pytest.raises(EnvironmentFault, match="no server is running"):
        Client.from_home()


def test_a_server_of_this_machine_asks_for_no_file(home: Path) -> None:
    serve(home)
    LoginFile().add(Login(URL, TOKEN))
    LoginFile().path.write_text("{")
    assert Client.from_home().url == "http://127.0.0.1:9"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644])
def test_a_file_that_others_may_open_is_refused(mode: int) -> None:
    file = LoginFile()
    file.add(Login(URL, TOKEN))
    file.path.chmod(mode)
    for tried in (file.all, lambda: file.add(Login(OTHER, "x")), Client.from_home):
        with pytest.raises(EnvironmentFault, match="other users may open") as found:
            tried()
        assert found.value.hint.startswith(f"chmod 600 {file.path}")
        assert TOKEN not in str(found.value)
    file.path.chmod(0o600)
    assert [each.url for each in file.all()] == [URL]


def test_a_file_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    file = LoginFile()
    file.add(Login(URL, TOKEN))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(EnvironmentFault, match="belongs to another user") as found:
        Client.from_home()
    assert "XDG_CONFIG_HOME" in found.value.hint


@pytest.mark.parametrize("content", ["", "{", "[]", '{"logins": [{"url": 1}]}', "\x00\xff"])
def test_a_broken_file_is_named_and_not_printed(content: str) -> None:
    file = LoginFile()
    file.add(Login(URL, TOKEN))
    file.path.write_text(content + TOKEN if content == "{" else content)
    with pytest.raises(FileError, match=r"logins\.json") as found:
        Client.from_home()
    assert found.value.hint == "remove the file, and sign in again: ganglion login"
    assert TOKEN not in str(found.value)


def test_what_is_no_file_is_refused_at_once() -> None:
    file = LoginFile()
    file.path.parent.mkdir(parents=True)
    os.mkfifo(file.path)
    with pytest.raises(EnvironmentFault, match="is no file"):
        file.all()
    file.path.unlink()
    file.path.mkdir()
    with pytest.raises(EnvironmentFault):
        file.all()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("")
    with pytest.raises(EnvironmentFault, match=r"logins\.json") as found:
        LoginFile().add(Login(URL, TOKEN))
    assert "XDG_CONFIG_HOME" in found.value.hint
