"""What the server answers about ended work."""

from pydantic import Field

from ganglion.server.wire import workloads
from ganglion.server.wire.base import Model


class HistoryItem(workloads.WorkloadView):
    """A workload that has ended."""

    spent: workloads.Spent | None = Field(
        None, description="null = unknown: an earlier version of Ganglion wrote its end"
    )


class HistoryPage(Model):
    """Some ended workloads, the one that ended last first."""

    items: tuple[HistoryItem, ...]
    next: str | None = Field(description="give it as `after` for the next page; null = the end")
