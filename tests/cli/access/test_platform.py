"""A server on a network: from an empty home to the first admin and the first user."""

import os
import ssl
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.cli.server.test_up import home  # noqa: F401 - fixture
from tests.forking import shell_command

from ganglion.client.home import read_server

GOOD, OTHER = "nine blue trains to Ulm", "no trains on Sundays, sorry"
NAME = "gpu-box"
OURS = {"Host": NAME, "Origin": f"https://{NAME}", "Sec-Fetch-Site": "same-origin"}


def call(*args: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [*shell_command(), *args],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.usefixtures("home")
def test_the_first_admin_comes_by_the_link_and_others_by_their_passwords(
    home: Path,  # noqa: F811 - fixture
) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "login.yaml").write_text(f"public_url: https://{NAME}\nlocal_users: true\n")
    address = ("--host", "0.0.0.0", "--tls", "self", "--host-name", NAME)
    up = call("up", "--port", "0", "--fake-gpus", "2", *address)
    assert "There is no admin yet" in up.stderr
    (link,) = (line for line in up.stdout.splitlines() if f"https://{NAME}/login/bootstrap" in line)
    record = read_server(home)
    assert record
    assert record.host == "0.0.0.0"
    trusted = ssl.create_default_context(cafile=str(home / "tls" / "cert.pem"))
    code = urlsplit(link).query.removeprefix("code=")
    with httpx2.Client(base_url=record.url, verify=trusted, headers=OURS) as browser:
        form = {"code": code, "user": "eve", "password": GOOD, "again": GOOD}
        assert browser.post("/login/bootstrap", data=form).status_code == 200
        me = browser.get("/api/v1/whoami").json()
        assert (me["user"], me["grants"][0]["role"]) == ("eve", "admin")
        assert browser.post("/login/bootstrap", data=form).status_code == 403
    assert "other machines reach 0.0.0.0, with TLS" in call("doctor", "-o", "json").stdout
    call("user", "add", "bob", given=f"{OTHER}\n")
    assert [line.split()[0] for line in call("user", "list").stdout.splitlines()] == [
        *("USER", "bob", "eve")
    ]
    log = (home / "server.log").read_text() + (home / "console.log").read_text()
    assert code not in log
    assert GOOD not in log
    call("down")
    assert "no admin" not in call("up", "--port", "0", "--fake-gpus", "2", *address).stderr
    call("down")
