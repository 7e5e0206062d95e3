"""`ganglion describe node`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ganglion.cli.connection.connect import connect
from ganglion.cli.connection.elsewhere import local_only
from ganglion.cli.output.formats import DASH, age, clock, memory, milli, now_ms, ranges
from ganglion.cli.output.tables import Column, T, print_data, print_table, table_of

if TYPE_CHECKING:
    from ganglion.api.nodes import DeviceView, NodeView
    from ganglion.api.policies import BookingView
    from ganglion.api.use import NodeDetail, Occupant
    from ganglion.cli.connection.contexts import ChosenCluster


def describe_node(name: str, form: str, where: "ChosenCluster | None") -> None:
    """Print everything about a node.

    Args:
        name: of the node.
        form: `text`, `json` or `yaml`.
        where: which cluster; None = the local server.
    """
    local_only(where, "describe node", "kubectl describe node")
    with connect() as client:
        view = client.daily.node(name)
    if form == "text":
        _print(view)
    else:
        print_data(view, form)


def _print(view: "NodeDetail") -> None:
    from rich.text import Text

    from ganglion.cli.fleet.nodes import STATES
    from ganglion.cli.output.explanation import grid
    from ganglion.cli.output.screen import out

    node = view.node
    out().print(Text.assemble((node.name, "bold"), " ", (node.state, STATES.get(node.state, ""))))
    print_table(grid([(name, Text(value)) for name, value in _facts(view) if value]))
    if node.devices:
        out().print("\nGPUs", style="bold")
        print_table(table_of(_devices(), node.devices))
    _section("On it", view.occupants, _occupants(now_ms()))
    _section("Start here once others have left", view.awaiting, _occupants(0))
    _section("Bookings", view.bookings, _bookings())


def _section(title: str, rows: "Sequence[T]", columns: "list[Column[T]]") -> None:
    from ganglion.cli.output.screen import out

    if rows:
        out().print(f"\n{title}", style="bold")
        print_table(table_of(columns, rows))


def _facts(view: "NodeDetail") -> list[tuple[str, str]]:
    node = view.node
    return [
        ("Flavor", node.flavor),
        ("Reason", node.reason),
        ("Empty by", clock(node.deadline) if node.deadline else ""),
        ("Takes work", f"no; {view.opens} ends that" if view.opens else ""),
        ("Domains", " ".join(f"{level}={name}" for level, name in node.domains.items())),
        ("Labels", " ".join(f"{key}={value}" for key, value in sorted(node.labels.items()))),
        ("GPUs", f"{milli(node.gpu_free_milli)} free of {milli(node.gpu_total_milli)}"),
        *(() if node.cluster else _host(node)),
        ("Pods", str(node.pods)),
    ]


def _host(node: "NodeView") -> list[tuple[str, str]]:
    return [
        ("CPUs", f"{milli(node.cpu_free_milli)} free of {milli(node.cpu_total_milli)}"),
        ("Memory", f"{memory(node.memory_free_mib)} free of {memory(node.memory_total_mib)}"),
    ]


def _devices() -> "list[Column[DeviceView]]":
    return [
        Column("GPU", lambda d: str(d.index), right=True),
        Column("TYPE", lambda d: d.type),
        Column("MEMORY", lambda d: memory(d.memory_mib), right=True),
        Column("NUMA", lambda d: str(d.numa), right=True),
        Column("ISLAND", lambda d: str(d.island), right=True),
        Column("FREE", lambda d: milli(d.free_milli), right=True),
        Column("HEALTH", lambda d: "ok" if d.healthy else "not usable"),
        Column("USED BY", lambda d: ", ".join(d.gangs) or DASH),
    ]


def _occupants(now: int) -> "list[Column[Occupant]]":
    columns: list[Column[Occupant]] = [
        Column("GANG", lambda o: o.gang),
        Column("USER", lambda o: o.user or DASH),
        Column("QUEUE", lambda o: o.queue),
        Column("PHASE", lambda o: o.phase),
        Column("PODS", lambda o: str(o.pods), right=True),
        Column("GPUS", _gpus),
    ]
    if now:
        columns.append(Column("FOR", lambda o: age(now - o.since), right=True))
    return columns


def _gpus(occupant: "Occupant") -> str:
    if not occupant.devices:
        return DASH
    share = "" if occupant.milli == 1000 else f" x {milli(occupant.milli)}"
    return ranges(list(occupant.devices)) + share


def _bookings() -> "list[Column[BookingView]]":
    return [
        Column("BOOKING", lambda b: b.name),
        Column("STATE", lambda b: b.state),
        Column("FROM", lambda b: clock(b.begin)),
        Column("TO", lambda b: clock(b.end)),
        Column("FOR", lambda b: ", ".join((*b.queues, *b.users)) or "maintenance"),
        Column("REASON", lambda b: b.reason or DASH, least=12),
    ]
