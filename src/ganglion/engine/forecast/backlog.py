"""How long the fleet needs for all work ahead of a gang: the wait that its age entitles it to.

Work is counted as if all GPUs were one pool, and all CPUs of gangs without GPUs another. Time
limits say more than runs take, so declared work counts by what the latest runs took of theirs.
"""

from typing import NamedTuple

from ganglion.engine.gangs.rank import cpus_of, gpus_of
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.store import Store
from ganglion.model.errors import InvariantBroken
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Gang

FADES = 512
"""Every run makes the weight of those before it smaller by one part in this number."""


class BacklogPool(NamedTuple):
    """What is counted together.

    Attributes:
        gpu: whether the gangs use GPUs.
        limited: whether they have time limits.
    """

    gpu: bool
    limited: bool


class BacklogClaim(NamedTuple):
    """What a gang takes: thousandths of GPUs or CPUs, for at most `length` ms."""

    pool: BacklogPool
    milli: int
    length: int


Run = tuple[BacklogClaim, int]
"""A claim, and when it ends at the latest, in ms."""

Image = tuple[str, BacklogClaim | None, Run | None, dict[BacklogPool, tuple[int, int]]]
"""A gang, what it counts for as it waits and runs, and what was learnt of each pool."""
Saved = tuple[
    list[tuple[str, BacklogClaim]], list[tuple[str, Run]], list[tuple[BacklogPool, int, int]]
]
"""Gangs that wait, gangs that run, and what was learnt of each pool."""


class _Sums:
    """Of one pool.

    Attributes:
        waiting: work that waits, in thousandths x ms.
        rate: thousandths that are held.
        ends: thousandths that are held, each times its latest end.
        ran, declared: work of runs that are over, and what was declared of it.
    """

    __slots__ = ("declared", "ends", "ran", "rate", "waiting")

    def __init__(self) -> None:
        self.waiting = self.rate = self.ends = self.ran = self.declared = 0

    def left(self, now: int) -> int:
        """Work that is to be expected of what waits and runs."""
        declared = self.waiting + max(self.ends - self.rate * now, 0)
        return declared * self.ran // self.declared if self.declared else declared // 2


class Backlog:
    """Work that waits and runs.

    Args:
        state: the fleet.
    """

    def __init__(self, state: Store) -> None:
        self._state = state
        self._sums: dict[BacklogPool, _Sums] = {}
        self._waiting: dict[str, BacklogClaim] = {}
        self._running: dict[str, Run] = {}
        self._fleet: tuple[int, tuple[int, int]] = (-1, (0, 0))

    def turn_ms(self, gang: Gang, now: int) -> int:
        """How long the fleet needs for what waits and runs now, in ms."""
        gpu = bool(gpus_of(gang))
        work = sum(sums.left(now) for pool, sums in self._sums.items() if pool.gpu is gpu)
        return work // max(self._capacity(gpu), 1)

    def waits(self, record: GangRecord) -> None:
        """A gang waits."""
        self._wait(record.gang.id, self._claim(record.gang))

    def placed(self, record: GangRecord, now: int) -> None:
        """A gang takes its place."""
        self._stop_waiting(record.gang.id)
        self._stop_running(record.gang.id)
        self._run(record.gang.id, self._claim(record.gang), now)

    def image(self, gang: str) -> Image:
        """What an event about a gang may change."""
        learnt = {pool: (sums.ran, sums.declared) for pool, sums in self._sums.items()}
        return gang, self._waiting.get(gang), self._running.get(gang), learnt

    def restore(self, image: Image) -> None:
        """Be as before an event."""
        gang, waiting, running, learnt = image
        self._stop_waiting(gang)
        self._stop_running(gang)
        if waiting:
            self._wait(gang, waiting)
        if running:
            claim, end = running
            self._run(gang, claim, end - claim.length)
        for pool, sums in self._sums.items():
            sums.ran, sums.declared = learnt.get(pool, (0, 0))

    def saved(self) -> Saved:
        """All of it, but for what follows from the rest."""
        learnt = [(pool, sums.ran, sums.declared) for pool, sums in self._sums.items()]
        return list(self._waiting.items()), list(self._running.items()), learnt

    def take(self, known: Saved) -> None:
        """Go on with what `saved` gave."""
        for gang, (pool, milli, length) in known[0]:
            self._wait(gang, BacklogClaim(BacklogPool(*pool), milli, length))
        for gang, ((pool, milli, length), end) in known[1]:
            self._run(gang, BacklogClaim(BacklogPool(*pool), milli, length), end - length)
        for pool, ran, declared in known[2]:
            sums = self._of(BacklogPool(*pool))
            sums.ran, sums.declared = ran, declared

    def check(self) -> None:
        """Compare the gangs with those that the state knows. Raises InvariantBroken."""
        unknown = {*self._waiting, *self._running} - self._state.gangs.records.keys()
        if unknown:
            raise InvariantBroken(f"work of unknown gangs is counted: {sorted(unknown)}")

    def _run(self, gang: str, claim: BacklogClaim, since: int) -> None:
        self._running[gang] = (claim, since + claim.length)
        sums = self._of(claim.pool)
        sums.rate += claim.milli
        sums.ends += claim.milli * (since + claim.length)

    def ended(self, record: GangRecord, now: int, *, learn: bool) -> None:
        """A gang gives its place up, or waits no longer.

        Args:
            record: its record.
            now: the time in ms.
            learn: whether the run ended by itself.
        """
        self._stop_waiting(record.gang.id)
        known = self._stop_running(record.gang.id)
        if known and learn:
            claim, end = known
            sums, ran = self._of(claim.pool), now - (end - claim.length)
            sums.ran += claim.milli * ran - sums.ran // FADES
            sums.declared += claim.milli * claim.length - sums.declared // FADES

    def _wait(self, gang: str, claim: BacklogClaim) -> None:
        self._stop_waiting(gang)
        self._waiting[gang] = claim
        self._of(claim.pool).waiting += claim.milli * claim.length

    def _stop_waiting(self, gang: str) -> None:
        claim = self._waiting.pop(gang, None)
        if claim:
            self._of(claim.pool).waiting -= claim.milli * claim.length

    def _stop_running(self, gang: str) -> Run | None:
        known = self._running.pop(gang, None)
        if known:
            claim, end = known
            sums = self._of(claim.pool)
            sums.rate -= claim.milli
            sums.ends -= claim.milli * end
        return known

    def _claim(self, gang: Gang) -> BacklogClaim:
        gpus = gpus_of(gang)
        pool = BacklogPool(bool(gpus), bool(gang.time_limit_ms))
        length = (
            gang.time_limit_ms or gang.expected_ms or self._state.config.policy.future.assumed_ms
        )
        return BacklogClaim(pool, gpus or cpus_of(gang), length)

    def _of(self, pool: BacklogPool) -> _Sums:
        found = self._sums.get(pool)
        if found is None:
            found = self._sums[pool] = _Sums()
        return found

    def _capacity(self, gpu: bool) -> int:
        """Thousandths of GPUs or CPUs of the fleet."""
        fleet = self._state.fleet.version
        if self._fleet[0] != fleet:
            gone, nodes = self._state.fleet.tree.gone(), self._state.fleet.nodes
            present = [node for name, node in nodes.items() if name not in gone]
            gpus = sum(len(each.devices) for each in present)
            self._fleet = (fleet, (gpus * WHOLE, sum(each.cpu_milli for each in present)))
        gpus, cpus = self._fleet[1]
        return gpus if gpu else cpus
