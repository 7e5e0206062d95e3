"""`ganglion up` with TLS: refusals on the terminal, and a server that is reached by HTTPS."""

import os
import re
import ssl
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import httpx2
import pytest
from tests.cli.harness import Ganglion
from tests.cli.server.test_up import home  # noqa: F401 - fixture
from tests.server.process import until
from tests.transport.tls.certificates import write_pair

from ganglion.cli.server.up import ServerWish
from ganglion.client import Client
from ganglion.client.home import read_token

END_S = 30.0


@pytest.mark.parametrize("more", [(), ("--foreground",)])
def test_all_that_is_wrong_with_certificate_and_key_is_said_before_anything_starts(
    ganglion: Ganglion,
    home: Path,  # noqa: F811 - fixture
    tmp_path: Path,
    more: tuple[str, ...],
) -> None:
    pair = write_pair(tmp_path, days=-1)
    Path(pair.key).chmod(0o644)
    files = ("--tls-cert", pair.cert, "--tls-key", pair.key)
    done = ganglion("up", *files, "--nodes", "0", *more)
    assert (done.code, done.out) == (2, "")
    for said in (
        *(f"{pair.cert}: has expired on ", f"{pair.key}: other users may use the key: mode 0644"),
        *(f"chmod 600 {pair.key}", "0 nodes are not between"),
    ):
        assert said in done.err, said
    for wrong in (files[:2], files[2:], (*files, "--tls", "self")):
        done = ganglion("up", *wrong, *more)
        assert (done.code, done.out) == (2, "")
        assert "--tls-cert" in done.err
    assert not (home / "console.log").exists()


def test_the_files_are_handed_on_with_whole_paths() -> None:
    usual = ServerWish().arguments()
    given = ServerWish(tls_cert="a.pem", tls_key="b.pem").arguments()
    here = Path.cwd()
    assert given == [*usual, "--tls-cert", f"{here}/a.pem", "--tls-key", f"{here}/b.pem"]
    assert ServerWish(tls="self").arguments() == [*usual, "--tls", "self"]


def test_a_server_with_a_certificate_of_its_own_says_how_clients_recognise_it(
    home: Path,  # noqa: F811 - fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def call(*args: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "ganglion", *args],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    address = ("--host", "0.0.0.0", "--host-name", "gpu-box", "--tls", "self")
    up = call("up", "--port", "0", "--fake-gpus", "2", *address)
    assert up.returncode == 0, up.stderr
    cert = home / "tls" / "cert.pem"
    assert f"GANGLION_CA_FILE={cert}" in up.stderr
    shown = ssl.PEM_cert_to_DER_cert(cert.read_text())
    assert sha256(shown).hexdigest().upper() in up.stderr.replace(":", "")
    found = re.search(r"https://127\.0\.0\.1:\d+", up.stdout)
    assert found, up.stdout
    monkeypatch.setenv("GANGLION_CA_FILE", str(cert))
    with Client(found[0], read_token(home)) as client:
        job = client.submit({"name": "a", "run": "sleep 600"}).id
        until(lambda: client.workload(job).state == "RUNNING")
        serve = f"{sys.executable} -m http.server --bind 127.0.0.1 $PORT"
        chat = client.submit({"name": "chat", "kind": "service", "run": serve, "port": 80}).id
        until(lambda: client.workload(chat).running == 1)
        url = until(lambda: client.workload(chat).url)
        assert url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=str(cert))
        assert httpx2.get(url, verify=trusted, timeout=60).status_code == 200
    run = call("run", "--", "sh", "-c", "echo by the socket")
    assert (run.returncode, run.stdout) == (0, "by the socket\n"), run.stderr
    monkeypatch.setenv("GANGLION_URL", found[0])
    done = call("exec", job, "--", "echo", "by a WebSocket")
    assert (done.returncode, done.stdout) == (0, "by a WebSocket\n"), done.stderr
    said = call("doctor")
    assert re.search(r"ok +server: tls +works", said.stdout), said.stdout
    monkeypatch.delenv("GANGLION_CA_FILE")
    refused = call("ps")
    assert (refused.returncode, "is not trusted" in refused.stderr) == (1, True)
    monkeypatch.delenv("GANGLION_URL")
    assert call("down", "--cancel").returncode == 0
