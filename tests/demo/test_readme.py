"""The explanation on the first screen of the README is what the program says."""

from pathlib import Path

import msgspec
import pytest

from ganglion.cli import screen
from ganglion.cli.explanation import print_why
from ganglion.client.views import Explained, Why
from ganglion.engine.cycle import cycle
from ganglion.engine.explain import explain
from ganglion.engine.state import ClusterState
from ganglion.files.workload import parse_workloads
from ganglion.model import events as ev
from ganglion.model.levels import Level
from ganglion.model.node import Device, Node
from ganglion.model.queue import Queue
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, Kind, PodSet, Topology

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_workload_file_that_is_shown_is_valid() -> None:
    shown = README.read_text("utf-8").partition("```yaml\n")[2].partition("```")[0]
    (doc,) = parse_workloads(shown, "README.md")
    assert (doc.name, doc.effective_kind) == ("llama-sft", Kind.TRAIN)


def node(number: int) -> Node:
    rack = {Level.RACK: f"rack-{number // 2}"}
    return Node(f"node-{number}", 500, 6_000, (Device("H100"),) * 8, rack)


def gang(ref: str, gpus: int, kind: Kind, count: int = 1, topology: Topology | None = None) -> Gang:
    pods = PodSet(count=count, request=PodRequest(gpu=GpuRequest(count=gpus)))
    workload = ref.partition("/")[0]
    return Gang(ref, workload, "team", kind=kind, pod_sets=(pods,), topology=topology or Topology())


def test_the_sample_is_what_the_program_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = ClusterState()
    serving = [gang(f"api-1/{index}", 1, Kind.SERVICE) for index in range(2)]
    notebook = gang("notebook-2/0", 1, Kind.WORKSPACE)
    waiting = gang("llama-sft-12/0", 8, Kind.TRAIN, 2, Topology(required=Level.RACK))
    submits = [ev.GangSubmitted(0, each) for each in (*serving, notebook, waiting)]
    nodes = [ev.NodeAdded(0, node(number)) for number in range(4)]
    cycle(state, [ev.QueueSet(0, Queue("team")), *nodes, *submits], 0)

    explanation = msgspec.convert(msgspec.to_builtins(explain(state, waiting.id, 0)), Explained)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("ganglion.cli.explanation.now_ms", lambda: 0)
    screen.out.cache_clear()
    print_why(Why("llama-sft-12", (explanation,)))
    screen.out.cache_clear()
    said = capsys.readouterr().out.strip()
    shown = README.read_text("utf-8").partition("$ ganglion why llama-sft\n")[2].partition("```")[0]
    assert [line.rstrip() for line in said.splitlines()] == shown.strip().splitlines()
