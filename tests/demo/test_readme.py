"""What the README and the pages of the documentation show is what the program says."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.demo.console import ROOT, Command, Session, blocks, check, pages

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

README = ROOT / "README.md"
UP = "ganglion up --nodes 4 --racks 2 --fake-gpus H100:8"

MOST_LEFT = 20
"""Blocks that may be not run; each says why."""

ROOMY = f"{UP} --cpus 16 --memory 64GB"
STAYS = "-d -- sleep 1000"
VLLM = "printf '#!/bin/sh\\nexec python -m http.server $PORT\\n' > ~/bin/vllm; chmod +x ~/bin/vllm"
CHAT = "name: chat\\nrun: vllm\\nport: 8000\\nkind: service\\n"
REACHED = "curl -s --retry 20 --retry-connrefused http://127.0.0.1:7078/chat/"
ROWS = "submit_s,duration_s,num_gpus\\n" + "".join(f"{n},60,1\\n" for n in range(15))
BEFORE: dict[tuple[str, int], tuple[str, ...]] = {
    ("docs/failures.md", 0): (
        ROOMY,
        "printf 'name: llm\\nrun: sleep 1000\\nnodes: 4\\nresources: {gpus: 5}\\n"
        "checkpoint: {interval: 30m}\\n' > llm.yaml; ganglion submit llm.yaml -d",
        f"ganglion run --name chat --kind service --gpus 1 {STAYS}",
        "ganglion scale chat 4",
        f"ganglion run --name probe --nodes 4 --gpus 2 {STAYS}",
        "ganglion wait --for running llm probe chat",
    ),
    ("docs/local.md", 0): ("echo 'print(1)' > train.py",),
    ("docs/local.md", 1): (
        UP,
        "printf 'name: train\\nrun: echo here; test $GANGLION_ATTEMPT = 2\\nprocs_per_node: 4\\n"
        "retry: {limit: 1, backoff: 1s}\\n' > train.yaml; ganglion submit train.yaml",
    ),
    ("docs/policies/README.md", 0): (
        UP,
        *("ganglion policy apply kai", "ganglion policy apply default"),
    ),
    ("docs/router.md", 0): (
        UP,
        VLLM,
        f"printf '{CHAT}' > c.yaml; ganglion submit c.yaml -d",
        REACHED,
    ),
    ("docs/runbooks/policy.md", 0): (
        UP,
        *(f"ganglion policy apply {each}" for each in ("kai", "default", "kueue")),
    ),
    ("docs/runbooks/preemption.md", 0): (
        UP,
        f"ganglion run --name train {STAYS}",
        "ganglion wait --for running train",
        "ganglion cancel train --yes",
    ),
    ("docs/services.md", 0): (ROOMY, VLLM),
    ("docs/simulator.md", 0): (
        f"printf '{ROWS}' > jobs.csv; gzip -k jobs.csv",
        "printf 'nodes: [{name: n0, gpus: H100:8}, {name: n1, gpus: H100:8}]' > cluster.yaml",
    ),
    ("docs/simulator.md", 2): ("printf '15,n/a,1\\n' >> jobs.csv",),
    ("docs/workspaces.md", 0): (
        UP,
        f"ganglion run --name ada-lab --kind workspace {STAYS}",
        "ganglion wait --for running ada-lab",
    ),
}
"""(page, number of a block) -> commands that lead to the state in which it begins."""


@pytest.fixture
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    made = Session(tmp_path, (ROOT / request.param).read_text("utf-8"))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("session", "page"), [(each, each) for each in pages()], indirect=["session"]
)
def test_every_console_block_does_what_its_page_shows(session: Session, page: str) -> None:
    for number, block in enumerate(blocks((ROOT / page).read_text("utf-8"))):
        before = [Command(0, line, []) for line in BEFORE.get((page, number), ())]
        for command in [] if block.why_not else [*before, *block.commands]:
            check(session, command)


def left() -> list[str]:
    """Blocks that are not run, with the reason that their page gives."""
    return [
        f"{page}:{each.line}: {each.why_not}"
        for page in pages()
        for each in blocks((ROOT / page).read_text("utf-8"))
        if each.why_not
    ]


@pytest.mark.parametrize(
    "block", [pytest.param(each, marks=pytest.mark.skip(reason=each)) for each in left()]
)
def test_a_block_that_is_not_run(block: str) -> None:
    """Skipped with its reason, so that a run of the tests lists and counts it."""


def test_few_blocks_are_not_run() -> None:
    assert len(left()) <= MOST_LEFT


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
