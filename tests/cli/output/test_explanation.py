"""What `ganglion why` prints of an answer."""

import pytest

from ganglion.api.reasons import Explained, WaitedFor, Why
from ganglion.cli.output.explanation import print_why


def test_work_of_a_cluster_waits_for_what_its_scheduler_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    key = "east:train-0a1b2c3d"
    text = f"{key} waits (capacity) in cluster east, whose scheduler says more"
    waited = (WaitedFor(1, "quota", 240_000, 1, 9), WaitedFor(1, "unknown", 60_000, 1, 10))
    told = Explained(gang=key, phase="pending", text=text, waited=waited)
    print_why(Why(workload=key, gangs=1, explanations=(told,)))
    said = " ".join(capsys.readouterr().out.split())
    assert said == f"{text} Waited for quota 4m00s, unknown 1m00s"


def test_what_runs_does_not_wait(capsys: pytest.CaptureFixture[str]) -> None:
    told = Explained(gang="train-1/0", phase="running", text="train-1/0 runs")
    print_why(Why(workload="train-1", gangs=1, explanations=(told,)))
    assert capsys.readouterr().out == "train-1 does not wait: it is running\n"
