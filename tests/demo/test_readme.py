"""What the README and the pages of the documentation show is what the program says."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.demo.console import CLUSTER_PAGES, ROOT, Session, blocks, pages, play

UP = "ganglion up --nodes 4 --racks 2 --fake-gpus H100:8"

MOST_LEFT = 4
"""Blocks that may be not run; each says why."""

ROOMY = f"{UP} --cpus 16 --memory 64GB"
STAYS = "-d -- sleep 1000"
VLLM = "printf '#!/bin/sh\\nexec python -m http.server $PORT\\n' > ~/bin/vllm; chmod +x ~/bin/vllm"
CHAT = "name: chat\\nrun: vllm\\nport: 8000\\nkind: service\\n"
REACHED = "curl -s --retry 20 --retry-connrefused http://127.0.0.1:7078/chat/"
ROWS = "submit_s,duration_s,num_gpus\\n" + "".join(f"{n},60,1\\n" for n in range(15))
OPENB = {
    "pod": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np0,1000,1024,1,470,\n",
    "node": "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,4,A\n",
}
PAIR = "ganglion up --nodes 2 --racks 2 --fake-gpus H100:4 --cpus 16 --memory 64GB"
QUEUES = "queues:\\n- {name: vision, quota: {H100: 2}}\\n- {name: health, quota: {H100: 6}}\\n"
AS_EVE = "GANGLION_URL=http://127.0.0.1:7077 GANGLION_TOKEN=$(cat eve)"
AS_OWNER = "env -u GANGLION_URL -u GANGLION_TOKEN"
RACKS = "nodes:\\n" + "".join(
    f"- {{name: gpu-{n}, gpus: 'H100:4', cpus: 16, memory: 64GB, rack: r{n}}}\\n" for n in (0, 1)
)
ON_RACKS = "ganglion up --cluster cluster.yaml"
UNTIL_DONE = "until test -e done; do sleep 0.1; done"
SAVES = """echo '{"checkpoint": {"step": 1200, "path": "1200.pt"}}' >> $GANGLION_REPORT_FILE"""
BEFORE: dict[tuple[str, int], tuple[str, ...]] = {
    ("README.md", 1): (
        ROOMY,
        "printf 'name: eval\\nrun: sleep 1000\\nnodes: 2\\nresources: {gpus: 1}\\ntime_limit: 4h\\n"
        "placement: {forbidden: rack}\\n' > eval.yaml; ganglion submit eval.yaml -d",
        "ganglion wait --for running eval",
        "printf 'name: llama-sft\\nrun: train\\nnodes: 2\\nresources: {gpus: 8}\\n"
        "placement: rack\\n' > sft.yaml; ganglion submit sft.yaml -d",
    ),
    ("README.md", 3): ("ganglion cancel --all --yes --force", "ganglion down"),
    ("docs/agents.md", 0): (UP,),
    ("docs/audit.md", 0): (UP, "ganglion run --name hello -- true", "ganglion down"),
    ("docs/audit.md", 5): (UP,),
    ("docs/checkpoints.md", 0): (
        UP,
        f"cat > sft.yaml <<'EOF'\nname: llama-sft\nrun: |\n  {SAVES}\n  exec sleep 1000\n"
        "resources: {gpus: 8}\nnodes: 4\ncheckpoint: {interval: 30m, grace: 5s}\nEOF",
        "ganglion submit sft.yaml -d",
        "until ganglion describe llama-sft | grep Checkpoint; do sleep 0.2; done",
        f"ganglion run --name urgent --priority urgent --gpus 8 {STAYS}",
        "ganglion wait --for running urgent",
    ),
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
    ("docs/services.md", 1): ("until ganglion describe chat | grep URL; do sleep 0.1; done",),
    ("docs/simulator.md", 0): (
        f"printf '{ROWS}' > jobs.csv; gzip -k jobs.csv",
        "printf 'nodes: [{name: n0, gpus: H100:8}, {name: n1, gpus: H100:8}]' > cluster.yaml",
        f"printf '{OPENB['pod']}' > openb_pod_list_default.csv",
        f"printf '{OPENB['node']}' > openb_node_list_gpu_node.csv",
    ),
    ("docs/simulator.md", 1): ("printf '15,n/a,1\\n' >> jobs.csv",),
    ("docs/tutorials/auditor.md", 0): (
        f'printf "{RACKS}{QUEUES}" > cluster.yaml; {ON_RACKS}',
        "ganglion run --name scan -q health --gpus 1 -- true",
        "ganglion cordon gpu-1 --reason 'fan broken'",
        f"ganglion down; {ON_RACKS}",
    ),
    ("docs/tutorials/finance.md", 0): (
        PAIR,
        *(f"ganglion queues set {name} --quota H100:4" for name in ("vision", "speech")),
    ),
    ("docs/tutorials/finance.md", 4): (
        *(
            f"{AS_OWNER} ganglion run --name {name} -q vision --gpus {gpus} --time {time} {STAYS}"
            for name, gpus, time in (("train", 4, "2h"), ("tune", 2, "6h"))
        ),
        f"{AS_OWNER} ganglion budget request vision 30 --reason 'the rerun for the paper'",
    ),
    ("docs/tutorials/researcher.md", 0): (
        f"printf '{QUEUES}' > queues.yaml; {PAIR} --queues queues.yaml",
        f"ganglion run --name scan -q health --nodes 2 --gpus 3 --time 20m -d -- '{UNTIL_DONE}'",
        "ganglion wait --for running scan",
        "ganglion role grant eve admin --for 30d; ganglion token create eve admin > token",
    ),
    ("docs/tutorials/researcher.md", 4): ("touch done",),
    ("docs/tutorials/researcher.md", 5): ("until test -s scores.txt; do sleep 0.1; done",),
    ("docs/tutorials/team-lead.md", 0): (PAIR,),
    ("docs/tutorials/team-lead.md", 1): (
        "ganglion role grant eve admin; ganglion token create eve admin > eve",
        *(
            f"{AS_EVE} ganglion run --name {name} -q vision --gpus 4 --time-limit 2h {STAYS}"
            for name in ("train", "tune")
        ),
        "ganglion role revoke eve admin",
        "ganglion wait --for running train",
    ),
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
    ("session", "page"),
    [(each, each) for each in pages() if each not in CLUSTER_PAGES],
    indirect=["session"],
)
def test_every_console_block_does_what_its_page_shows(session: Session, page: str) -> None:
    play(session, page, BEFORE)


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


def test_a_block_that_is_not_run_names_targets_that_exist() -> None:
    skipped = [
        command.text
        for page in pages()
        for each in blocks((ROOT / page).read_text("utf-8"))
        for command in each.commands
        if each.why_not
    ]
    targets = {found for text in skipped for found in re.findall(r"\bmake (\w+)", text)}
    assert targets == {"demo", "test", "setup", "check", "quick", "portal"}
    subprocess.run(
        ["make", "--dry-run", *targets], cwd=ROOT, check=True, capture_output=True, timeout=60
    )
