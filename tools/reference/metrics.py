"""The page of every metric that `/metrics` of a server, a scheduler or a router shows."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from ganglion.lifecycle.workspaces.idle_state import Wards
from ganglion.router.balancing.balancer import Balancer
from ganglion.router.balancing.registry import ServiceRegistry
from ganglion.router.metrics import Families
from ganglion.server.cluster.outbox.figures import OutboxFigures
from ganglion.server.cluster.outbox.outbox import Outbox
from ganglion.server.cluster.source import ClusterSource
from ganglion.server.controllers.workspace_metrics import WorkspaceFigures
from ganglion.server.controllers.workspaces import WorkspacesController
from ganglion.server.telemetry.cluster_metrics import ClusterGauges
from ganglion.server.telemetry.metrics import Gauges, Metrics, ServerFigures, ServerStanding

INTRODUCTION = """\
# Metrics

Generated from the program (`python -m tools.reference`).

`GET /metrics` of a server, of a scheduler and of a router answers in the text format of
Prometheus. A histogram `NAME` has the series `NAME_bucket`, `NAME_sum` and `NAME_count`. Labels
come from closed or bounded sets: of queues that users name the first have series of their own, the
others are `other`. [Numbers to watch](../runbooks/server.md#numbers-to-watch) says which of them
matter, and `deploy/` has dashboards and alert rules.
"""


class Row:
    """One metric.

    Attributes:
        name: as Prometheus shows it.
    """

    def __init__(self, name: str, kind: str, text: str, labels: tuple[str, ...]) -> None:
        self.name = name + ("_total" if kind == "counter" and not name.endswith("_total") else "")
        self.line = f"| `{self.name}` | {kind} | {_list(labels)} | {text} |"


def page() -> str:
    """Return the whole page."""
    parts = [INTRODUCTION]
    for title, said, rows in (
        ("A server", "`ganglion up`, with processes of this machine.", server()),
        ("A scheduler of clusters", "`ganglion scheduler`.", scheduler()),
        ("The router", "`/-/metrics`, where only this machine can connect.", router()),
    ):
        parts.append(f"## {title}\n\n{said}\n")
        parts.append("| Metric | Kind | Labels | Meaning |\n|---|---|---|---|")
        parts += [each.line for each in sorted(rows, key=lambda row: row.name)]
        parts.append("")
    return "\n".join(parts)


def server() -> list[Row]:
    """Metrics of a server."""
    metrics = Metrics()
    keeper = SimpleNamespace(wards=Wards())
    metrics.registry.register(Gauges(dict, list))
    metrics.registry.register(ServerFigures(lambda: ServerStanding({}, 0, 0, 0, 0)))
    metrics.registry.register(WorkspaceFigures(cast("WorkspacesController", keeper), lambda: 0))
    return list(_rows(metrics.registry))


def scheduler() -> list[Row]:
    """Metrics of a scheduler of clusters."""
    source = ClusterSource()
    mine = CollectorRegistry()
    gauges = ClusterGauges(dict, lambda: (0, 0, 0), dict, lambda: 0, dict)
    sent, wrote = SimpleNamespace(delivered=0), SimpleNamespace(dropped=0)
    outbox = SimpleNamespace(sender=sent, writer=wrote, depth=0, size=0, left=0, failures=0, late=0)
    for each in (gauges, Gauges(dict, list), OutboxFigures(cast("Outbox", outbox))):
        mine.register(each)
    counted = [each for each in _collectors(source.registry) if isinstance(each, MetricWrapperBase)]
    return [*map(_counted, counted), *_rows(mine)]


def router() -> list[Row]:
    """Metrics of a router."""
    registry = CollectorRegistry(auto_describe=False)
    desks: list[Balancer] = []
    registry.register(Families(cast("ServiceRegistry", SimpleNamespace(all=lambda: desks))))
    return list(_rows(registry))


def _rows(registry: CollectorRegistry) -> Iterator[Row]:
    for each in _collectors(registry):
        if isinstance(each, MetricWrapperBase):
            yield _counted(each)
        else:
            for family in each.collect():
                labels = tuple(getattr(family, "_labelnames", ()))
                yield Row(family.name, family.type, family.documentation, labels)


def _counted(metric: MetricWrapperBase) -> Row:
    (family,) = metric.describe()
    return Row(family.name, family.type, family.documentation, tuple(metric._labelnames))


def _collectors(registry: CollectorRegistry) -> list[Any]:
    return list(registry._collector_to_names)


def _list(labels: tuple[str, ...]) -> str:
    return ", ".join(f"`{each}`" for each in labels) or "none"
