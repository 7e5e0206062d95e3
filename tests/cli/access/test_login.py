"""`ganglion login`, `logout` and `whoami`: what they print, and what they leave behind."""

import json
import re
import stat
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest
from tests.cli.harness import NOW_S, FakeServer, Ganglion, refusal, reply

from ganglion.cli.access import login
from ganglion.cli.output import screen
from ganglion.client.logins import Login, LoginFile
from ganglion.identity.tokens import assembled, token_id
from ganglion.seams.clock import SystemClock

URL = "https://gpu.example.org"
TOKEN = assembled(range(30))
FORMER = assembled([7] * 30)
SECRET = "the secret of the command"
CODE = {
    "device_code": SECRET,
    "user_code": "BCDF-GHJK",
    "verification_uri": f"{URL}/login/pair",
    "verification_uri_complete": f"{URL}/login/pair?code=BCDF-GHJK",
    "expires_in": 600,
    "interval": 5,
}
PAIRED = {"access_token": TOKEN, "expires_in": 90 * 86_400, "user": "eve@example.org"}
PROMPT = f"""\
To sign in to {URL}, open

    {URL}/login/pair

and enter the code BCDF-GHJK

"""


def error(name: str) -> httpx2.Response:
    return reply({"error": name, "error_description": name}, 400)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    """A server on the network whose user confirms after a moment."""
    fake = FakeServer()
    fake.on("POST /login/device", CODE)
    fake.on("POST /login/token", error("authorization_pending"), PAIRED)
    fake.on(f"DELETE /api/v1/tokens/{token_id(TOKEN)}", {})
    fake.on(f"DELETE /api/v1/tokens/{token_id(FORMER)}", {})

    def handle(_self: object, request: httpx2.Request) -> httpx2.Response:
        assert str(request.url).startswith(URL)
        return fake(request)

    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", handle)
    monkeypatch.setattr(SystemClock, "sleep", lambda _self, _seconds: None)
    monkeypatch.setattr(login, "_label", lambda: "eve@box")
    return fake


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A terminal; addresses that a browser was opened with."""
    found = list[str]()
    monkeypatch.setattr(login, "is_tty", lambda *, stderr=False: not stderr)
    monkeypatch.setattr(login.click, "launch", found.append)  # type: ignore[attr-defined]
    return found


def asked(site: FakeServer, route: str) -> list[dict[str, list[str]]]:
    return [
        parse_qs(each.content.decode())
        for each in site.requests
        if f"{each.method} {each.url.path}" == route
    ]


def test_a_user_signs_in(site: FakeServer, ganglion: Ganglion) -> None:
    done = ganglion("login", URL)
    assert done == (
        0,
        f"signed in to {URL}\nas eve@example.org, until 2027-04-15 08:00:00\n",
        PROMPT,
    )
    assert asked(site, "POST /login/device") == [
        {"client_id": ["ganglion"], "label": ["eve@box"], "days": ["90"]}
    ]
    path = LoginFile().path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    until = (NOW_S + 90 * 86_400) * 1000
    assert LoginFile().all() == (Login(URL, TOKEN, "eve@example.org", until),)


@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_gets_at_most_80_columns_and_no_colour_where_none_is_wanted(
    site: FakeServer, ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch, no_color: bool
) -> None:
    monkeypatch.setattr(screen, "is_tty", lambda *, stderr=False: True)
    monkeypatch.setattr(login, "is_tty", lambda *, stderr=False: stderr)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")  # rich looks at the stream itself
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    done = ganglion("login", URL)
    assert done.code == 0
    assert "Waiting for the browser" in done.err  # the spinner is for people alone
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.err).replace("\r", "\n")
    assert max(len(line) for line in (done.out + shown).splitlines()) <= 80
    assert done.err.startswith(PROMPT)
    if no_color:
        assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", done.out + done.err)
    assert "\x1b" not in done.out


def test_a_pipe_gets_no_spinner(site: FakeServer, ganglion: Ganglion) -> None:
    done = ganglion("login", URL)
    assert "Waiting" not in done.err
    assert "\x1b" not in done.out + done.err


def test_programs_get_data_on_stdout_without_the_token(
    site: FakeServer, ganglion: Ganglion
) -> None:
    done = ganglion("login", URL, "--label", "ci", "--days", "7", "-o", "json")
    assert json.loads(done.out) == {
        "url": URL,
        "user": "eve@example.org",
        "token": token_id(TOKEN),
        "until": (NOW_S + 90 * 86_400) * 1000,
        "scope": "",
        "file": str(LoginFile().path),
    }
    assert done.err == PROMPT
    assert asked(site, "POST /login/device")[0]["days"] == ["7"]
    assert asked(site, "POST /login/device")[0]["label"] == ["ci"]


def test_secrets_are_never_printed(site: FakeServer, ganglion: Ganglion) -> None:
    for more in ((), ("-o", "json")):
        site.on("POST /login/token", PAIRED)
        done = ganglion("-v", "login", URL, *more)
        assert done.code == 0
        assert "POST /login/token 200" in done.err
        for secret in (TOKEN, SECRET):
            assert secret not in done.out + done.err
    left = ganglion("-v", "logout")
    assert TOKEN not in left.out + left.err


def test_a_browser_is_opened_on_a_terminal_unless_it_is_not_wanted(
    site: FakeServer, ganglion: Ganglion, opened: list[str]
) -> None:
    assert ganglion("login", URL).code == 0
    assert opened == [CODE["verification_uri_complete"]]
    site.on("POST /login/token", PAIRED)
    assert ganglion("login", URL, "--no-browser").code == 0
    assert len(opened) == 1


@pytest.mark.usefixtures("site")
def test_without_a_url_it_has_to_be_known_which_server_is_meant(
    ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch
) -> None:
    for verb in ("login", "logout"):
        assert ganglion(verb) == (
            2,
            "",
            "Error: which server is meant?\nHint: ganglion login https://HOST\n",
        )
    monkeypatch.setenv("GANGLION_URL", f"{URL}/")
    assert ganglion("login").out.startswith(f"signed in to {URL}\nas eve")


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("access_denied", 1, "Error: the sign-in was refused in the browser\n"),
        ("expired_token", 1, "Hint: begin anew: ganglion login\n"),
        ("invalid_grant", 1, "Error: the sign-in is lost: invalid_grant\n"),
    ],
)
def test_a_refusal_keeps_nothing(
    site: FakeServer, ganglion: Ganglion, name: str, code: int, said: str
) -> None:
    site.on("POST /login/token", error(name))
    done = ganglion("login", URL)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert LoginFile().all() == ()


def test_a_file_that_is_refused_is_named_before_the_user_is_asked(
    site: FakeServer, ganglion: Ganglion
) -> None:
    LoginFile().add(Login(URL, FORMER))
    path = LoginFile().path
    path.chmod(0o644)
    done = ganglion("login", URL)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"Error: other users may open {path}, which has tokens; it was not read\n"
        f"Hint: chmod 600 {path}; if others could read it, sign out and in again\n"
    )
    assert site.requests == []


def test_signing_in_again_revokes_the_token_before(site: FakeServer, ganglion: Ganglion) -> None:
    LoginFile().add(Login(URL, FORMER))
    assert ganglion("login", URL).code == 0
    assert [each.token for each in LoginFile().all()] == [TOKEN]
    last = site.requests[-1]
    assert (last.method, last.url.path) == ("DELETE", f"/api/v1/tokens/{token_id(FORMER)}")
    assert last.headers["authorization"] == f"Bearer {FORMER}"


def test_a_token_before_that_cannot_be_revoked_is_named(
    site: FakeServer, ganglion: Ganglion
) -> None:
    LoginFile().add(Login(URL, FORMER))
    site.on(
        f"DELETE /api/v1/tokens/{token_id(FORMER)}", refusal(503, "environment", "shutting down")
    )
    done = ganglion("login", URL)
    assert done.code == 0
    assert f"still counts: shutting down\nganglion token revoke {token_id(FORMER)}\n" in done.err


@pytest.mark.usefixtures("site")
def test_it_says_when_commands_use_something_else(
    ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "server.json").write_text('{"pid": 1, "url": "http://127.0.0.1:9"}')
    other = f"Commands use another server. To use this one:\nexport GANGLION_URL={URL}\n"
    assert ganglion("login", URL).err == PROMPT + other
    monkeypatch.setenv("GANGLION_URL", URL)
    assert ganglion("login", URL).err == PROMPT
    monkeypatch.setenv("GANGLION_TOKEN", "x")
    assert ganglion("login", URL).err.endswith("to use this login: unset GANGLION_TOKEN\n")


def test_signing_out_revokes_and_forgets(site: FakeServer, ganglion: Ganglion) -> None:
    LoginFile().add(Login("https://lab.example.org", FORMER))
    assert ganglion("login", URL).code == 0
    done = ganglion("logout")
    assert done == (0, f"signed out of {URL}; token {token_id(TOKEN)} revoked\n", "")
    assert site.requests[-1].headers["authorization"] == f"Bearer {TOKEN}"
    assert [each.url for each in LoginFile().all()] == ["https://lab.example.org"]
    again = ganglion("logout", URL)
    assert again.code == 1
    assert f"Error: no login is kept for {URL}\n" in again.err


def test_a_token_that_counts_no_more_is_forgotten(site: FakeServer, ganglion: Ganglion) -> None:
    for answer in (refusal(401, "auth", "expired"), refusal(404, "state.not_found", "none")):
        LoginFile().add(Login(URL, TOKEN))
        site.on(f"DELETE /api/v1/tokens/{token_id(TOKEN)}", answer)
        done = ganglion("logout")
        assert done == (0, f"login at {URL} forgotten; its token did not count any more\n", "")
        assert LoginFile().all() == ()


def test_a_token_that_may_still_count_is_kept_until_it_is_to_be_forgotten(
    site: FakeServer, ganglion: Ganglion
) -> None:
    LoginFile().add(Login(URL, TOKEN, "eve", NOW_S * 1000))
    site.on(f"DELETE /api/v1/tokens/{token_id(TOKEN)}", refusal(503, "environment", "down"))
    done = ganglion("logout")
    assert (done.code, done.out) == (1, "")
    assert done.err == "Error: down\nHint: try again, or forget it here: ganglion logout --forget\n"
    assert len(LoginFile().all()) == 1
    count = len(site.requests)
    done = ganglion("logout", "--forget")
    assert (done.code, done.out) == (0, f"login at {URL} forgotten\n")
    assert done.err == ("Its token counts until 2027-01-15 08:00:00 unless it is revoked there.\n")
    assert (LoginFile().all(), len(site.requests)) == ((), count)


def test_commands_use_the_login_and_whoami_says_so(site: FakeServer, ganglion: Ganglion) -> None:
    me: dict[str, Any] = {"user": "eve@example.org", "token": token_id(TOKEN), "grants": []}
    site.on("GET /api/v1/whoami", me)
    assert ganglion("login", URL).code == 0
    lines = ganglion("whoami").out.splitlines()
    assert lines[:2] == [
        f"eve@example.org: by token {token_id(TOKEN)}",
        f"signed in to {URL} with ganglion login",
    ]
    assert site.requests[-1].headers["authorization"] == f"Bearer {TOKEN}"
    found = json.loads(ganglion("whoami", "-o", "json").out)
    assert (found["url"], found["login"], found["user"]) == (URL, True, "eve@example.org")


@pytest.mark.usefixtures("site")
def test_down_stops_no_server_that_was_not_named(ganglion: Ganglion) -> None:
    LoginFile().add(Login(URL, TOKEN))
    assert ganglion("down") == (0, "", "No server is running.\n")


ID_TOKEN = "aaa.bbb-b.c_c"


@pytest.fixture
def proof(tmp_path: Path) -> Path:
    """A file with an ID token."""
    made = tmp_path / "id-token"
    made.write_text(f"{ID_TOKEN}\n")
    return made


def test_a_pod_without_the_right_in_its_cluster_learns_how_to_get_it(
    site: FakeServer, ganglion: Ganglion, proof: Path
) -> None:
    why, hint = "no role of the cluster lets a use queue 'b'", "kubectl create x; kubectl create y"
    body = {"error": "access_denied", "error_description": why, "code": "access.cluster"}
    body |= {"hint": hint}
    site.on("POST /login/token", httpx2.Response(403, json=body))
    done = ganglion("login", URL, "--id-token", str(proof), "--queue", "b")
    assert done == (
        *(1, ""),
        f"Error: {why}\nHint: {hint}\n",
    )
    assert parse_qs(site.requests[-1].content.decode())["scope"] == ["queue:b"]
    assert "--queue needs --id-token" in ganglion("login", URL, "--queue", "b").err


def test_a_job_of_ci_exchanges_its_id_token(
    site: FakeServer, ganglion: Ganglion, proof: Path, opened: list[str]
) -> None:
    site.on("POST /login/token", PAIRED | {"user": "ci-research", "expires_in": 3_600})
    done = ganglion("-v", "login", URL, "--id-token", str(proof))
    assert (done.code, opened) == (0, [])
    assert done.out == f"signed in to {URL}\nas ci-research, until 2027-01-15 09:00:00\n"
    assert asked(site, "POST /login/token") == [
        {
            "grant_type": ["urn:ietf:params:oauth:grant-type:token-exchange"],
            "subject_token": [ID_TOKEN],
            "subject_token_type": ["urn:ietf:params:oauth:token-type:id_token"],
        }
    ]
    assert asked(site, "POST /login/device") == []
    until = (NOW_S + 3_600) * 1000
    assert LoginFile().all() == (Login(URL, TOKEN, "ci-research", until),)
    for secret in (TOKEN, ID_TOKEN):
        assert secret not in done.out + done.err


def test_an_id_token_comes_by_the_standard_input(
    site: FakeServer, ganglion: Ganglion, proof: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.on("POST /login/token", PAIRED)
    with proof.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert ganglion("login", URL, "--id-token", "-").code == 0
    assert asked(site, "POST /login/token")[0]["subject_token"] == [ID_TOKEN]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("invalid_request", f"Error: {URL} refuses: invalid_request\n"),
        ("temporarily_unavailable", f"Error: {URL} refuses: temporarily_unavailable\n"),
        ("slow_down", f"Error: {URL} refuses: slow_down\n"),
        ("unsupported_grant_type", f"Error: {URL} refuses: unsupported_grant_type\n"),
    ],
)
def test_an_id_token_that_is_refused_is_sent_once(
    site: FakeServer, ganglion: Ganglion, proof: Path, name: str, said: str
) -> None:
    LoginFile().add(Login(URL, FORMER))
    site.on("POST /login/token", error(name))
    assert ganglion("login", URL, "--id-token", str(proof)) == (1, "", said)
    assert len(site.requests) == 1
    assert LoginFile().all() == (Login(URL, FORMER),)


@pytest.mark.parametrize(
    "text", ["", "aaa.bbb", "a.b.c.d", "a.b.c\nd.e.f", '{"value": "a.b.c"}', "é.b.c"]
)
def test_what_is_no_id_token_is_not_sent(
    site: FakeServer, ganglion: Ganglion, proof: Path, text: str
) -> None:
    proof.write_text(text)
    done = ganglion("login", URL, "--id-token", str(proof))
    assert (done.code, done.out) == (2, "")
    assert f"Error: {proof} is no ID token\n" in done.err
    proof.unlink()
    assert "there is no file" in ganglion("login", URL, "--id-token", str(proof)).err
    assert site.requests == []


def test_rules_of_the_server_say_what_a_job_of_ci_gets(
    site: FakeServer, ganglion: Ganglion, proof: Path
) -> None:
    done = ganglion("login", URL, "--id-token", str(proof), "--days", "90", "--label", "x")
    assert (done.code, done.out) == (2, "")
    assert "--id-token takes no --label, --days" in done.err
    assert site.requests == []
