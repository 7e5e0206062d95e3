"""`ganglion login` at a real server whose users sign in at a real provider."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from ganglion.cli.main import run
from ganglion.client.home import read_server
from ganglion.client.logins import LoginFile
from ganglion.seams.clock import SystemClock
from tests.ports import unused
from tests.provider.provider import CLIENT, SECRET, RealProvider, require
from tests.server.login.browser import fields
from tests.server.process import Nursery, until


class Reached(NamedTuple):
    """A server, and where its users sign in."""

    url: str
    provider: RealProvider


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reached]:
    """Of another home than the one of the commands."""
    require()
    url, home = f"http://127.0.0.1:{unused()}", tmp_path / "home"
    provider = RealProvider(tmp_path, unused(), f"{url}/login/callback")
    provider.start()
    home.mkdir(mode=0o700)
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    (home / "login.yaml").write_text(
        f"issuer: {provider.issuer}\nclient_id: {CLIENT}\npublic_url: {url}\n"
        f"client_secret_file: {tmp_path / 'secret'}\nexchange:\n"
        f"  - {{issuer: {provider.issuer}, audience: {CLIENT}, claims: {{sub: robot}},"
        " user: ci-research, role: viewer, lasting: 15m}\n"
    )
    nursery = Nursery(home, int(url.rpartition(":")[2]))
    nursery.start()
    until(lambda: read_server(home), 60)
    monkeypatch.setenv("GANGLION_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("GANGLION_URL", "GANGLION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    yield Reached(url, provider)
    nursery.close()
    provider.stop()


def test_a_user_signs_in_uses_the_token_and_signs_out(
    site: Reached, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def confirmed(_clock: SystemClock, _seconds: float) -> None:
        """What the user does while the command waits."""
        said = capfd.readouterr().err
        assert f"\n    {site.url}/login/pair\n" in said
        found = re.search(r"enter the code ([A-Z]{4}-[A-Z]{4})\n", said)
        assert found
        site.provider.account("eve")
        with httpx2.Client(base_url=site.url, follow_redirects=True) as browser:
            page = f"/login/pair?code={found[1]}"
            first = re.search(r'content="0;url=([^"]*)"', browser.get(page).text)
            assert first
            landed = browser.get(first[1])  # to the provider, and back
            assert f'content="0;url={page}"' in landed.text, landed.text
            form = fields(browser.get(page).text) | {"answer": "confirm"}
            done = browser.post("/login/pair", data=form, headers={"Origin": site.url})
            assert done.status_code == 200, done.text

    monkeypatch.setattr(SystemClock, "sleep", confirmed)
    assert run(["login", site.url, "--no-browser", "--label", "laptop"]) == 0
    assert capfd.readouterr().out.startswith(f"signed in to {site.url}\nas eve@example.org, until")
    (login,) = LoginFile().all()
    assert run(["whoami"]) == 0
    said = capfd.readouterr().out
    assert said.startswith("eve@example.org: by token")
    assert f"signed in to {site.url} with ganglion login" in said
    assert run(["nodes", "-o", "json"]) == 0
    assert '"n0"' in capfd.readouterr().out
    assert run(["token", "list", "--csv"]) == 0
    assert "laptop" in capfd.readouterr().out
    assert run(["cordon", "n0"]) == 1
    assert "eve@example.org may not" in capfd.readouterr().err
    assert run(["logout"]) == 0
    assert LoginFile().all() == ()
    bearer = {"Authorization": f"Bearer {login.token}"}
    assert httpx2.get(f"{site.url}/api/v1/whoami", headers=bearer).status_code == 401
    assert run(["whoami"]) == 1
    printed = capfd.readouterr()
    assert "no server is running" in printed.err
    assert login.token not in printed.out + printed.err


def test_a_job_of_ci_signs_in_with_an_id_token(
    site: Reached, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    proof = tmp_path / "id-token"
    proof.write_text(site.provider.id_token("robot"))
    assert run(["login", site.url, "--id-token", str(proof)]) == 0
    assert capfd.readouterr().out.startswith(f"signed in to {site.url}\nas ci-research, until")
    assert run(["whoami"]) == 0
    assert capfd.readouterr().out.startswith("ci-research: by token")
    assert run(["login", site.url, "--id-token", str(proof)]) == 1
    assert "the ID token was exchanged before" in capfd.readouterr().err
    proof.write_text(site.provider.id_token("eve"))
    assert run(["login", site.url, "--id-token", str(proof)]) == 1
    said = capfd.readouterr()
    assert "no rule of exchange fits the claims of the ID token" in said.err
    assert run(["whoami"]) == 0  # the login before goes on
    assert capfd.readouterr().out.startswith("ci-research: by token")
    assert proof.read_text() not in said.out + said.err
