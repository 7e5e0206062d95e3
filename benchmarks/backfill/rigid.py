"""Rigid jobs under textbook disciplines, replayed without the engine.

An independent yardstick: strict order, overtaking, EASY (Lifka, JSSPP'95), conservative
backfilling (Feitelson and Weil, IPPS'98) and EASY with the shortest or smallest job first,
for the backfilling and tenant benchmarks. It shares no code with the engine.
"""

from bisect import insort
from collections.abc import Sequence

from benchmarks.backfill.conservative import conservative
from benchmarks.backfill.lines import NEVER, Line
from benchmarks.backfill.rigid_jobs import First, Overtaking, Pool, Rigid


def starts_of(
    jobs: Sequence[Rigid], pool: Pool, overtaking: Overtaking, first: First = First.OLDEST
) -> dict[int, int]:
    """When each job starts, in ms by its number.

    Args:
        jobs: in order of submission; all fit the empty pool.
        pool: where they run. Conservative backfilling counts its GPUs and sees no nodes.
        overtaking: what may overtake.
        first: the order of jobs; for conservative backfilling always the oldest.
    """
    if overtaking is Overtaking.CONSERVATIVE:
        return conservative(jobs, pool.nodes * pool.per_node)
    return _Replay(jobs, pool, overtaking, first).run()


class _Replay:
    def __init__(
        self, jobs: Sequence[Rigid], pool: Pool, overtaking: Overtaking, first: First
    ) -> None:
        self._jobs, self._pool, self._overtaking, self._first = jobs, pool, overtaking, first
        self._free = [pool.per_node] * pool.nodes
        self._lines = {
            size: Line(sorted((j.rank(first), j) for j in jobs if j.size == size))
            for size in sorted({job.size for job in jobs})
        }
        self._ends: list[tuple[int, int]] = []
        self._expected: list[tuple[int, int]] = []
        self._seats: dict[int, list[tuple[int, int]]] = {}
        self._starts: dict[int, int] = {}

    def run(self) -> dict[int, int]:
        arrived, jobs = 0, self._jobs
        while arrived < len(jobs) or self._ends:
            times = [jobs[arrived].submitted] if arrived < len(jobs) else []
            now = min(times + [end[0] for end in self._ends[:1]])
            while self._ends and self._ends[0][0] <= now:
                self._leave(self._ends.pop(0)[1])
            while arrived < len(jobs) and jobs[arrived].submitted <= now:
                self._lines[jobs[arrived].size].add(jobs[arrived])
                arrived += 1
            self._turn(now)
        return self._starts

    def _leave(self, number: int) -> None:
        for node, count in self._seats.pop(number):
            self._free[node] += count
        job = self._jobs[number]
        self._expected.remove((self._starts[number] + job.estimate, number))

    def _turn(self, now: int) -> None:
        while (head := self._ahead(dict.fromkeys(self._lines, NEVER))) and (
            seats := self._seats_for(head.size, self._free)
        ):
            self._start(head, seats, now)
        if head is None or self._overtaking is Overtaking.NONE:
            return
        if self._overtaking is Overtaking.ANY:
            self._fill(now)
        else:
            self._backfill(head, now)

    def _ahead(self, limits: dict[int, int]) -> Rigid | None:
        """The first that waits whose estimate is within the limit of its size."""
        found = (self._lines[size].first(limit) for size, limit in limits.items())
        ranked = [job for job in found if job]
        return min(ranked, key=lambda job: job.rank(self._first), default=None)

    def _fill(self, now: int) -> None:
        while job := self._ahead({size: NEVER for size in self._lines if self._fits(size)}):
            self._start(job, self._seats_for(job.size, self._free), now)

    def _backfill(self, head: Rigid, now: int) -> None:
        """Start what ends before the head's reservation, or leaves it enough GPUs."""
        shadow, later = self._reservation(head)
        while True:
            limits = {}
            for size in self._lines:
                seats = self._seats_for(size, self._free)
                if seats:
                    limits[size] = NEVER if self._beside(seats, later, head) else shadow - now
            job = self._ahead(limits)
            if job is None:
                return
            seats = self._seats_for(job.size, self._free)
            if now + job.estimate > shadow:
                for node, count in seats:
                    later[node] -= count
            self._start(job, seats, now)

    def _reservation(self, head: Rigid) -> tuple[int, list[int]]:
        """When the head fits by the estimates of what runs, and what is free then.

        Of jobs expected to end together only as many are counted as the head needs.
        """
        later, at = list(self._free), 0
        for end, job in self._expected:
            at = end
            for node, count in self._seats[job]:
                later[node] += count
            if self._seats_for(head.size, later):
                break
        return at, later

    def _beside(self, seats: list[tuple[int, int]], later: list[int], head: Rigid) -> bool:
        left = list(later)
        for node, count in seats:
            left[node] -= count
        return min(left) >= 0 and bool(self._seats_for(head.size, left))

    def _fits(self, size: int) -> bool:
        return bool(self._seats_for(size, self._free))

    def _seats_for(self, size: int, free: list[int]) -> list[tuple[int, int]]:
        """Best fit, the first among equals; whole nodes for what is larger than one."""
        each = self._pool.per_node
        if size <= each:
            room = min((have for have in free if have >= size), default=None)
            return [] if room is None else [(free.index(room), size)]
        wanted = -(-size // each)
        empty = [node for node, have in enumerate(free) if have == each][:wanted]
        return [(node, each) for node in empty] if len(empty) == wanted else []

    def _start(self, job: Rigid, seats: list[tuple[int, int]], now: int) -> None:
        for node, count in seats:
            self._free[node] -= count
        self._lines[job.size].drop(job)
        self._seats[job.number], self._starts[job.number] = seats, now
        insort(self._ends, (now + job.duration, job.number))
        insort(self._expected, (now + job.estimate, job.number))
