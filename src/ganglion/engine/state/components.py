"""The components of the whole state, as events and what goes back over them need it."""

from typing import Protocol

from ganglion.engine.forecast.forecast import Forecast
from ganglion.engine.state.agenda import Agenda
from ganglion.engine.store.store import Store
from ganglion.engine.timeline.timeline import Timeline


class Components(Store, Protocol):
    """All components.

    Attributes:
        timeline: what is spoken for, kept and reserved.
        forecast: what is expected.
        agenda: what one cycle leaves to the next.
    """

    timeline: Timeline
    forecast: Forecast
    agenda: Agenda

    def rebuild(self) -> None:
        """Make everything anew that follows from nodes, queues, records and reservations."""
