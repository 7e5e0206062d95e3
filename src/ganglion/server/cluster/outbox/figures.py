"""What Prometheus may ask about an outbox."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ganglion.server.cluster.outbox.outbox import Outbox


class OutboxFigures(Collector):
    """Depth, size and fate of the records of a scheduler.

    Args:
        outbox: of the scheduler.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def collect(self) -> Iterator[Metric]:
        """Ask the outbox."""
        outbox = self._outbox
        for name, text, value in (
            ("ganglion_outbox_records", "Records that have not arrived.", outbox.depth),
            ("ganglion_outbox_bytes", "Bytes of the outbox.", outbox.size),
            (
                "ganglion_outbox_left",
                "Schedulers before this one whose records have not all arrived.",
                outbox.left,
            ),
        ):
            yield GaugeMetricFamily(name, text, value)
        for name, text, value in (
            (
                "ganglion_outbox_delivered",
                "Records that have arrived at the server.",
                outbox.sender.delivered,
            ),
            (
                "ganglion_outbox_dropped",
                "Records that were dropped; a gap in the ledger says so.",
                outbox.writer.dropped,
            ),
            (
                "ganglion_outbox_failures",
                "Tries to deliver that failed.",
                outbox.failures,
            ),
            (
                "ganglion_outbox_late_turns",
                "Turns that went on before they were written.",
                outbox.late,
            ),
        ):
            yield CounterMetricFamily(name, text, value)
