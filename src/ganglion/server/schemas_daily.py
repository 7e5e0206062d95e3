"""What the server answers about ended work."""

from pydantic import Field

from ganglion.server import schemas
from ganglion.server.schema_base import Model


class HistoryItem(schemas.WorkloadView):
    """A workload that has ended."""

    spent: schemas.Spent | None = Field(
        None, description="null = unknown: an earlier version of Ganglion wrote its end"
    )


class HistoryPage(Model):
    """Some ended workloads, the one that ended last first."""

    items: tuple[HistoryItem, ...]
    next: str | None = Field(description="give it as `after` for the next page; null = the end")
