"""Start bands that the engine gave, and how often they held."""

from collections.abc import Sequence
from typing import Any

from benchmarks.common.drive import Course
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import Event, StartExpected
from ganglion.model.plan import Plan


class Told:
    """Collects the first band of every gang that had to wait."""

    def __init__(self) -> None:
        self._bands: dict[str, StartExpected] = {}

    def look(self, _: ClusterState, events: Sequence[Event], plan: Plan) -> None:
        """Take in one cycle; a `Look` of `drive`."""
        del events
        for event in plan.decisions:
            if isinstance(event, StartExpected):
                self._bands.setdefault(event.gang, event)

    def scored(self, courses: Sequence[Course]) -> dict[str, Any]:
        """How often they held.

        `bands`: gangs that got one; `held_p50_pct`, `held_p90_pct`: those of them that
        started by the time given; `all_p90_pct`: the same over all gangs, where one that
        started at once, without a band, counts as held. None where there were no bands.
        """
        pairs = [
            (course.started, band)
            for course in courses
            if (band := self._bands.get(course.job.gang.id))
        ]
        early = len(courses) - len(pairs)
        p90 = sum(started <= band.p90_ms for started, band in pairs)
        return {
            "bands": len(pairs),
            "held_p50_pct": _pct(sum(at <= band.p50_ms for at, band in pairs), len(pairs)),
            "held_p90_pct": _pct(p90, len(pairs)),
            "all_p90_pct": _pct(p90 + early, len(courses)) if pairs else None,
        }


def _pct(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
