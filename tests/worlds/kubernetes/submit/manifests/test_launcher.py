"""The script that starts a pod's processes, run by real shells as the first process of its own."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.worlds.kubernetes.submit.make import workload

from ganglion.worlds.kubernetes.submit.manifests.launcher import SCRIPT, trial

SHELLS = [shell for shell in ("/bin/dash", "/bin/bash", "/bin/busybox") if Path(shell).exists()]
PATIENCE_S = 10.0
FIRST = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
"""Makes what follows the first process of a namespace of processes, as in a container."""


def _can_unshare() -> bool:
    try:
        done = subprocess.run([*FIRST, "true"], check=False, capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


pytestmark = pytest.mark.skipif(
    not _can_unshare(), reason="needs namespaces: unshare --user --pid has to work"
)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    found: str = request.param
    return [found, "sh"] if found.endswith("busybox") else [found]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "launch"
    file.write_text(SCRIPT)
    return file


def started(shell: list[str], script: Path, *words: str, **env: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*FIRST, *shell, str(script), *words],
        env={"PATH": os.environ["PATH"], **env},
        cwd=script.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ran(shell: list[str], script: Path, *words: str, **env: str) -> tuple[int, str, str]:
    process = started(shell, script, *words, **env)
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def first_process(unshare: int) -> int:
    """The number outside of the first process inside."""
    (child,) = Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()
    return int(child)


def wait_for(file: Path, lines: int = 1) -> None:
    end = time.monotonic() + PATIENCE_S
    while not file.exists() or len(file.read_text().splitlines()) < lines:
        assert time.monotonic() < end, f"{file.name} was not written"
        time.sleep(0.01)


def test_a_line_is_run_by_a_shell_and_words_are_not(shell: list[str], script: Path) -> None:
    assert ran(shell, script, "line", "echo $((1 + 1))") == (0, "2\n", "")
    assert ran(shell, script, "words", "echo", "$((1 + 1)) *") == (0, "$((1 + 1)) *\n", "")


def test_the_exit_code_is_the_commands(shell: list[str], script: Path) -> None:
    assert ran(shell, script, "line", "exit 7")[0] == 7


def test_setup_comes_first_and_its_failure_is_the_end(shell: list[str], script: Path) -> None:
    assert ran(shell, script, "line", "echo run", GANGLION_SETUP="echo set")[1] == "set\nrun\n"
    code, out, err = ran(shell, script, "line", "echo run", GANGLION_SETUP="exit 5")
    assert (code, out, err) == (5, "", "setup ended with exit code 5\n")


def test_processes_are_told_their_ranks_and_devices(shell: list[str], script: Path) -> None:
    line = "echo $RANK $LOCAL_RANK $NODE_RANK $PET_NODE_RANK $CUDA_VISIBLE_DEVICES"
    code, out, _ = ran(
        shell,
        script,
        "line",
        line,
        GANGLION_PROCS="3",
        GANGLION_POD_INDEX="2",
        GANGLION_FIRST_POD="4",
        GANGLION_FIRST_RANK="10",
        GANGLION_GPU_SPLIT="0,1;2,3;4",
    )
    assert code == 0
    assert sorted(out.splitlines()) == ["16 0 6 6 0,1", "17 1 6 6 2,3", "18 2 6 6 4"]


def test_the_first_failure_stops_the_others_and_is_the_exit_code(
    shell: list[str], script: Path
) -> None:
    line = "[ $LOCAL_RANK = 1 ] && exit 3; exec sleep 60"
    began = time.monotonic()
    assert ran(shell, script, "line", line, GANGLION_PROCS="3")[0] == 3
    assert time.monotonic() - began < PATIENCE_S


def test_whoever_does_not_stop_is_killed_after_the_grace(shell: list[str], script: Path) -> None:
    line = "[ $LOCAL_RANK = 1 ] && exit 3; trap '' TERM; while :; do sleep 0.1; done"
    code, _, _ = ran(shell, script, "line", line, GANGLION_PROCS="2", GANGLION_GRACE="1")
    assert code == 3


@pytest.mark.parametrize("procs", ["1", "2"])
def test_the_contracts_signal_reaches_every_process(
    shell: list[str], script: Path, procs: str
) -> None:
    line = "trap 'echo saved $LOCAL_RANK; exit 0' USR1; echo up >> up; while :; do sleep 0.05; done"
    process = started(
        shell, script, "line", line, GANGLION_PROCS=procs, GANGLION_STOP_SIGNAL="USR1"
    )
    wait_for(script.parent / "up", int(procs))
    os.kill(first_process(process.pid), signal.SIGTERM)
    out, _ = process.communicate(timeout=PATIENCE_S)
    # bash forgets how its children ended when two signals come at once.
    assert process.returncode in ((0,) if "bash" not in shell[0] else (0, 143))
    assert sorted(out.splitlines()) == [f"saved {rank}" for rank in range(int(procs))]


def test_a_trial_has_its_parameters_in_words_setup_and_environment(
    shell: list[str], script: Path
) -> None:
    sweep = workload(
        """
        name: grid
        image: i
        run: [echo, "{lr}", "{text}"]
        setup: echo at {lr}
        env: ["OUT=run-{lr}", "KEPT=1"]
        params: {lr: [1e-4, 3e-4], text: ["it's $HOME"]}
        """
    )
    for index in range(2):
        (script.parent / f"trial-{index}").write_text(trial(sweep, index))
    code, out, err = ran(
        shell,
        script,
        "words",
        *sweep.run.command,
        GANGLION_TRIALS=f"{script.parent}/trial-",
        GANGLION_INDEX="1",
        GANGLION_SETUP=sweep.run.setup,
    )
    assert (code, err) == (0, "")
    assert out == "at 3e-4\n3e-4 it's $HOME\n"
    assert "KEPT" not in trial(sweep, 1)
    assert "export OUT=run-3e-4\n" in trial(sweep, 1)
    assert "export GANGLION_PARAM_LR=3e-4\n" in trial(sweep, 1)
