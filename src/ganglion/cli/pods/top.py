"""`ganglion top`."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.connection.contexts import ChosenCluster, context_options
from ganglion.cli.connection.elsewhere import local_only
from ganglion.cli.options import command, output
from ganglion.cli.output.formats import clock, memory, milli
from ganglion.cli.output.screen import is_tty
from ganglion.cli.output.tables import Column, TextTable, print_data, print_table, table_of
from ganglion.cli.output.watching import watch_screen

if TYPE_CHECKING:
    from rich.console import Group

    from ganglion.api.use import DeviceUse, GangUse, UsePage

UNKNOWN = "?"
"""What a table shows where nothing can be measured."""


class UseLine:
    """What the gangs of one job or user use together.

    Attributes:
        name: of the job or user.
        gangs: those that hold resources.
    """

    def __init__(self, name: str, gangs: "Sequence[GangUse]") -> None:
        self.name, self.gangs = name, gangs

    def total(self, key: str) -> int | None:
        """The sum of a figure; None as soon as it is unknown of one gang."""
        values = [getattr(gang, key) for gang in self.gangs]
        return None if any(value is None for value in values) else sum(values)

    @property
    def busy_milli(self) -> int | None:
        """How busy its GPUs are on average; None = unknown, or it has none."""
        gangs = [gang for gang in self.gangs if gang.gpus]
        if not gangs or any(gang.gpu_busy_milli is None for gang in gangs):
            return None
        weighted = sum((gang.gpu_busy_milli or 0) * gang.gpus for gang in gangs)
        return round(weighted / sum(gang.gpus for gang in gangs))


@command("top", "top", "top --by user", "top --once", "top -o json")
@click.option(
    "--by",
    type=click.Choice(("job", "user")),
    default="job",
    show_default=True,
    help="Sum up by job or by user.",
)
@click.option("--once", is_flag=True, help="Print it once, as through a pipe.")
@context_options
@output("table", "json", "yaml")
def top(by: str, once: bool, form: str, where: ChosenCluster | None) -> None:
    """Show what jobs, users and GPUs use now.

    Redraws every second until Ctrl-C; prints once through a pipe. For each GPU: its gangs, how
    busy it is, memory and power; below that the same by job or user, with CPU (in cores) and
    memory.

    A question mark means that it cannot be measured: pretend GPUs have no figures, and how busy
    a GPU is cannot be divided among those that share it.
    """
    local_only(where, "top", "kubectl top pod")
    with connect() as client:
        if form != "table":
            print_data(client.daily.use(), form)
        elif once or not is_tty():
            for table in tables(client.daily.use(), by):
                print_table(table)
                click.echo()
        else:
            watch_screen(lambda: _screen(client.daily.use(), by))


def _screen(page: "UsePage", by: str) -> "Group":
    from rich.console import Group
    from rich.text import Text

    return Group(Text(clock(page.at), "dim"), *tables(page, by))


def tables(page: "UsePage", by: str) -> list[TextTable[Any]]:
    """Return a table of GPUs, where there are any, and one of jobs or users."""
    found: list[TextTable[Any]] = []
    if page.devices:
        found.append(table_of(_devices(), page.devices))
    return [*found, table_of(_lines(by), lines(page.gangs, by))]


def lines(gangs: "Iterable[GangUse]", by: str) -> list[UseLine]:
    """Sum gangs up by `job` or `user`, those with the most GPUs first."""
    groups: dict[str, list[GangUse]] = {}
    for gang in gangs:
        groups.setdefault(gang.workload if by == "job" else gang.user, []).append(gang)
    found = [UseLine(name, group) for name, group in groups.items()]
    return sorted(found, key=lambda line: (-(sum(g.gpus for g in line.gangs)), line.name))


def _devices() -> "list[Column[DeviceUse]]":
    return [
        Column("NODE", lambda d: d.node),
        Column("GPU", lambda d: str(d.index), right=True),
        Column("TYPE", lambda d: d.type),
        Column("UTIL", lambda d: _percent(d.busy_milli), right=True),
        Column("MEMORY", _memory_of, right=True),
        Column("POWER", _power_of, right=True),
        Column("USER", lambda d: ", ".join(d.users)),
        Column("USED BY", _used_by),
    ]


def _lines(by: str) -> "list[Column[UseLine]]":
    return [
        Column(by.upper(), lambda line: line.name),
        Column("GPUS", lambda line: f"{sum(g.gpus for g in line.gangs):g}", right=True),
        Column("UTIL", lambda line: _percent(line.busy_milli), right=True),
        Column("GPU MEM", lambda line: _memory(line.total("gpu_memory_mib")), right=True),
        Column("POWER", lambda line: _watts(line.total("power_mw")), right=True),
        Column("CPUS", lambda line: _cores(line.total("cpu_milli")), right=True),
        Column("MEMORY", lambda line: _memory(line.total("memory_mib")), right=True),
        Column("PROCS", lambda line: _count(line.total("processes")), right=True),
        Column("NODES", _nodes, least=8),
    ]


def _percent(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value / 10:.0f}%"


def _watts(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value / 1000:.0f}W"


def _memory(value: int | None) -> str:
    return UNKNOWN if value is None else memory(value)


def _cores(value: int | None) -> str:
    return UNKNOWN if value is None else milli(10 * round(value / 10))


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def _memory_of(device: "DeviceUse") -> str:
    return f"{_memory(device.memory_mib)}/{memory(device.memory_total_mib)}"


def _power_of(device: "DeviceUse") -> str:
    limit = "" if device.power_limit_mw is None else f"/{_watts(device.power_limit_mw)}"
    return f"{_watts(device.power_mw)}{limit}"


def _used_by(device: "DeviceUse") -> str:
    foreign = f"{len(device.strangers)} foreign" if device.strangers else ""
    return ", ".join(filter(None, (*device.gangs, foreign))) or "-"


def _nodes(line: UseLine) -> str:
    return ",".join(dict.fromkeys(node for gang in line.gangs for node in gang.nodes))
