"""Service accounts of a real cluster at a `ganglion server` that runs as a process of its own."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from ganglion.server.login.exchange.grant import EXCHANGE, JWT
from tests.controlplane.cluster import Cluster
from tests.controlplane.fixtures import cluster, control_plane, control_plane_programs
from tests.forking import COMMAND_LINE, SERVER, Forked
from tests.ports import unused
from tests.server.login.exchange.test_accounts import SPACE, issuer_of, made, token_of
from tests.server.process import Api, until

__all__ = ["cluster", "control_plane", "control_plane_programs", "made"]


class RealServer:
    """A server, and what its owner and service accounts send to it.

    Args:
        folder: gets its home, and what it prints.
        cluster: the real API server that says whose a token is.
    """

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self.home, self._cluster = folder / "home", cluster
        port = unused()
        self.url, self.missing = f"http://127.0.0.1:{port}", folder / "missing.kubeconfig"
        self._configure(cluster.kubeconfig)
        self.owner, self._printed = Api(self.home), folder / "printed"
        with self._printed.open("ab") as out:
            self._process = Forked(
                COMMAND_LINE,
                ["server", "--port", str(port)],
                out.fileno(),
                beside=SERVER,
                environ={**os.environ, "GANGLION_HOME": str(self.home)},
            )
        self.owner.patiently("GET", "/whoami")

    def _configure(self, review: Path) -> None:
        issuer = issuer_of(token_of(self._cluster, "trainer", SPACE, self.url))
        rule = f"issuer: {issuer}, user: sa-trainer, claims: {{namespace: {SPACE}, name: trainer}}"
        other = f"issuer: {issuer}, user: sa-other, claims: {{namespace: other}}"
        third = f"issuer: {issuer}, user: sa-visitor, claims: {{namespace: {SPACE}, name: visitor}}"
        self.home.mkdir(mode=0o700)
        (self.home / "login.yaml").write_text(
            f"public_url: {self.url}\n"
            "exchange:\n"
            f"- {{{rule}, review: {review}}}\n"
            f"- {{{third}, review: {review}, role: submitter, queue: vision}}\n"
            f"- {{{other}, audience: elsewhere, review: {self.missing}}}\n"
        )

    def close(self) -> int:
        """End it; returns its exit code."""
        self.owner.close()
        os.kill(self._process.pid, signal.SIGTERM)
        return self._process.wait()

    @property
    def printed(self) -> str:
        """What it has printed so far."""
        return self._printed.read_text()

    def exchanged(self, audience: str, name: str = "trainer") -> httpx2.Response:
        """What a pod does with the token that the cluster gives it."""
        form = {
            "grant_type": EXCHANGE,
            "subject_token": token_of(self._cluster, name, SPACE, audience),
            "subject_token_type": JWT,
        }
        return httpx2.post(f"{self.url}/login/token", data=form)

    def submit(self, token: str, queue: str, *, dry: bool = False) -> httpx2.Response:
        """Submit a job as the user of a personal token; there are no nodes that it could run on."""
        body = {"name": "train", "run": "true", "queue": queue, "resources": {"gpus": 1}}
        path, head = f"{self.url}/api/v1/workloads", {"Authorization": f"Bearer {token}"}
        asked = {"dry_run" if dry else "force": "true"}
        return httpx2.post(path, json=body, headers=head, params=asked)

    def login_check(self) -> str:
        """What its probe says of signing in, once that is something."""

        def found() -> str:
            checks = httpx2.get(f"{self.url}/readyz").json()["checks"]
            return next(str(each["message"]) for each in checks if each["name"] == "login")

        return until(found)

    def grant(self, role: str, queue: str = "") -> None:
        """Grant a role to the user of the service account's rule."""
        wish = {"subject": "user:sa-trainer", "role": role, "queue": queue}
        assert self.owner.call("POST", "/roles:grant", json=wish).status_code == 200


@pytest.fixture
def server(tmp_path: Path, made: Cluster) -> Iterator[RealServer]:
    found = RealServer(tmp_path, made)
    yield found
    assert found.close() == 0, found.printed


@pytest.mark.usefixtures("kubectl")
def test_a_pod_signs_in_at_a_real_server_and_submits_what_its_role_allows(
    server: RealServer, made: Cluster
) -> None:
    owner = server.owner
    for queue in ("vision", "speech"):
        assert owner.call("PUT", f"/queues/{queue}", json={}).status_code == 200
    given = server.exchanged(server.url)
    assert given.status_code == 200, given.text
    token = given.json()["access_token"]

    assert server.submit(token, "vision", dry=True).status_code == 403
    server.grant("submitter", "vision")
    server.grant("viewer", "speech")
    assert server.submit(token, "vision", dry=True).status_code == 200
    refused = server.submit(token, "speech", dry=True)
    assert (refused.status_code, refused.json()["code"]) == (403, "access")
    # Programs of this server run as its own account: for that the role has to be admin.
    refused = server.submit(token, "vision")
    assert (refused.status_code, refused.json()["code"]) == (403, "access.account")
    server.grant("admin")
    allowed = server.submit(token, "vision")
    assert allowed.status_code == 201, allowed.text

    for wrong in (server.exchanged("https://elsewhere.example"), server.exchanged("")):
        assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_request")
        assert "does not accept the token" in wrong.json()["error_description"]
    _is_let_in_as_the_refusal_says(server, made)
    _has_recorded(owner)

    named = f"{server.home}/login.yaml: exchange[2].review: {server.missing}: No such file"
    assert named in server.login_check()
    assert named in (server.home / "server.log").read_text()


def _is_let_in_as_the_refusal_says(server: RealServer, cluster: Cluster) -> None:
    """The commands that a refusal prints give the account what it lacks."""
    refused = server.exchanged(server.url, "visitor")
    assert (refused.status_code, refused.json()["code"]) == (403, "access.cluster")
    environ = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    subprocess.run(["bash", "-c", refused.json()["hint"]], env=environ, check=True)
    given = until(lambda: _if_given(server.exchanged(server.url, "visitor")))
    assert given["scope"] == "role:submitter queue:vision"


def _if_given(answer: httpx2.Response) -> dict[str, str]:
    return dict(answer.json()) if answer.status_code == 200 else {}


def _has_recorded(owner: Api) -> None:
    lines = owner.call("GET", "/events", params={"follow": "false"}).text.splitlines()
    found = [json.loads(each[6:]) for each in lines if each.startswith("data: ")]
    [submitted] = [each for each in found if each["type"] == "gang_submitted"]
    assert submitted["actor"] == "sa-trainer"
    denied = [each for each in found if each["type"] == "access_denied"]
    assert {each["operation"] for each in denied} == {"submit_workload", "exchange"}
