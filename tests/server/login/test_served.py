"""A real server with `login.yaml` in its home."""

import signal
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.server.login.exchange.issuer import part
from tests.server.process import Nursery, until

DOWN = "http://127.0.0.1:9"
TEXT = f"issuer: {DOWN}\nclient_id: ganglion\npublic_url: https://gpu.example.org\n"


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    made = Nursery(home)
    yield made
    made.close()


def test_a_server_whose_provider_is_down_says_so(nursery: Nursery) -> None:
    (nursery.home / "login.yaml").write_text(TEXT)
    nursery.start()
    record = nursery.home / "server.json"
    until(record.exists, 60)
    url = httpx2.Response(200, content=record.read_bytes()).json()["url"]
    found = httpx2.get(f"{url}/login", headers={"Host": "gpu.example.org"})
    assert found.status_code == 503, found.text
    assert f"Cannot sign in at {DOWN}" in found.text
    assert httpx2.get(f"{url}/login", headers={"Host": "evil.example"}).status_code == 421
    assert httpx2.get(f"{url}/api/v1/whoami").status_code == 401
    nursery.end(signal.SIGTERM)


def test_a_server_does_not_start_with_settings_that_are_wrong(nursery: Nursery) -> None:
    (nursery.home / "login.yaml").write_text(TEXT.replace("client_id", "client"))
    nursery.start()
    assert nursery.reap() == 2
    said = (nursery.home.parent / "stderr").read_text()
    assert "unknown field `client`" in said or "missing required field `client_id`" in said


def test_a_server_of_programs_alone_says_that_their_issuer_is_down(nursery: Nursery) -> None:
    (nursery.home / "login.yaml").write_text(
        "public_url: https://gpu.example.org\nexchange:\n"
        f"  - {{issuer: {DOWN}, claims: {{sub: robot}}, user: ci-x}}\n"
    )
    nursery.start()
    record = nursery.home / "server.json"
    until(record.exists, 60)
    url = httpx2.Response(200, content=record.read_bytes()).json()["url"]
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "subject_token": f"{part({'alg': 'RS256'})}.{part({'iss': DOWN})}.AAAA",
    }
    found = httpx2.post(f"{url}/login/token", data=form, headers={"Host": "gpu.example.org"})
    assert (found.status_code, found.json()["error"]) == (503, "temporarily_unavailable")
    assert DOWN in found.json()["error_description"]
    assert httpx2.get(f"{url}/login").status_code == 401
    nursery.end(signal.SIGTERM)


def test_all_that_is_wrong_with_rules_is_said_at_a_start(nursery: Nursery) -> None:
    github = "issuer: https://token.actions.githubusercontent.com"
    (nursery.home / "login.yaml").write_text(
        "public_url: https://gpu.example.org\nexchange:\n"
        f"  - {{{github}, claims: {{sub: 'repo:acme/vision'}}, user: ci-x}}\n"
        f"  - {{{github}, claims: {{repository_id: 74}}, user: ci-x, lasting: 2d}}\n"
    )
    nursery.start()
    assert nursery.reap() == 2
    said = (nursery.home.parent / "stderr").read_text()
    for key in ("[0].claims", "[1].lasting", "[1].claims.repository_id"):
        assert f"exchange{key}" in said
