"""What Prometheus may ask about workspaces."""

from collections.abc import Callable, Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ganglion.server.controllers.workspaces import WorkspacesController


class WorkspaceFigures(Collector):
    """Reads what the keeper of workspaces knows, when it is asked.

    Args:
        keeper: it.
        clock: the time in ms.
    """

    def __init__(self, keeper: WorkspacesController, clock: Callable[[], int]) -> None:
        self._keeper, self._clock = keeper, clock

    def describe(self) -> Iterable[Metric]:
        """Nothing may be asked before it is there."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Yield the figures as of now."""
        wards, tally = self._keeper.wards, self._keeper.wards.tally
        asleep = GaugeMetricFamily("ganglion_workspaces_suspended", "Workspaces that sleep.")
        asleep.add_metric([], sum(bool(each.held) for each in wards))
        why = CounterMetricFamily(
            "ganglion_workspace_suspensions", "Workspaces suspended, by cause.", labels=["cause"]
        )
        why.add_metric(["idle"], tally.idle)
        why.add_metric(["asked"], tally.asked)
        yield from (asleep, why)
        yield _counter("warnings", "Warnings given to idle workspaces.", tally.warnings)
        yield _counter("resumptions", "Workspaces taken up again.", tally.resumed)
        yield _counter(
            "wrongful_suspensions",
            "Workspaces suspended for idleness and taken up again within ten minutes.",
            tally.wrongful,
        )
        seconds = wards.returned_gpu_ms(self._clock()) // 1000
        yield _counter("returned_gpu_seconds", "GPU time not held by workspaces asleep.", seconds)


def _counter(name: str, text: str, value: int) -> Metric:
    found = CounterMetricFamily(f"ganglion_workspace_{name}", text)
    found.add_metric([], value)
    return found
