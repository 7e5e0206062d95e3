"""What requests that wait ask for, where each of them is soon done.

While replicas start, requests pile up: as many as come in that time, however short they are. A
replica for each of them would be far too many as soon as they are ready. What is needed is
enough for those that go on coming (Little, "A proof for the queuing formula L = λW", Operations
Research 9, 1961) and enough to catch up in the time that a start takes.
"""

from collections.abc import Mapping, Sequence

from ganglion.lifecycle.autoscaling.memory import Pass, Sample
from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.model.behaviour import Signal

REMEMBERED_MS = 1_800_000
"""How long requests run is learnt from about the last half hour."""


def watch(passed: Pass, reading: Reading) -> None:
    """Learn from a reading how long requests run, as long as none has to wait.

    Args:
        passed: what was learnt before; changed in place.
        reading: what is known now; it teaches nothing without numbers of requests of all sorts.
    """
    running, waiting = (reading.values.get(each) for each in (Signal.RUNNING, Signal.WAITING))
    if running is None or waiting is None or reading.arrived < 0:
        return
    within = running + waiting
    span = reading.at - passed.at
    calm = passed.at >= 0 and not waiting and passed.within == passed.running
    if calm and span > 0 and reading.arrived >= passed.arrived:
        done = (reading.arrived - passed.arrived) * 1_000 - (within - passed.within)
        kept = max(0, REMEMBERED_MS - span)
        passed.done = passed.done * kept // REMEMBERED_MS + max(0, done)
        passed.ran = passed.ran * kept // REMEMBERED_MS + (running + passed.running) * span // 2
    passed.at, passed.arrived = reading.at, reading.arrived
    passed.within, passed.running = within, running


def takes_ms(passed: Pass) -> int:
    """How long a request runs, on average; 0 = unknown yet."""
    return passed.ran // passed.done if passed.done >= 100_000 else 0


def eased(
    samples: Sequence[Sample],
    values: Mapping[Signal, int],
    room: int,
    lasts_ms: int,
    lead_ms: int,
) -> dict[Signal, int]:
    """Values of signals, with requests beyond what replicas should have weighed.

    Args:
        samples: of the window, oldest first.
        values: of the signals, in thousandths.
        room: requests that the ready replicas should have, in thousandths.
        lasts_ms: how long a request runs; 0 = not known, and nothing is changed.
        lead_ms: how long a start takes.
    """
    requests = values.get(Signal.REQUESTS, 0)
    backlog = requests - room
    if backlog <= 0 or not lasts_ms or lasts_ms >= lead_ms:
        return dict(values)
    needed = max(room, coming(samples, lasts_ms)) + backlog * lasts_ms // lead_ms
    return {**values, Signal.REQUESTS: min(requests, needed)}


def coming(samples: Sequence[Sample], lasts_ms: int) -> int:
    """Thousandths of requests that would run at once if none of those that come had to wait."""
    known = [each for each in samples if each.arrived >= 0]
    span = known[-1].at - known[0].at if known else 0
    came = known[-1].arrived - known[0].arrived if known else 0
    return max(0, came) * 1_000 * lasts_ms // span if span else 0
