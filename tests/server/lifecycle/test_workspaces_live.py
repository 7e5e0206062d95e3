"""A real server, real processes and, where there is one, a real notebook server.

The notebook server is no part of what tests need: `python -m venv out/jupyter`, install
requirements/jupyter.txt there, and say `GANGLION_JUPYTER=out/jupyter/bin/python`.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import uuid
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import httpx2
import pytest

from ganglion.worlds.local.machine.ports import free_port
from ganglion.worlds.local.run_files import paths
from tests.forking import ganglion
from tests.server.process import Api, Nursery, until

SOON = {"idle_timeout": "3s", "idle": {"warn": "1s"}}
"""Looked at twice a second, warned after three seconds, gone after four."""
PATIENCE_S = 60


class House:
    """A server that is started again at will, and workspaces in it."""

    def __init__(self, folder: Path) -> None:
        self.nursery, self.api = Nursery(folder / "home"), Api(folder / "home")
        self.home = folder / "home"
        self.nursery.start()

    def open(self, name: str, run: str, **document: Any) -> str:
        body: dict[str, Any] = {"name": name, "kind": "workspace", "queue": "red", "run": run}
        body |= {"resources": {"gpus": 1}, "retry": {"limit": 0}, **SOON, **document}
        headers = {"Idempotency-Key": name}
        return str(self.api.patiently("POST", "/workloads", json=body, headers=headers)["id"])

    def show(self, ref: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.patiently("GET", f"/workloads/{ref}")
        return found

    def becomes(self, ref: str, state: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            found = self.show(ref)
            return found if found["state"] == state else None

        return until(look, PATIENCE_S)

    def log(self, gang: str, attempt: int) -> str:
        path = paths.log_file(self.home, gang, attempt, 0)
        return path.read_text() if path.exists() else ""

    def events(self) -> list[dict[str, Any]]:
        text = self.api.call("GET", "/events?follow=false").text
        lines = [line[6:] for line in text.splitlines() if line.startswith("data: {")]
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        if self.nursery.pid:
            self.api.patiently("POST", "/shutdown", json={"cancel": True})
            self.nursery.reap()
        self.api.close()
        self.nursery.close()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.close()


SITTER = """
echo port $GANGLION_PORT token $JUPYTER_TOKEN color $COLOR
echo $GANGLION_ATTEMPT >> $GANGLION_WORKSPACE_DIR/visits
cat $GANGLION_WORKSPACE_DIR/visits
exec sleep 600
"""


def test_an_idle_workspace_is_suspended_and_comes_back_as_it_was(house: House) -> None:
    found = house.open("sitter", SITTER, env={"COLOR": "blue"})
    gang = f"{found}/0"
    shown = house.becomes(found, "SUSPENDED")
    assert shown["message"].startswith("suspended: idle for")
    [warning] = [e for e in house.events() if e["type"] == "idle_warned" and e.get("suspend_at")]
    assert "lost: all shells" in warning["message"]
    house.nursery.end(signal.SIGKILL)  # sleep outlasts the server
    house.nursery.start()
    assert house.becomes(found, "SUSPENDED")["gangs"][0]["attempt"] == 1
    assert house.api.patiently("POST", f"/workloads/{found}/resume")["priority"] == 90
    shown = until(lambda: (s := house.show(found))["state"] == "RUNNING" and s, PATIENCE_S)
    until(lambda: house.log(gang, 2).count("\n") >= 3)
    first, second = house.log(gang, 1).splitlines(), house.log(gang, 2).splitlines()
    assert second[0] == first[0]
    assert second[0].endswith("color blue")
    assert second[1:] == ["1", "2"]
    assert until(lambda: house.show(found)["priority"] == 50, PATIENCE_S)
    assert shown["submitted"] == house.show(found)["submitted"]


BURNER = """
{python} -S -c "import os
while not os.path.exists('{go}'): pass"
exec sleep 600
"""


def test_one_that_computes_outlasts_one_that_sits_and_goes_when_it_is_done(
    house: House, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    burner = house.open("burner", BURNER.format(python=sys.executable, go=go))
    house.becomes(burner, "RUNNING")
    sitter = house.open("sitter", "exec sleep 600")
    house.becomes(sitter, "SUSPENDED")
    shown = house.show(burner)
    assert shown["state"] == "RUNNING"
    assert shown["use"].startswith("busy: processes: its processes used ")
    assert not [e for e in house.events() if e["type"] == "idle_warned" and burner in e["gang"]]
    go.touch()
    house.becomes(burner, "SUSPENDED")


def test_the_command_line_says_what_is_lost_before_it_suspends(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANGLION_HOME", str(house.home))
    found = house.open("quiet", "exec sleep 600", idle_timeout="1h")
    house.becomes(found, "RUNNING")
    asked = ganglion("suspend", "quiet", "--dry-run")
    assert asked.returncode == 0, asked.stderr
    assert "lost: all shells" in asked.stdout
    assert house.show(found)["state"] == "RUNNING"
    done = ganglion("suspend", "quiet")
    assert done.returncode == 0, done.stderr
    assert "kept: name, environment, address, files" in done.stderr
    assert f"ganglion resume {found}" in done.stdout
    house.becomes(found, "SUSPENDED")
    assert "SUSPENDED" in ganglion("ps").stdout
    assert ganglion("resume", "quiet").stdout == f"resuming {found}\n"
    house.becomes(found, "RUNNING")


# --- a real notebook server ------------------------------------------------------------------


def jupyter() -> str:
    """The interpreter that has a notebook server."""
    named = os.environ.get("GANGLION_JUPYTER", "")
    if named:
        return shutil.which(named) or named
    if find_spec("jupyter_server") and find_spec("ipykernel"):
        return sys.executable
    pytest.skip("no notebook server: set GANGLION_JUPYTER (see the head of this file)")


class Notebook:
    """A person at a notebook server.

    Args:
        base: its address.
        token: what it wants to see.
    """

    def __init__(self, base: str, token: str) -> None:
        self._base, self._headers = base, {"Authorization": f"token {token}"}
        self.http = httpx2.Client(base_url=base, headers=self._headers, trust_env=False, timeout=30)

    def is_up(self) -> bool:
        try:
            return self.http.get("/api/status").is_success
        except httpx2.TransportError:
            return False

    def kernel(self) -> str:
        return str(self.http.post("/api/kernels", json={"name": "python3"}).json()["id"])

    def state(self, kernel: str) -> str:
        return str(self.http.get(f"/api/kernels/{kernel}").json()["execution_state"])

    def execute(self, kernel: str, code: str) -> None:
        """Send a cell; the browser is closed as soon as the kernel is at work."""
        asyncio.run(self._execute(kernel, code))

    async def _execute(self, kernel: str, code: str) -> None:
        url = f"{self._base.replace('http', 'ws', 1)}/api/kernels/{kernel}/channels"
        header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "version": "5.3"}
        header |= {"username": "ada", "session": uuid.uuid4().hex}
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        async with (
            aiohttp.ClientSession(headers=self._headers) as session,
            session.ws_connect(url) as socket,
        ):
            await socket.send_json({**message, "channel": "shell", "buffers": []})
            async for answer in socket:
                found = json.loads(answer.data)
                if found["content"].get("execution_state") == "busy" and (
                    found["parent_header"].get("msg_id") == header["msg_id"]
                ):
                    return


SERVE = (
    "{python} -m jupyter_server --ip 127.0.0.1 --port $GANGLION_PORT --no-browser --allow-root"
    " --ServerApp.root_dir=$GANGLION_WORKSPACE_DIR --ServerApp.port_retries=0"
)


def test_a_cell_that_only_sleeps_keeps_a_notebook_and_an_idle_kernel_does_not(
    house: House, tmp_path: Path
) -> None:
    env = {"HOME": str(tmp_path), "JUPYTER_PLATFORM_DIRS": "1"}
    found = house.open("lab", SERVE.format(python=jupyter()), env=env)
    house.becomes(found, "RUNNING")
    gang = f"{found}/0"
    token = (house.home / "workspaces" / gang / "token").read_text()
    where = until(lambda: house.show(found)["gangs"][0]["endpoint"])
    ada = Notebook(f"http://{where}", token)
    until(ada.is_up, PATIENCE_S)
    kernel = ada.kernel()
    go = tmp_path / "go"
    ada.execute(kernel, f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.1)")
    assert ada.state(kernel) == "busy"
    sitter = house.open("sitter", "exec sleep 600")
    house.becomes(sitter, "SUSPENDED")
    assert house.show(found)["state"] == "RUNNING"
    said = house.api.patiently("POST", f"/workloads/{found}/suspend?dry_run=true")
    assert "the variables of 1 kernel" in said["loss"]
    go.touch()
    until(lambda: ada.state(kernel) == "idle", PATIENCE_S)
    house.becomes(found, "SUSPENDED")
    house.api.patiently("POST", f"/workloads/{found}/resume")
    house.becomes(found, "RUNNING")
    until(ada.is_up, PATIENCE_S)  # the same address, and the same token
    assert ada.http.get("/api/kernels").json() == []
    ada.http.close()


# --- through the router ----------------------------------------------------------------------


def test_a_notebook_server_answers_under_its_name_and_is_woken_by_being_opened(
    house: House, tmp_path: Path
) -> None:
    run = f"{SERVE.format(python=jupyter())} --ServerApp.base_url=$JUPYTER_BASE_URL"
    env = {"HOME": str(tmp_path), "JUPYTER_BASE_URL": "/lab/"}
    port = free_port(str(tmp_path), ())
    found = house.open("lab", run, env=env, port=port, idle_timeout="60s")
    house.becomes(found, "RUNNING")
    token = (house.home / "workspaces" / f"{found}/0" / "token").read_text()
    router = f"http://127.0.0.1:{until(lambda: router_port(house.home))}"
    ada = Notebook(f"{router}/lab", token)
    until(ada.is_up, PATIENCE_S)
    kernel = ada.kernel()
    ada.execute(kernel, "1 + 1")  # over a WebSocket
    asked = f"/workloads/{found}/suspend?dry_run=true"
    until(lambda: "of 1 kernel" in house.api.patiently("POST", asked)["loss"], PATIENCE_S)
    assert house.show(found)["use"].startswith("busy: ")
    house.api.patiently("POST", f"/workloads/{found}/suspend")
    house.becomes(found, "SUSPENDED")
    until(lambda: ada.http.get("/api/kernels").status_code == 503, PATIENCE_S)
    assert ada.http.get("/api/status", headers={"Accept": PAGE}).is_success
    assert house.becomes(found, "RUNNING")["gangs"][0]["attempt"] == 2
    ada.http.close()


PAGE = "text/html,application/xhtml+xml"
SAYS = """
import http.server, os
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"attempt {os.environ['GANGLION_ATTEMPT']} at {self.path}".encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body)))
        self.end_headers(); self.wfile.write(body)
    def log_message(self, *args):
        pass
here = ('127.0.0.1', int(os.environ['PORT']))
http.server.ThreadingHTTPServer(here, Page).serve_forever()
"""


def test_whoever_opens_one_that_sleeps_waits_until_it_is_back(house: House, tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(SAYS)
    run = f"exec {sys.executable} {tmp_path}/page.py"
    found = house.open("desk", run, port=free_port(str(tmp_path), ()))
    house.becomes(found, "RUNNING")
    router = f"http://127.0.0.1:{until(lambda: router_port(house.home))}"
    http = httpx2.Client(base_url=router, trust_env=False, timeout=PATIENCE_S)
    until(lambda: http.get("/desk/lab").text == "attempt 1 at /lab", PATIENCE_S)
    house.becomes(found, "SUSPENDED")
    # A page that was left open asks for more, and wakes no workspace.
    until(lambda: http.get("/desk/api/status").status_code == 503, PATIENCE_S)
    assert house.show(found)["state"] == "SUSPENDED"
    answer = http.get("/desk/lab", headers={"Accept": PAGE})
    assert (answer.status_code, answer.text) == (200, "attempt 2 at /lab")
    resumed = [e for e in house.events() if e.get("cause") == "resumed: its address was opened"]
    assert [e["gang"] for e in resumed] == [f"{found}/0"]
    http.close()


def router_port(home: Path) -> int:
    """Where the router of a home listens; 0 = nowhere yet."""
    record = home / "router.json"
    return int(urlsplit(json.loads(record.read_text())["url"]).port or 0) if record.exists() else 0
