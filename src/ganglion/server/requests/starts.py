"""When gangs that wait are expected to start, of some at a time."""

from collections.abc import Iterable, Iterator

from ganglion.api.reasons import Band, StartView
from ganglion.engine.explain.explain import start_of
from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.engine.state.cluster_state import ClusterState

KEPT_MS = 10_000
"""How long an answer holds. Working a long queue forward takes tenths of a second, in which nothing
is decided; that many pages ask about the same gangs costs no more than that one does."""


class KnownStarts:
    """Start bands, computed when they are asked for and kept for a moment."""

    def __init__(self) -> None:
        self._known: dict[str, StartView] = {}
        self._swept = 0

    def of(
        self, state: ClusterState, records: Iterable[GangRecord], now: int
    ) -> Iterator[StartView]:
        """When gangs that wait are expected to start at a time in ms; of others nothing is said.

        Args:
            state: the same from call to call, which is left as it is.
            records: the gangs.
            now: the time in ms.
        """
        self._sweep(now)
        for record in records:
            if record.phase in WAITING:
                yield self._start(state, record, now)

    def _start(self, state: ClusterState, record: GangRecord, now: int) -> StartView:
        gang = record.gang.id
        known = self._known.get(gang)
        if known is None or (known.start and record.reason):  # it does not wait for room any more
            band = start_of(state, record, now)
            start = Band(band.p50_ms, band.p90_ms) if band and band.known else None
            known = StartView(gang, now, start, band.guesses if band else ())
            self._known[gang] = known
        return known

    def _sweep(self, now: int) -> None:
        """Forget what is too old; all of what is kept was computed at nearly the same time."""
        if not 0 <= now - self._swept < KEPT_MS:
            self._known.clear()
            self._swept = now
