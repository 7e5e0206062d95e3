"""A sign-in at a real provider, in a real browser, that ends where it began."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.portal import PORTAL

from ganglion.client import Client
from ganglion.client.home import read_server
from tests.portal.test_walk import BROWSERS, ROOT, missing, node
from tests.provider.provider import CLIENT, SECRET, RealProvider, require
from tests.server.process import Nursery, until


def _free() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Address of a server where `eve` is a viewer, and signs in next."""
    require()
    url, home = f"http://127.0.0.1:{_free()}", tmp_path / "home"
    provider = RealProvider(tmp_path, _free(), f"{url}/login/callback")
    provider.start()
    home.mkdir(mode=0o700)
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    (home / "login.yaml").write_text(
        f"issuer: {provider.issuer}\nclient_id: {CLIENT}\npublic_url: {url}\n"
        f"client_secret_file: {tmp_path / 'secret'}\n"
    )
    nursery = Nursery(home, int(url.rpartition(":")[2]))
    nursery.start()
    until(lambda: read_server(home), 60)
    with Client.of_home(home) as owner:
        owner.access.grant("user:eve@example.org", "viewer")
    provider.account("eve")
    yield url
    nursery.close()
    provider.stop()


@pytest.mark.skipif(bool(missing()), reason=f"NO SIGN-IN IN A BROWSER: {missing()}")
def test_who_is_not_signed_in_is_led_to_the_provider_and_back(site: str) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    done = subprocess.run(
        [node(), str(PORTAL / "e2e" / "sign_in.mjs")],
        env={**os.environ, "SITE": site, "CHROMIUM": browser},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
