"""What became of the work of a period: what of it was thrown away, and what of it was useful."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ganglion.ledger.metering import UsageWanted, activity_sums
from ganglion.ledger.reader import Reader
from ganglion.ledger.sql.losses import lost_active, lost_after, lost_held
from ganglion.metering.activity import ActivityInterval
from ganglion.metering.intervals import LostSpan
from ganglion.metering.sums import ActivitySum, Group, LostSum, add_activity

Losses = Mapping[Group, LostSum]


def losses(
    ledger: Reader,
    wanted: UsageWanted,
    known_since: int | None,
    done: Mapping[Group, ActivitySum],
    unwritten: Sequence[ActivityInterval],
) -> Losses | None:
    """Sum up lost and useful work, by group; a group that is missing has neither.

    What is before lost work is known counts as neither, however active GPUs were.

    Args:
        ledger: with what is closed.
        wanted: the period and groups.
        known_since: since when lost work is, in ms; None = it is not.
        done: what GPUs did in the period, by the same groups.
        unwritten: what of that the ledger does not have, of the queues that are wanted.

    Returns:
        None = it is not known for any of the period.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    if known_since is None or known_since >= wanted.until:
        return None
    if known_since > wanted.since:
        wanted = replace(wanted, since=known_since)
        sums = activity_sums(ledger, wanted)
        add_activity(sums, unwritten, wanted.by, wanted.since, wanted.until)
        done = sums
    made = {
        group: LostSum(0, each.sampled_gpu_us, each.active_gpu_us) for group, each in done.items()
    }
    for group, held in lost_held(ledger, wanted).items():
        made.setdefault(group, LostSum()).lost_gpu_us += held
    for group, active in lost_active(ledger, wanted).items():
        made[group].useful_gpu_us -= active
    thrown: dict[Group, ActivitySum] = {}
    add_activity(thrown, _in_vain(ledger, wanted, unwritten), wanted.by, wanted.since, wanted.until)
    for group, each in thrown.items():
        made[group].useful_gpu_us -= each.active_gpu_us
    return made


def _in_vain(
    ledger: Reader, wanted: UsageWanted, unwritten: Sequence[ActivityInterval]
) -> Iterable[ActivityInterval]:
    """The parts of what is not written yet that lie in lost work."""
    if not unwritten:
        return
    spans: dict[tuple[str, int], list[LostSpan]] = {}
    for span in lost_after(ledger, min(each.begin_ms for each in unwritten), wanted.cycle):
        spans.setdefault((span.gang, span.attempt), []).append(span)
    for each in unwritten:
        for span in spans.get((each.gang, each.attempt), ()):
            part = each.within(span.begin_ms, span.end_ms)
            if part:
                yield part
