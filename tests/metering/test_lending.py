"""What queues lend is what others beside them borrow, to the last GPU-microsecond."""

from collections import Counter
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from ganglion.metering.intervals import DAY_MS
from ganglion.metering.lending import ROW_MS, LendingMeter, LentInterval
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, Usage

HOUR_MS, GPU = 3_600_000, 1_000
BEGIN = 20_000 * DAY_MS
Sums = dict[str, tuple[int, int]]


def queue(name: str, gpus: int | None, parent: str = "", lend: int | None = None) -> Queue:
    quota = {} if gpus is None else {"H100": Amount(gpu_milli=gpus * GPU)}
    limit = {} if lend is None else {"H100": Amount(gpu_milli=lend * GPU)}
    return Queue(name, parent, quota, lend_limit=limit)


class Life:
    """A tree of queues that use GPUs."""

    def __init__(self, *queues: Queue, capacity: int = 16) -> None:
        self.meter, self.now = LendingMeter(), BEGIN
        self.queues = {each.name: each for each in queues}
        self.used = dict.fromkeys(self.queues, 0)
        self.meter.passes(self.now)
        self.meter.tree(queues, ("H100",))
        self.meter.has({"H100": capacity * GPU, "*": capacity * GPU})

    def path(self, name: str) -> list[str]:
        parent = self.queues[name].parent
        return [name, *(self.path(parent) if parent else ())]

    def uses(self, name: str, milli: int) -> None:
        more = milli - self.used[name]
        for each in self.path(name):
            self.used[each] += more
        usage: Mapping[str, Mapping[str, Usage]] = {
            each: {key: Usage(gpu_milli=used) for key in ("H100", "*")} if used else {}
            for each, used in self.used.items()
        }
        self.meter.passes(self.now)
        self.meter.uses(self.path(name), usage)

    def sums(self) -> Sums:
        """Everything until now, in GPU-hours cut down."""
        found: Counter[tuple[str, int]] = Counter()
        for each in self.meter.open(self.now):
            found[each.queue, 0] += each.lent_gpu_us
            found[each.queue, 1] += each.borrowed_gpu_us
        return {name: (found[name, 0], found[name, 1]) for name, _ in found}


def hours(sums: Sums) -> dict[str, tuple[float, float]]:
    unit = HOUR_MS * GPU
    return {n: (round(gave / unit, 3), round(took / unit, 3)) for n, (gave, took) in sums.items()}


def test_use_beyond_quota_is_lent_by_those_who_do_not_use_theirs() -> None:
    life = Life(queue("vision", 8), queue("speech", 4), queue("text", 4), queue("rest", None))
    life.uses("rest", 2_000)
    life.uses("text", 7_000)
    life.now += HOUR_MS
    assert hours(life.sums()) == {
        **{"rest": (0, 2), "text": (0, 3)},
        **{"vision": (3.333, 0), "speech": (1.667, 0)},  # 8 to 4
    }


def test_what_is_guaranteed_to_none_and_what_may_not_be_lent_is_not_lent() -> None:
    life = Life(queue("vision", 8, lend=1), queue("text", 4), capacity=16)
    life.uses("text", 8_000)
    life.now += HOUR_MS
    assert life.sums() == {}
    life.uses("text", 10_000)
    life.now += HOUR_MS
    assert hours(life.sums()) == {"vision": (1, 0), "text": (0, 1)}


def test_each_level_lends_for_itself() -> None:
    life = Life(
        *(queue("org", 8), queue("other", 8)),
        *(queue("a", 4, "org"), queue("b", 4, "org")),
    )
    life.uses("a", 10_000)
    life.now += HOUR_MS
    expected = {"org": (0, 2), "other": (2, 0), "a": (0, 4), "b": (4, 0)}
    assert hours(life.sums()) == expected


def test_rows_lie_within_days_and_what_was_closed_before_is_skipped() -> None:
    life = Life(queue("vision", 8), queue("text", 8))
    life.uses("text", 9_000)
    life.now += 2 * DAY_MS + ROW_MS
    life.uses("text", 0)
    rows = life.meter.drain()
    lasted = [each.end_ms - each.begin_ms for each in rows if each.queue == "vision"]
    assert lasted == [DAY_MS, DAY_MS, ROW_MS]
    again = Life(queue("vision", 8), queue("text", 8))
    again.uses("text", 9_000)
    again.meter.skip(life.now)
    again.now = life.now + 5
    assert [each.begin_ms for each in again.meter.open(again.now)] == [life.now] * 2
    part = LentInterval(0, 3, "a", 10, 4)
    assert [part.within(at, at + 1) for at in range(-1, 4)] == [
        *((0, 0), (4, 2), (3, 1), (3, 1), (0, 0))
    ]


NAMES = ("a", "b", "a1", "a2", "a3", "b1", "b2")
PARENTS = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b"}


@st.composite
def lives(draw: st.DrawFn) -> tuple[Life, list[tuple[str, int, int]]]:
    quotas = [draw(st.none() | st.integers(0, 9)) for _ in NAMES]
    lends = [draw(st.none() | st.integers(0, 4)) for _ in NAMES]
    made = [
        queue(n, q, PARENTS.get(n, ""), lend)
        for n, q, lend in zip(NAMES, quotas, lends, strict=True)
    ]
    steps = st.tuples(
        st.sampled_from(sorted(PARENTS)), st.integers(0, 9_999), st.integers(-5, 2 * ROW_MS)
    )
    return Life(*made, capacity=draw(st.integers(0, 30))), draw(st.lists(steps, max_size=12))


@settings(max_examples=40)
@given(lives())
def test_at_every_level_what_is_lent_is_borrowed_and_is_of_unused_quota(
    given: tuple[Life, list[tuple[str, int, int]]],
) -> None:
    life, steps = given
    unused: Counter[str] = Counter()
    beyond: Counter[str] = Counter()
    for name, milli, ms in steps:
        life.uses(name, milli)
        later = max(life.now + ms, life.now)  # a clock that is put back lets no time pass
        for each, known in life.queues.items():
            quota = known.quota["H100"].gpu_milli or 0 if known.quota else 0
            unused[each] += max(quota - life.used[each], 0) * (later - life.now)
            beyond[each] += max(life.used[each] - quota, 0) * (later - life.now)
        life.meter.passes(life.now + ms)
        life.now = later
    sums = life.sums()
    for parent in ("", "a", "b"):
        level = [sums.get(n, (0, 0)) for n in NAMES if PARENTS.get(n, "") == parent]
        assert sum(gave for gave, _ in level) == sum(took for _, took in level)
    for name, (gave, took) in sums.items():
        assert 0 <= gave <= unused[name] + len(steps)
        assert 0 <= took <= beyond[name] + len(steps)
    for row in life.meter.closed:
        assert row.begin_ms // DAY_MS == (row.end_ms - 1) // DAY_MS


class Rebuilt(Life):
    """Has its whole tree anew whenever a queue changes."""

    def put(self, changed: Queue) -> None:
        self.queues[changed.name] = changed
        self.used.setdefault(changed.name, 0)
        self.meter.passes(self.now)
        self.known(changed)
        self.uses(changed.name, self.used[changed.name])

    def known(self, _changed: Queue) -> None:
        self.meter.tree(self.queues.values(), ("H100",))
        self.meter.has({"H100": 16 * GPU, "*": 16 * GPU})
        for name, used in self.used.items():
            self.uses(name, used)


class Changed(Rebuilt):
    """Changes what it has of the one queue."""

    def known(self, changed: Queue) -> None:
        assert self.meter.put(changed, ("H100",))


@st.composite
def changes(draw: st.DrawFn) -> list[Queue | tuple[str, int]]:
    """Queues that are made, the upper ones first, and changed, and what those below use."""
    first = [draw(queues(name)) for name in NAMES]
    used = st.tuples(st.sampled_from(sorted(PARENTS)), st.integers(0, 9_999))
    later = draw(st.lists(st.sampled_from(NAMES).flatmap(queues) | used, max_size=12))
    return [*first, *later]


def queues(name: str) -> st.SearchStrategy[Queue]:
    some = st.none() | st.integers(0, 9)
    return st.builds(queue, st.just(name), some, st.just(PARENTS.get(name, "")), lend=some)


@settings(max_examples=40)
@given(changes())
def test_a_queue_that_changes_lends_as_in_a_tree_that_is_built_anew(
    steps: list[Queue | tuple[str, int]],
) -> None:
    found: list[list[tuple[int, int, int]]] = []
    for kind in (Rebuilt, Changed):
        life = kind(queue("z", 1))
        for each in steps:
            if isinstance(each, Queue):
                life.put(each)
            else:
                life.uses(*each)
            life.now += HOUR_MS // 2
        levels = life.meter.levels
        found.append([(e["H100"].rate, e["H100"].there, e["H100"].above) for e in levels.values()])
        sums = life.sums()
        found[-1] += [
            (
                sum(
                    sums.get(n, (0, 0))[side] for n in (*NAMES, "z") if PARENTS.get(n, "") == parent
                ),
                0,
                0,
            )
            for parent in ("", "a", "b")
            for side in (0, 1)
        ]
    assert found[0] == found[1]


def test_another_account_or_another_parent_wants_the_whole_tree() -> None:
    life = Life(queue("a", 4), queue("b", 4), queue("a1", 2, "a"))
    assert not life.meter.put(queue("c", 1), ("A100", "H100"))
    assert not life.meter.put(queue("a1", 2, "b"), ("H100",))
    assert not LendingMeter().put(queue("a", 4), ("H100",))
