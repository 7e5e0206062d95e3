"""The shell steps of the CI kit run against a real server, whose login exchanges ID tokens."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.ports import unused
from tests.server.login.exchange.issuer import CiIssuer

ROOT = Path(__file__).resolve().parents[2]
KIT = ROOT / "examples" / "ci"
USER = "ci-research"
JOB = "name: train\nresources: {gpus: 1}\nrun: |\n"


class RunIssuer(CiIssuer):
    """Gives the token of a run for `audience` to all who ask, as GitHub does within a run."""

    audience = ""

    def _document(self, path: str) -> dict[str, Any]:
        if path.startswith("/token?"):
            return {"value": self.token(aud=self.audience)}
        return super()._document(path)


class Pipeline:
    """Runs shell text as a runner does.

    Args:
        env: of every step.
        folder: that steps run in.
    """

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self.env, self.folder = env, folder

    def begin(self, text: str, **more: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["bash", "-eo", "pipefail", "-c", text],
            cwd=self.folder,
            env=self.env | more,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, text: str, **more: str) -> tuple[int, str]:
        step = self.begin(text, **more)
        out, _ = step.communicate(timeout=120)
        return step.returncode, out

    def fine(self, text: str, **more: str) -> str:
        code, out = self.run(text, **more)
        assert code == 0, out
        return out

    def job(self, script: str) -> None:
        (self.folder / "train.yaml").write_text(JOB + "".join(f"  {each}\n" for each in [script]))


@pytest.fixture
def issuer() -> Iterator[RunIssuer]:
    made = RunIssuer()
    yield made
    made.close()


@pytest.fixture
def pipeline(tmp_path: Path, issuer: RunIssuer) -> Iterator[Pipeline]:
    """A server that lets the runs of one repository in, and the machine of a runner."""
    port = unused()
    url = issuer.audience = f"http://127.0.0.1:{port}"
    home, shims, work = tmp_path / "home", tmp_path / "bin", tmp_path / "work"
    for folder in (home, shims, work):
        folder.mkdir()
    shim = shims / "ganglion"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m ganglion "$@"\n')
    shim.chmod(0o755)
    (home / "login.yaml").write_text(
        f"public_url: {url}\nexchange:\n"
        f"- {{issuer: '{issuer.url}', claims: {{repository_id: '74'}}, user: {USER}}}\n"
    )
    (home / "login.yaml").chmod(0o600)
    usual = {"PATH": f"{shims}:{os.environ['PATH']}"}
    owner = Pipeline(usual | {"HOME": str(tmp_path), "GANGLION_HOME": str(home)}, work)
    owner.fine(f"ganglion up --nodes 1 --fake-gpus H100:4 --port {port}")
    try:
        owner.fine(f"ganglion role grant {USER} admin")
        yield Pipeline(
            usual
            | {
                "HOME": str(tmp_path / "runner"),
                "GANGLION_HOME": str(tmp_path / "runner" / "none"),
                "GANGLION_URL": url,
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t",
                "ACTIONS_ID_TOKEN_REQUEST_URL": f"{issuer.url}/token?v=1",
                "GITHUB_RUN_ID": "7",
                "GITHUB_RUN_ATTEMPT": "1",
                "GITHUB_STEP_SUMMARY": str(work / "summary.md"),
                "CI_JOB_ID": "8",
            },
            work,
        )
    finally:
        owner.fine("ganglion down --force || ganglion down")


def github() -> dict[str, str]:
    """Name of a step -> its shell text."""
    (job,) = yaml.safe_load((KIT / "github.yml").read_text())["jobs"].values()
    return {each["name"]: each["run"] for each in job["steps"] if "run" in each}


def gitlab(key: str) -> str:
    return "\n".join(yaml.safe_load((KIT / "gitlab.yml").read_text())["train"][key])


def test_a_workflow_signs_in_runs_and_leaves_a_summary_and_the_exit_code(
    pipeline: Pipeline,
) -> None:
    steps = github()
    pipeline.job("echo trained; exit 3")
    pipeline.fine(steps["Sign in"])
    code, out = pipeline.run(steps["Train"])
    assert (code, "trained" in out) == (3, True), out
    summary = (pipeline.folder / "summary.md").read_text().splitlines()
    assert summary[0] == "| Workload | State | GPUs | Waited | Ran | Exit code |"
    assert summary[2].startswith("| `ci-7-1-")
    assert "| FAILED | 1 |" in summary[2]
    assert summary[2].endswith("| 3 |")
    pipeline.fine(steps["Sign out"])
    assert pipeline.run("ganglion ps")[0] != 0


def test_a_workflow_that_is_cancelled_cancels_its_job(pipeline: Pipeline) -> None:
    steps = github()
    pipeline.job("sleep 600")
    pipeline.fine(steps["Sign in"])
    step = pipeline.begin(steps["Train"])
    pipeline.fine("until ganglion wait --for running ci-7-1; do :; done")
    step.send_signal(signal.SIGTERM)
    out, _ = step.communicate(timeout=60)
    assert step.returncode == 128 + signal.SIGTERM, out
    assert "cancelling ci-7-1-" in out
    assert pipeline.run("ganglion wait --for cancelled ci-7-1")[0] == 0
    assert "`ci-7-1-" in (pipeline.folder / "summary.md").read_text()


def test_a_pipeline_of_gitlab_signs_in_runs_and_cancels(
    pipeline: Pipeline, issuer: RunIssuer
) -> None:
    pipeline.job("echo trained")
    token = issuer.token(aud=issuer.audience)
    out = pipeline.fine(gitlab("script"), GANGLION_ID_TOKEN=token)
    assert "trained" in out
    assert "| SUCCEEDED | 1 |" in (pipeline.folder / "summary.md").read_text()
    pipeline.job("sleep 600")
    pipeline.fine("ganglion submit train.yaml --name ci-10 -d")
    pipeline.fine(gitlab("after_script"), CI_JOB_STATUS="canceled", CI_JOB_ID="10")
    assert pipeline.run("ganglion ps")[0] != 0
