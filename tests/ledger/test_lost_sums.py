"""A database sums lost and useful work up as exactly as millisecond by millisecond."""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples

from ganglion.ledger.ledger import Ledger
from ganglion.ledger.metering import UsageWanted, activity_sums, usage_sums
from ganglion.ledger.records import Batch
from ganglion.metering.activity import ActivityInterval
from ganglion.metering.activity import by_day as active_by_day
from ganglion.metering.intervals import DAY_MS, LostSpan, UsageInterval, by_day, part_of
from ganglion.metering.sums import Group, UsageBy, add_activity, group_of
from ganglion.server.views.past.losses import losses

MIDNIGHT = 20_000 * DAY_MS
LASTS = 300
"""Attempts begin at most this number of ms before or after a midnight."""
GROUPS = (
    *((), (UsageBy.QUEUE,), (UsageBy.USER, UsageBy.DAY), (UsageBy.WORKLOAD, UsageBy.FLAVOR)),
    (UsageBy.KIND, UsageBy.QUEUE, UsageBy.DAY),
)


class LostMonth:
    """Attempts that hold, do and lose something, as rows and by the millisecond."""

    def __init__(self, chance: Random) -> None:
        self.usage: list[UsageInterval] = []
        self.activity: list[ActivityInterval] = []
        self.late: list[ActivityInterval] = []
        self.lost: list[LostSpan] = []
        self.moments: list[tuple[int, UsageInterval, int, int, int]] = []
        for number in range(24):
            self._attempt(chance, number)

    def _attempt(self, chance: Random, number: int) -> None:
        first = MIDNIGHT + chance.randrange(-LASTS, LASTS)
        cuts = sorted({first, *(first + chance.randrange(1, LASTS) for _ in range(3))})
        job, queue = f"w-{number % 5}", chance.choice(("red", "blue"))
        begin, end = cuts[0] + chance.randrange(LASTS), cuts[-1]
        span = LostSpan(begin, end, job, f"{job}/0", number)
        lost = [span] if begin < end and chance.random() < 0.8 else []
        self.lost += lost
        for node in ("n0", "n1")[: chance.randrange(1, 3)]:
            for since, until in itertools.pairwise(cuts):
                names = (queue, f"u{number % 3}", job, f"{job}/0", number, "train")
                place = (chance.choice(("H100", "A100")), node)
                milli = chance.choice((143, 1_000, 8_000))
                used = UsageInterval(since, until, *names, *place, milli, milli, 0, 0)
                self.usage += by_day(used)
                done = self._activity(chance, used)
                self._count(used, done, span if lost else None)

    def _activity(self, chance: Random, used: UsageInterval) -> list[ActivityInterval]:
        begin, end = sorted(chance.randrange(used.begin_ms, used.end_ms + 1) for _ in range(2))
        if begin == end:
            return []
        held = used.held_milli * (end - begin)
        sampled = chance.randrange(held + 1)
        names = (used.queue, used.user, used.workload, used.gang, used.attempt, used.kind)
        place = (used.flavor, used.node, "nvml", sampled, chance.randrange(sampled + 1))
        made = [*active_by_day(ActivityInterval(begin, end, *names, *place))]
        into = self.late if chance.random() < 0.2 else self.activity
        into += made
        return made

    def _count(
        self, used: UsageInterval, done: list[ActivityInterval], span: LostSpan | None
    ) -> None:
        for part in by_day(used):
            for at in range(part.begin_ms, part.end_ms):
                active = sum(
                    part_of(each.active_gpu_us, (each.begin_ms, each.end_ms), (at, at + 1))
                    for each in done
                )
                kept = not (span and span.begin_ms <= at < span.end_ms)
                lost = 0 if kept else part.held_milli
                self.moments.append((at, part, active, lost, active * kept))

    def literal(self, wanted: UsageWanted) -> dict[str, Counter[Group]]:
        """By group: what was active, lost and useful."""
        active, lost, useful = Counter[Group](), Counter[Group](), Counter[Group]()
        for at, part, did, threw, kept in self.moments:
            within = wanted.since <= at < wanted.until
            if within and (wanted.queues is None or part.queue in wanted.queues):
                group = group_of(part, wanted.by)
                active[group] += did
                lost[group] += threw
                useful[group] += kept
        return {"active": +active, "lost": +lost, "useful": +useful}


@pytest.fixture(scope="module")
def month() -> LostMonth:
    return LostMonth(Random(11))


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path, month: LostMonth) -> Iterator[Ledger]:
    where = tmp_path / "ledger.db"
    sqlite = request.param == "sqlite"
    made = Ledger.open(where if sqlite else str(request.getfixturevalue("database")))
    made.append(Batch(1, usage=month.usage, activity=month.activity, lost=month.lost))
    yield made
    made.close()


@settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    times=st.tuples(*[st.integers(-LASTS, 2 * LASTS)] * 3).map(sorted),
    by=st.sampled_from(GROUPS),
    queues=st.sampled_from([None, frozenset({"red"}), frozenset[str]()]),
)
def test_lost_and_useful_work_of_every_period_and_group_is_that_of_each_moment(
    ledger: Ledger,
    month: LostMonth,
    times: list[int],
    by: tuple[UsageBy, ...],
    queues: frozenset[str] | None,
) -> None:
    since, known, until = (MIDNIGHT + each for each in times)
    wanted = UsageWanted(by, since, until, 1, queues)
    late = [each for each in month.late if queues is None or each.queue in queues]
    done = activity_sums(ledger, wanted)
    add_activity(done, late, by, since, until)
    held = usage_sums(ledger, wanted)
    whole = losses(ledger, wanted, 0, done, late)
    expected = month.literal(wanted)
    if since >= until:
        assert whole is None or not +Counter({g: e.lost_gpu_us for g, e in whole.items()})
        return
    assert whole is not None
    assert {group: each.lost_gpu_us for group, each in whole.items() if each.lost_gpu_us} == (
        expected["lost"]
    )
    found = {group: each.useful_gpu_us for group, each in whole.items() if each.useful_gpu_us}
    assert found == expected["useful"]
    for group, each in whole.items():
        of = held[group].held_gpu_us
        active = expected["active"][group]
        assert 0 <= each.useful_gpu_us <= active <= each.sampled_gpu_us <= of
        assert 0 <= each.lost_gpu_us <= of
    # What is before it is known counts as neither.
    later = losses(ledger, wanted, known, done, late)
    if known >= until:
        assert later is None
        return
    assert later is not None
    expected = month.literal(UsageWanted(by, max(since, known), until, 1, queues))
    assert {group: each.lost_gpu_us for group, each in later.items() if each.lost_gpu_us} == (
        expected["lost"]
    )
    found = {group: each.useful_gpu_us for group, each in later.items() if each.useful_gpu_us}
    assert found == expected["useful"]
    assert losses(ledger, wanted, None, done, late) is None
