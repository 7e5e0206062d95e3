"""An interval says whom its attempt went ahead of."""

import msgspec

from ganglion.ledger.codec import decoded
from ganglion.metering.intervals import DAY_MS, UsageInterval
from ganglion.metering.meter import Meter
from ganglion.model import events as ev
from ganglion.model.fleet.node import Device, Node
from ganglion.model.placement import Placement, PodPlacement
from ganglion.server.views.past.timeline import TimelinePresent, _past
from tests.lifecycle.test_waits import gang

NODE = Node("n0", 64_000, 1 << 20, (Device("H100"),) * 2)
PLACE = Placement((PodPlacement("main", 0, "n0", (0,), 1_000),))


class OneGang:
    """What is known of the only gang."""

    gang = gang("short")


def metered(ahead_of: str) -> list[UsageInterval]:
    meter = Meter()
    meter.begin(0, {"n0": NODE}, (), ())
    placed = ev.GangPlaced(DAY_MS - 10, "short/0", 1, PLACE, ahead_of)
    for event in (placed, ev.GangEnded(DAY_MS + 10, "short/0", 1, ev.Outcome.SUCCEEDED)):
        meter.note(event, lambda _: OneGang())
    return meter.drain()[0]


def test_every_part_of_an_attempt_says_whom_it_went_ahead_of() -> None:
    assert [each.ahead_of for each in metered("wide/0")] == ["wide/0"] * 2
    assert {each.ahead_of for each in metered("")} == {""}


def test_the_timeline_joins_the_parts_and_says_so_once() -> None:
    found = TimelinePresent((), (), (), 0, 0)
    (span,) = _past(metered("wide/0"), found)
    assert (span.begin, span.end, span.ahead_of) == (DAY_MS - 10, DAY_MS + 10, "wide/0")


def test_an_event_of_before_is_read_as_a_start_that_went_ahead_of_none() -> None:
    now = msgspec.json.encode(ev.GangPlaced(1, "short/0", 1, PLACE, "wide/0"))
    before = now.replace(b',"ahead_of":"wide/0"', b"")
    assert before != now
    assert decoded(before) == ev.GangPlaced(1, "short/0", 1, PLACE)
    assert decoded(now) == ev.GangPlaced(1, "short/0", 1, PLACE, "wide/0")
