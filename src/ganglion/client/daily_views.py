"""What the server answers about ended work, as typed values."""

from msgspec import Struct

from ganglion.client.views import Spent, WorkloadView


class HistoryItem(WorkloadView):
    """A workload that has ended.

    Attributes:
        spent: what it used; None = unknown, as an earlier version of Ganglion wrote its end.
    """

    spent: Spent | None = None


class HistoryPage(Struct):
    """Some ended workloads.

    Attributes:
        items: one page of them, the one that ended last first.
        next: give it as `after` to get the next page; None = that was all.
    """

    items: tuple[HistoryItem, ...] = ()
    next: str | None = None
