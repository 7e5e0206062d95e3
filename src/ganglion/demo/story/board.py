"""What the demo shows: a live board on a terminal, plain lines elsewhere."""

from types import TracebackType
from typing import Self

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ganglion.api.nodes import NodeView
from ganglion.api.workloads import WorkloadBase
from ganglion.client.states import STYLES
from ganglion.demo.story.checks import PromiseCheck
from ganglion.demo.story.scene import ClusterMoment

TEAMS = {"vision": "cyan", "language": "magenta", "search": "yellow"}
GLYPH, FREE = "■", "·"


class Board:
    """Shows scenes as they come; use as a context manager.

    Args:
        console: where to.
        nodes: the nodes of the cluster.
    """

    def __init__(self, console: Console, nodes: tuple[NodeView, ...]) -> None:
        self.console, self.nodes = console, nodes
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._told: dict[str, str] = {}

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.stop()

    def say(self, text: str) -> None:
        """Print a line of the story."""
        self.console.print(Text(text, "bold"))

    def show(self, scene: ClusterMoment) -> None:
        """Draw a scene; without a terminal, print what changed since the last one."""
        if self._live:
            self._live.update(self._draw(scene), refresh=True)
            return
        for view in scene.workloads:
            now = f"{view.state} {'' if view.over else _places(scene, view)}".rstrip()
            if self._told.get(view.id) != now:
                self._told[view.id] = now
                self.console.print(f"  {view.id:22} {now}", soft_wrap=True)

    def _draw(self, scene: ClusterMoment) -> RenderableType:
        return Group(self._map(scene), jobs(scene))

    def _map(self, scene: ClusterMoment) -> RenderableType:
        racks: dict[str, list[Text]] = {}
        owners = _owners(scene)
        for node in self.nodes:
            row = Text(f"{node.name}  ")
            for device in range(node.gpu_total_milli // 1000):
                team = owners.get((node.name, device))
                row.append(f"{GLYPH if team else FREE} ", TEAMS.get(team or "", "dim"))
            racks.setdefault(node.domains.get("rack", ""), []).append(row)
        panels = [
            Panel(Text("\n").join(rows), title=rack, border_style="dim", expand=False)
            for rack, rows in racks.items()
        ]
        legend = Text("\n").join(Text(f"{GLYPH} {team}", style) for team, style in TEAMS.items())
        return Columns([*panels, legend], padding=(0, 2))


def jobs(scene: ClusterMoment) -> Table:
    """Return the table of workloads; the last column gives way on a narrow terminal."""
    rows = [(view, (view.id, view.queue, f"{view.gpus:g}", view.state)) for view in scene.workloads]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column, name in enumerate(("JOB", "TEAM", "GPUS", "STATE")):
        widest = max([len(name), *(len(cells[column]) for _, cells in rows)])
        table.add_column(name, justify="right" if name == "GPUS" else "left", min_width=widest)
    table.add_column("WHERE OR WHY", no_wrap=True, overflow="ellipsis")
    for view, (ref, queue, gpus, state) in rows:
        team, look = TEAMS.get(queue, ""), STYLES.get(state, "")
        place = Text(_places(scene, view), "dim" if view.over else "")
        table.add_row(ref, Text(queue, team), gpus, Text(state, look), place)
    return table


def promises(checks: list[PromiseCheck]) -> Table:
    """Return the table of what was promised and what happened."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    table.add_column("PROMISE", overflow="fold")
    table.add_column("FOUND", overflow="fold")
    for check in checks:
        mark = Text("ok", "green") if check.held else Text("BROKEN", "bold red")
        table.add_row(mark, check.promise, Text(check.detail, "dim"))
    return table


def _places(scene: ClusterMoment, view: WorkloadBase) -> str:
    held = scene.where(view.id)
    if held:
        return " ".join(f"{node}:{milli / 1000:g}" for node, milli in sorted(held.items()))
    return view.message or ""


def _owners(scene: ClusterMoment) -> dict[tuple[str, int], str]:
    """Return the team on every device in use."""
    return {
        (pod.node, device): view.queue
        for view, placement in scene.placed
        for pod in placement.pods
        for device in pod.devices
    }
