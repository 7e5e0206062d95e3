"""What people see of the demo, on a terminal and in a log."""

import io
import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from rich.console import Console

from ganglion.api.nodes import NodeView
from ganglion.api.workloads import GangView, WorkloadDetail, WorkloadPage, WorkloadView
from ganglion.client import Client
from ganglion.demo.story.board import Board, promises
from ganglion.demo.story.checks import PromiseCheck
from ganglion.demo.story.scene import ClusterMoment, ClusterWatch, DemoFailed
from ganglion.model.placement import Placement, PodPlacement

NODES = tuple(
    NodeView(f"node-{n}", domains={"rack": f"rack-{n // 2}"}, gpu_total_milli=8_000)
    for n in range(4)
)


def view(state: str = "RUNNING", number: int = 1, message: str = "") -> WorkloadView:
    return WorkloadView(
        *(f"x-{number}", "x", "train", "vision", "ada", 50, state), gpus=4, message=message
    )


def detail(state: str, *gangs: GangView) -> WorkloadDetail:
    return WorkloadDetail(*("x-1", "x", "train", "vision", "ada", 50, state), gpus=4, gangs=gangs)


def scene(state: str = "RUNNING") -> ClusterMoment:
    placement = Placement((PodPlacement("main", 0, "node-1", (2, 3, 4, 5), 1000),))
    gang = GangView(id="x-1/0", index=0, phase="running", placement=placement)
    return ClusterMoment([detail(state, gang)])


def shown(terminal: bool, play: Callable[[Board], None]) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100, no_color=True)
    with Board(console, NODES) as board:
        play(board)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", cast("io.StringIO", console.file).getvalue())


def test_a_log_gets_one_line_per_change() -> None:
    def play(board: Board) -> None:
        for state in ("STARTING", "RUNNING", "RUNNING", "SUCCEEDED"):
            board.show(scene(state))

    lines = shown(False, play).splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["x-1", "STARTING"],
        ["x-1", "RUNNING"],
        ["x-1", "SUCCEEDED"],
    ]
    assert "node-1:4" in lines[1]


def test_a_terminal_shows_racks_and_the_devices_in_use() -> None:
    text = shown(True, lambda board: board.show(scene()))
    assert "rack-0" in text
    assert "node-1  · · ■ ■ ■ ■ · ·" in text
    assert "node-2  · · · · · · · ·" in text


def test_a_wait_is_shown_with_its_message() -> None:
    waiting = ClusterMoment([view("QUEUED", message="needs 12 GPUs")])
    assert "needs 12 GPUs" in shown(False, lambda board: board.show(waiting))


def test_a_broken_promise_stands_out() -> None:
    console = Console(file=io.StringIO(), width=100)
    console.print(
        promises([PromiseCheck("it runs", True, "yes"), PromiseCheck("it ends", False, "no")])
    )
    rows = cast("io.StringIO", console.file).getvalue().splitlines()
    assert rows[1].split()[0] == "ok"
    assert rows[2].split()[0] == "BROKEN"


class Server:
    """Answers with one workload that never changes."""

    def workloads(self, **_: Any) -> WorkloadPage:
        return WorkloadPage((view("QUEUED", 2), view("SUCCEEDED", 1)))

    def workload(self, ref: str) -> WorkloadDetail:
        assert ref == "x-2", "what has ended need not be asked about"
        return WorkloadDetail(*(ref, "x", "train", "vision", "ada", 50, "QUEUED"))


def test_waiting_for_what_never_happens_ends_with_what_was_seen() -> None:
    watch = ClusterWatch(cast("Client", Server()), lambda _: None, deadline_s=0.0)
    with pytest.raises(DemoFailed, match="until it rains") as failed:
        watch.until("it rains", lambda _: False)
    assert failed.value.hint == "x-1 SUCCEEDED, x-2 QUEUED"


def test_a_name_stands_for_its_newest_workload() -> None:
    found = ClusterWatch(cast("Client", Server()), lambda _: None).look()
    assert found.of("x").id == "x-2"
    with pytest.raises(DemoFailed, match="does not know y"):
        found.of("y")
