"""Conservative backfilling: every job that waits holds a reservation."""

from bisect import insort
from collections.abc import Sequence

from benchmarks.backfill.profile import Profile
from benchmarks.backfill.rigid_jobs import Rigid


def conservative(jobs: Sequence[Rigid], size: int) -> dict[int, int]:
    """When each job starts, in ms by its number (Feitelson and Weil, IPPS'98).

    At every end before its estimate all reservations are made anew, the oldest job first.

    Args:
        jobs: in order of submission; numbered from 0.
        size: GPUs or processors of the pool.
    """
    return _Conservative(jobs, size).run()


class _Conservative:
    def __init__(self, jobs: Sequence[Rigid], size: int) -> None:
        self._jobs, self._size = jobs, size
        self._profile = Profile(0, size)
        self._running: list[tuple[int, int, int]] = []
        self._booked: dict[int, int] = {}
        self._starts: dict[int, int] = {}
        self._arrived = 0

    def run(self) -> dict[int, int]:
        while (now := self._next()) is not None:
            if self._leave(now):
                self._replan(now)
            self._arrive(now)
            self._start(now)
        return self._starts

    def _next(self) -> int | None:
        times = [end for end, _, _ in self._running[:1]]
        times += [min(self._booked.values())] if self._booked else []
        times += [job.submitted for job in self._jobs[self._arrived : self._arrived + 1]]
        return min(times, default=None)

    def _leave(self, now: int) -> bool:
        """Take out what is over; says whether anything ended before its estimate."""
        early = False
        while self._running and self._running[0][0] <= now:
            end, expected, _ = self._running.pop(0)
            early = early or expected > end
        return early

    def _replan(self, now: int) -> None:
        self._profile = Profile(now, self._size)
        for _, expected, number in self._running:
            self._profile.take(now, expected, self._jobs[number].size)
        for number in self._booked:
            self._book(self._jobs[number], now)

    def _arrive(self, now: int) -> None:
        jobs = self._jobs
        while self._arrived < len(jobs) and jobs[self._arrived].submitted <= now:
            self._book(jobs[self._arrived], now)
            self._arrived += 1

    def _book(self, job: Rigid, now: int) -> None:
        self._booked[job.number] = self._profile.book(now, job.estimate, job.size)

    def _start(self, now: int) -> None:
        for number in [each for each, at in self._booked.items() if at <= now]:
            job = self._jobs[number]
            self._starts[number] = now
            del self._booked[number]
            insort(self._running, (now + job.duration, now + job.estimate, number))
