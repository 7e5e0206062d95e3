"""Workspaces on this machine: what they keep, what saves before they go, and who sees them used."""

import json
import os
import pty
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from msgspec import structs
from tests.worlds.local.jobs import Jobs, until

from ganglion.lifecycle.workspaces.kernels import Kernel
from ganglion.lifecycle.workspaces.look import Look
from ganglion.lifecycle.workspaces.observations import Sight, Witness
from ganglion.model.behaviour import Idle
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.plan import Start
from ganglion.model.workload import Checkpoint, Kind
from ganglion.worlds.dcgm import DcgmGpus
from ganglion.worlds.jupyter import JupyterProbe
from ganglion.worlds.local.machine import presence
from ganglion.worlds.local.machine.gpu_use import NvmlGpus
from ganglion.worlds.local.workspaces.onlooker import LocalOnlooker

SHOW = "echo dir=$GANGLION_WORKSPACE_DIR token=$JUPYTER_TOKEN port=$GANGLION_PORT; "


def workspace(jobs: Jobs, command: str, *, hook: str = "", attempt: int = 1, **given: Any) -> str:
    """Start a workspace; returns its gang."""
    given = {"name": "nb", "gpus": 1, "checkpoint": Checkpoint(grace_ms=20_000)} | given
    start = jobs.start_of(command, attempt=attempt, **given)
    start = Start(structs.replace(start.gang, kind=Kind.WORKSPACE), attempt, start.placement)
    workload = structs.replace(jobs.workloads["nb-1"], kind=Kind.WORKSPACE, idle=Idle(hook=hook))
    jobs.starts[start.gang.id], jobs.workloads["nb-1"] = start, workload
    jobs.execute(start)
    return start.gang.id


def told(jobs: Jobs, gang: str, attempt: int) -> dict[str, str]:
    """What the job printed with SHOW."""
    jobs_log = until(lambda: "port=" in jobs.log(gang, 0, attempt) and jobs.log(gang, 0, attempt))
    line = str(jobs_log).splitlines()[0]
    return dict(word.split("=", 1) for word in line.split())


def test_a_workspace_keeps_folder_token_and_port_from_attempt_to_attempt(jobs: Jobs) -> None:
    gang = workspace(jobs, f"{SHOW} echo notes > $GANGLION_WORKSPACE_DIR/notes; exec sleep 60")
    first = told(jobs, gang, 1)
    jobs.world.stop(gang, 1, Cause(CauseKind.IDLE, text="idle for 30 min"))
    assert jobs.end(gang).outcome == "suspended"
    workspace(jobs, f"{SHOW} cat $GANGLION_WORKSPACE_DIR/notes; exec sleep 60", attempt=2)
    assert told(jobs, gang, 2) == first
    until(lambda: "notes" in jobs.log(gang, 0, 2))
    assert len(first["token"]) == 48
    assert (jobs.home / "workspaces" / gang / "token").stat().st_mode & 0o777 == 0o600


def test_a_token_that_the_user_chose_is_left_alone(jobs: Jobs) -> None:
    gang = workspace(jobs, f"{SHOW} exec sleep 60", env={"JUPYTER_TOKEN": "mine"})
    assert told(jobs, gang, 1)["token"] == "mine"


SAVING = """
trap 'echo told >> {file}; exit 0' TERM
echo up; while true; do sleep 0.1; done
"""


def test_what_saves_runs_before_the_workspace_is_told_to_go(jobs: Jobs, tmp_path: Path) -> None:
    file = tmp_path / "order"
    hook = f"sleep 0.3; echo saved $GANGLION_WORKSPACE_DIR >> {file}"
    gang = workspace(jobs, SAVING.format(file=file), hook=hook)
    jobs.says(gang, "up")
    jobs.world.stop(gang, 1, Cause(CauseKind.IDLE, text="idle for 30 min"))
    jobs.end(gang)
    folder = jobs.home / "workspaces" / gang / "files"
    assert file.read_text().splitlines() == [f"saved {folder}", "told"]


def test_saving_that_never_ends_is_cut_off_with_the_grace(jobs: Jobs, tmp_path: Path) -> None:
    file = tmp_path / "order"
    gang = workspace(
        jobs,
        SAVING.format(file=file),
        hook="exec sleep 600",
        checkpoint=Checkpoint(grace_ms=500),
    )
    jobs.says(gang, "up")
    jobs.world.stop(gang, 1, Cause(CauseKind.IDLE, text="idle for 30 min"))
    assert jobs.end(gang).outcome == "suspended"
    assert not file.exists()


def test_saving_that_fails_stops_nobody_from_going(jobs: Jobs, tmp_path: Path) -> None:
    file = tmp_path / "order"
    gang = workspace(jobs, SAVING.format(file=file), hook="echo cannot; exit 3")
    jobs.says(gang, "up")
    jobs.world.stop(gang, 1, Cause(CauseKind.IDLE, text="idle for 30 min"))
    jobs.end(gang)
    assert file.read_text() == "told\n"
    assert (jobs.directory(gang) / "hook.log").read_text() == "cannot\n"


def onlooker(jobs: Jobs, gang: str) -> LocalOnlooker:
    found = until(lambda: jobs.world.onlooker(gang, Idle()))
    assert isinstance(found, LocalOnlooker)
    return found


def sight(look: Look, witness: Witness) -> Sight | None:
    return next((each for each in look.sights if each.witness is witness), None)


def moves(who: LocalOnlooker, witness: Witness, what: str = "") -> Sight:
    """Look until this witness sees something move, and says that of it."""

    def look() -> Sight | None:
        found = sight(who.look(), witness)
        return found if found and found.moved == found.at and what in found.said else None

    found = until(look, f"{witness} sees something: {what}")
    assert isinstance(found, Sight)
    return found


def quiet(who: LocalOnlooker, witness: Witness) -> Sight:
    """Look until this witness vouches for some quiet time."""

    def look() -> Sight | None:
        time.sleep(0.2)
        found = sight(who.look(), witness)
        still = found and not found.doubt and not found.moved and found.since < found.at
        return found if still else None

    found = until(look, f"{witness} vouches for quiet")
    assert isinstance(found, Sight)
    return found


def test_a_computation_in_the_background_is_seen_also_when_it_left_its_session(
    jobs: Jobs, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    burn = f"import os\nwhile not os.path.exists('{go}'): pass"
    gang = workspace(jobs, f'setsid {sys.executable} -S -c "{burn}" & echo up; exec sleep 600')
    jobs.says(gang, "up")
    who = onlooker(jobs, gang)
    moves(who, Witness.PROCESSES, "of a core")
    go.touch()
    quiet(who, Witness.PROCESSES)
    assert who.required == {Witness.PROCESSES, Witness.PEOPLE}  # on pretended GPUs nothing runs
    who.close()


SHELL = """
import os, time
os.setsid()
os.open('{name}', os.O_RDWR)
print('up', flush=True)
time.sleep(600)
"""


def test_an_attached_terminal_tells_when_a_key_was_pressed(jobs: Jobs, tmp_path: Path) -> None:
    # The terminal belongs to the test, as one of an attached shell belongs to its client.
    mine, theirs = pty.openpty()
    os.write(mine, b"hello\n")
    os.read(theirs, 100)
    name = os.ttyname(theirs)
    typed = Path(name).stat().st_atime_ns // 1_000_000
    source = SHELL.format(name=name)
    (tmp_path / "shell.py").write_text(source)
    gang = workspace(jobs, f"{sys.executable} -S {tmp_path}/shell.py & wait")
    jobs.says(gang, "up")
    who = onlooker(jobs, gang)
    seen = sight(who.look(), Witness.PEOPLE)
    assert seen
    assert (seen.doubt, seen.said) == ("", "a user typed")
    assert abs(seen.moved - typed) < 10_000
    assert who.look().loss.terminals == 1
    who.close()
    jobs.world.tell(gang, "it is suspended in 5 min")
    shown = b""  # after the echo of what was typed
    while b"[ganglion] it is suspended in 5 min" not in shown:
        shown += os.read(mine, 1000)
    assert (jobs.directory(gang) / "warning").read_text() == "it is suspended in 5 min\n"
    jobs.world.tell(gang, "")
    assert not (jobs.directory(gang) / "warning").exists()
    os.close(mine)
    os.close(theirs)


SERVER = """
import http.server, os
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.send_response(200); self.send_header('Content-Length', '2'); self.end_headers()
        self.wfile.write(b'hi')
here = ('127.0.0.1', int(os.environ['GANGLION_PORT']))
http.server.ThreadingHTTPServer(here, Page).serve_forever()
"""


def test_of_a_port_that_says_nothing_it_is_known_only_that_nobody_is_connected(
    jobs: Jobs, tmp_path: Path
) -> None:
    (tmp_path / "page.py").write_text(SERVER)
    gang = workspace(jobs, f"exec {sys.executable} {tmp_path}/page.py", port=0)
    who = onlooker(jobs, gang)
    base = f"http://{jobs.world.endpoint(gang)}"
    client = httpx2.Client(trust_env=False)

    def answers() -> bool:
        try:
            return client.get(base).is_success
        except httpx2.TransportError:
            return False

    until(answers, "it listens")
    until(lambda: sight(who.look(), Witness.PEOPLE).doubt)  # type: ignore[union-attr]
    client.close()
    quiet(who, Witness.PEOPLE)
    who.close()


def test_one_that_has_gone_is_in_doubt_and_not_idle(jobs: Jobs) -> None:
    gang = workspace(jobs, "exec sleep 600")
    who = onlooker(jobs, gang)
    until(lambda: who.look().loss.memory_mib or not sight(who.look(), Witness.PEOPLE).doubt)  # type: ignore[union-attr]
    jobs.world.stop(gang, 1, Cause(CauseKind.CANCELLED), force=True)
    jobs.end(gang)
    assert all(each.doubt for each in who.look().sights)
    assert jobs.world.onlooker(gang, Idle()) is None
    who.close()


def test_a_notebook_server_that_does_not_answer_is_in_doubt_from_the_beginning(
    jobs: Jobs,
) -> None:
    gang = workspace(jobs, ": jupyter; exec sleep 600")
    who = onlooker(jobs, gang)
    found = sight(who.look(), Witness.KERNELS)
    assert found
    assert found.doubt == "the notebook server does not answer"
    assert Witness.KERNELS in who.required
    who.close()


def test_bytes_are_summed_up_and_whoever_ends_counts_as_movement() -> None:
    before = presence.Total(1_000, 500, 10_000, 0, frozenset())
    now = presence.Total(11_000, 1_500, 2_010_000, 0, frozenset())
    used = presence.usage(before, now)
    assert (used.span_ms, used.cpu_milli, used.bytes_per_s) == (10_000, 100, 200_000)
    assert presence.usage(now, presence.Total(20_000, 500, 2_010_000, 0, frozenset())).cpu_milli
    assert presence.usage(None, now).span_ms == 0


# --- a notebook server that gives the answers of a test --------------------------------------

AT = "2026-01-05T12:00:00.000000Z"
AT_MS = 1_767_614_400_000
LATER = "2026-01-05T12:30:00.500000Z"
PAGES: dict[str, Any] = {
    "/base/api/status": {"started": AT, "last_activity": LATER, "connections": 1, "kernels": 1},
    "/base/api/kernels": [
        {"id": "k", "name": "python3", "last_activity": LATER, "execution_state": "idle"}
        | {"connections": 2}
    ],
    "/base/api/terminals": [{"name": "1", "last_activity": AT}],
    "/base/api/sessions": [
        {"path": "a folder/x.ipynb"},
        {"path": "gone.ipynb"},
        {"path": ""},
    ],
    "/base/api/contents/a folder/x.ipynb": {"last_modified": LATER},
}


def probe(pages: dict[str, Any]) -> tuple[JupyterProbe, list[httpx2.Request]]:
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        page = pages.get(request.url.path)
        if page is None:
            return httpx2.Response(404)
        if isinstance(page, httpx2.Response):
            return page
        return httpx2.Response(200, json=page)

    return JupyterProbe("http://x/base/", "secret", transport=httpx2.MockTransport(answer)), asked


def test_a_notebook_server_is_asked_for_kernels_terminals_and_saved_notebooks() -> None:
    asking, asked = probe(PAGES)
    found = asking.ask(5)
    assert found
    assert (found.started, found.terminals) == (AT_MS, (AT_MS,))
    assert found.kernels == (Kernel("idle", AT_MS + 1_800_500, 2),)
    assert found.saved == (AT_MS + 1_800_500,)
    assert all(each.url.params["no_track_activity"] == "1" for each in asked)
    assert {each.headers["authorization"] for each in asked} == {"token secret"}


def test_a_server_without_terminals_is_one_all_the_same() -> None:
    asking, _ = probe({**PAGES, "/base/api/terminals": None})
    found = asking.ask(5)
    assert found
    assert found.terminals == ()


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("status", httpx2.Response(403)),
        ("status", {"started": "never"}),
        ("status", {}),
        ("status", []),
        ("status", httpx2.Response(200, text="<html>")),
        ("kernels", {"error": "what"}),
        ("kernels", [{"execution_state": "idle", "last_activity": 7}]),
        ("kernels", httpx2.Response(500)),
        ("terminals", httpx2.Response(500)),
        ("sessions", [None]),
    ],
)
def test_whoever_answers_otherwise_than_a_notebook_server_has_not_answered(
    path: str, page: Any
) -> None:
    asking, _ = probe({**PAGES, f"/base/api/{path}": page})
    assert asking.ask(5) is None


# --- GPUs ----------------------------------------------------------------------------------


def sample(at: int, value: int) -> SimpleNamespace:
    return SimpleNamespace(timeStamp=at, sampleValue=SimpleNamespace(uiVal=value))


class NVMLError(Exception):
    pass


class NotSupported(NVMLError):
    pass


class FakeNvml(SimpleNamespace):
    """As much of NVML as is asked."""

    def __init__(self) -> None:
        self.samples = [sample(995_000_000, 0), sample(999_000_000, 7)]
        self.pcie: int | None = 3
        self.lost = False
        super().__init__(
            NVMLError=NVMLError,
            NVMLError_NotSupported=NotSupported,
            NVML_GPU_UTILIZATION_SAMPLES=1,
            NVML_PCIE_UTIL_TX_BYTES=0,
            NVML_PCIE_UTIL_RX_BYTES=1,
            nvmlInit=lambda: None,
            nvmlShutdown=lambda: None,
            nvmlDeviceGetHandleByUUID=self.handle,
            nvmlDeviceGetSamples=lambda _handle, _kind, after: (
                1,
                [each for each in self.samples if each.timeStamp > after],
            ),
            nvmlDeviceGetPcieThroughput=self.throughput,
            nvmlDeviceGetMemoryInfo=lambda _handle: SimpleNamespace(used=5 << 30),
            nvmlDeviceGetIndex=lambda _handle: 3,
        )

    def handle(self, uuid: str) -> str:
        if self.lost:
            raise NVMLError(uuid)
        return uuid

    def throughput(self, _handle: str, _counter: int) -> int:
        if self.pcie is None:
            raise NotSupported
        return self.pcie


def test_nvml_tells_the_most_since_the_last_look() -> None:
    nvml = FakeNvml()
    gpus = NvmlGpus(nvml)
    [first] = gpus.read(["GPU-a"], 1_000_000)
    assert first
    assert (first.engine_milli, first.bytes_per_s, first.span_ms) == (70, 6_000, 5_000)
    assert (first.memory_mib, first.name) == (5_120, "GPU 3")
    nvml.samples.append(sample(1_004_000_000, 0))
    [second] = gpus.read(["GPU-a"], 1_005_000)
    assert second
    assert (second.engine_milli, second.span_ms) == (0, 1_000)
    [nothing_new] = gpus.read(["GPU-a"], 1_006_000)
    assert nothing_new
    assert nothing_new.engine_milli is None
    gpus.close()


def test_a_device_that_nvml_does_not_know_or_tell_about_is_unknown() -> None:
    nvml = FakeNvml()
    gpus = NvmlGpus(nvml)
    nvml.pcie = None
    [silent] = gpus.read(["GPU-a"], 1_000_000)
    assert silent
    assert silent.bytes_per_s is None
    nvml.lost = True
    assert gpus.read(["GPU-a"], 1_000_000) == [None]
    gpus.close()


def test_an_exporter_that_fails_or_knows_other_devices_tells_nothing() -> None:
    text = 'DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-a"} 0.5\n'
    fine = DcgmGpus("http://x/metrics", transport=answering(httpx2.Response(200, text=text)))
    known, unknown = fine.read(["GPU-a", "GPU-z"], 7)
    assert known
    assert (known.engine_milli, unknown) == (500, None)
    fine.close()
    broken = DcgmGpus("http://x/metrics", transport=answering(httpx2.Response(500)))
    assert broken.read(["GPU-a", "GPU-b"], 7) == [None, None]
    broken.close()


def answering(response: httpx2.Response) -> httpx2.MockTransport:
    return httpx2.MockTransport(lambda _request: response)


def test_the_spec_of_a_workspace_says_where_its_notebook_server_answers(jobs: Jobs) -> None:
    gang = workspace(jobs, ": jupyter; exec sleep 60", env={"JUPYTER_BASE_URL": "/user/ada/"})
    spec = json.loads((jobs.directory(gang) / "spec.json").read_text())
    assert spec["workspace"]["base"] == "/user/ada/"
