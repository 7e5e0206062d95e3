"""How long a gang will run, learnt from the runs that have ended.

The closest history with enough runs answers: the user's runs under the same name, then all of
the user's, then the queue's and those of all users; runs of like form (as many GPUs, the same time
limit) before others. Answers order and foretell; they guarantee nothing.
"""

from collections.abc import Hashable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from ganglion.engine.gangs.preemption_cost import gpu_milli
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.runtimes.history import RunTimeHistory
from ganglion.model.resources import counted
from ganglion.model.workload import Gang, PodSet

ENOUGH_OF_USER, ENOUGH_OF_MANY = 2, 8
"""Runs that make a history of one user, or of many, worth listening to."""

HISTORIES = 16_384
"""Histories kept; the one that learnt nothing for longest is forgotten first."""

ASKED = 4_096
"""Sorts of gangs whose keys are remembered; each takes a kilobyte and more."""

NOTHING_KNOWN_MS = 3_600_000
"""Expected of the first gang of all, when it has no time limit either."""

_ENDLESS = 1 << 60


class EstimateSource(StrEnum):
    """Whose runs an estimate is learnt from, the closest first."""

    GIVEN = "given"
    """A predictor, or the user, gave it."""
    USER_NAME = "user+name"
    USER = "user"
    QUEUE = "queue"
    ALL = "all"
    PRIOR = "prior"
    """From no history: what is assumed when nothing is known."""


class Estimate(Struct, frozen=True):
    """A run time, or what is left of one, in ms.

    Attributes:
        p50_ms, p90_ms: run times that 50 and 90 % of such runs do not exceed.
        mean_ms: expected; orders gangs (the shortest expected one first is best for the mean
            completion time of those that are not stopped).
        samples: runs behind it; 0 = none.
        source: whose they are.
        alike: whether they have the gang's form.
    """

    p50_ms: int
    p90_ms: int
    mean_ms: int
    samples: int
    source: EstimateSource
    alike: bool = False


class RunTimeSpread(NamedTuple):
    """What is left of a run, at several percentiles.

    Attributes:
        left_ms: the time left in ms, by percentile asked.
        known: whether a time limit, an expected run time or finished runs are behind it.
    """

    left_ms: tuple[int, ...]
    known: bool


Keys = tuple[tuple[EstimateSource, Hashable, bool], ...]
Closest = tuple[RunTimeHistory | None, EstimateSource, bool]
"""The history that says most about a gang, whose it is, and whether its runs were alike in form."""


class Estimates:
    """Histories of run times by user and name, by user, by queue, and of all."""

    def __init__(self) -> None:
        self._histories: dict[Hashable, RunTimeHistory] = {}
        self._at_start: dict[Keys, Closest] = {}

    def histories(self) -> dict[Hashable, RunTimeHistory]:
        """All of them by key; the one that learnt nothing for longest comes first."""
        return self._histories

    def learn(self, record: GangRecord, ended_at: int) -> None:
        """An attempt that ran to an end of its own is over: it succeeded, failed or timed out.

        A gang with a checkpoint contract went on where its earlier attempts were stopped.

        Args:
            record: its record, still with the times of the attempt.
            ended_at: when it ended, in ms.
        """
        began = record.started or record.placed_at
        before = 0
        if record.gang.checkpoint and record.placement:
            before = record.attained // max(gpu_milli(record.placement.pods), 1)
        ran = max(ended_at - began + before, 1)
        self._at_start.clear()
        for _, key, _ in _keys(record.gang):
            self._history(key).add(ran)

    def estimate(self, gang: Gang) -> Estimate:
        """How long a gang will run if it is not stopped."""
        if gang.expected_ms:
            return _capped(_given(gang.expected_ms), gang.time_limit_ms)
        for source, key, alike in _keys(gang) if self._histories else ():
            history = self._histories.get(key)
            if history and len(history) >= _enough(source):
                return _capped(_seen(history, source, alike), gang.time_limit_ms)
        return _prior(gang)

    def remaining(self, gang: Gang, ran_ms: int) -> Estimate:
        """How much longer a gang will run that has run for so long.

        Only runs that took longer count. Where none did, it is expected to take as long again,
        as run times of training jobs have heavy tails (Harchol-Balter and Downey, 1997).
        """
        left = max(gang.time_limit_ms - ran_ms, 1) if gang.time_limit_ms else 0
        if gang.expected_ms > ran_ms:
            return _capped(_given(gang.expected_ms - ran_ms), left)
        history, source, alike = self._beyond(gang, ran_ms)
        if history is None:
            return _capped(Estimate(ran_ms or 1, 9 * ran_ms + 1, ran_ms or 1, 0, source), left)
        found = Estimate(
            history.quantile(50, ran_ms) - ran_ms,
            history.quantile(90, ran_ms) - ran_ms,
            history.mean(ran_ms) - ran_ms,
            history.longer(ran_ms),
            source,
            alike,
        )
        return _capped(found, left)

    def spread(self, gang: Gang, ran_ms: int, percents: Sequence[int]) -> RunTimeSpread:
        """What is left of a run that has taken so long, at percentiles from 1 to 99.

        Without history, every time up to the time limit is as likely as any other. Without
        either, run times follow a Pareto law of exponent 1, from `NOTHING_KNOWN_MS` on or from
        the time that the run has taken: of the runs that reach a length, half reach twice
        that length.
        """
        limit = gang.time_limit_ms
        most = max(limit - ran_ms, 1) if limit else _ENDLESS
        if gang.expected_ms > ran_ms:
            left = min(gang.expected_ms - ran_ms, most)
            return RunTimeSpread((left,) * len(percents), True)
        history, _, _ = self._beyond(gang, ran_ms)
        if history:
            found = [history.quantile(each, ran_ms) - ran_ms for each in percents]
            return RunTimeSpread(tuple([min(each, most) for each in found]), True)
        if limit:
            return RunTimeSpread(tuple([max(most * each // 100, 1) for each in percents]), True)
        least = max(ran_ms, NOTHING_KNOWN_MS)
        found = [max(least * 100 // (100 - each) - ran_ms, 1) for each in percents]
        return RunTimeSpread(tuple(found), bool(gang.expected_ms) or self._knows(gang))

    def _knows(self, gang: Gang) -> bool:
        """Whether runs have ended that say something about a gang."""
        return self._beyond(gang, 0)[0] is not None

    def gittins(self, gang: Gang, ran_ms: int) -> int:
        """Gittins index of a gang that has run for so long, in ms; smaller goes first."""
        history, _, _ = self._beyond(gang, ran_ms)
        return history.gittins(ran_ms) if history else max(ran_ms, 1)

    def _beyond(self, gang: Gang, ran_ms: int) -> Closest:
        """The closest history with enough runs, some of them longer."""
        keys = _keys(gang) if self._histories else ()
        if ran_ms:
            return self._closest(keys, ran_ms)
        found = self._at_start.get(keys)
        if found is None:
            found = self._at_start[keys] = self._closest(keys, 0)
        return found

    def _closest(self, keys: Keys, ran_ms: int) -> Closest:
        for source, key, alike in keys:
            history = self._histories.get(key)
            if history and history.longer(ran_ms) >= _enough(source):
                return history, source, alike
        return None, EstimateSource.PRIOR, False

    def _history(self, key: Hashable) -> RunTimeHistory:
        found = self._histories.pop(key, None)
        if found is None:
            if len(self._histories) >= HISTORIES:
                del self._histories[next(iter(self._histories))]
            found = RunTimeHistory()
        self._histories[key] = found
        return found


def told(gang: Gang, estimate: Estimate) -> str:
    """Where an estimate comes from, for people: `from 14 runs of alice's train-llm`."""
    if estimate.source is EstimateSource.GIVEN:
        return "as given"
    if estimate.source is EstimateSource.PRIOR:
        return "assumed: no runs to learn from"
    whose = {
        EstimateSource.USER_NAME: f"{gang.user}'s {stem(gang.name)}",
        EstimateSource.USER: f"user {gang.user}",
        EstimateSource.QUEUE: f"queue {gang.queue}",
        EstimateSource.ALL: "all queues",
    }[estimate.source]
    alike = " of this size and time limit" if estimate.alike else ""
    return f"from {counted(estimate.samples, 'run')} of {whose}{alike}"


def stem(name: str) -> str:
    """A name without the number at its end: runs 7 and 8 of `tune` are alike."""
    return name.rstrip("0123456789").rstrip("-_.") or name


def _keys(gang: Gang) -> Keys:
    """Keys of the histories that know about a gang, the closest first."""
    program = stem(gang.name)
    return _keys_of(gang.user, program, gang.queue, gang.time_limit_ms, gang.pod_sets)


@lru_cache(maxsize=ASKED)
def _keys_of(user: str, name: str, queue: str, limit_ms: int, pod_sets: tuple[PodSet, ...]) -> Keys:
    form = (_size(pod_sets), limit_ms)
    keys: list[tuple[EstimateSource, Hashable, bool]] = []
    if user and name:
        program = (EstimateSource.USER_NAME, user, name)
        keys += [
            (EstimateSource.USER_NAME, (*program, form), True),
            (EstimateSource.USER_NAME, program, False),
        ]
    if user:
        whose = (EstimateSource.USER, user)
        keys += [(EstimateSource.USER, (*whose, form), True), (EstimateSource.USER, whose, False)]
    # Among other users, an equal form predicts better than the same queue.
    near, everybody = (EstimateSource.QUEUE, queue), (EstimateSource.ALL,)
    keys += [
        (EstimateSource.QUEUE, (*near, form), True),
        (EstimateSource.ALL, (*everybody, form), True),
    ]
    return (*keys, (EstimateSource.QUEUE, near, False), (EstimateSource.ALL, everybody, False))


def _size(pod_sets: tuple[PodSet, ...]) -> tuple[bool, int]:
    """The number of GPUs, or else of CPUs, to within a factor of two."""
    gpu = sum(
        s.count * s.request.gpu.count * (0 if s.request.gpu.share_mib else s.request.gpu.milli)
        for s in pod_sets
    )
    cpu = sum(s.count * s.request.cpu_milli for s in pod_sets)
    return bool(gpu), (gpu or cpu).bit_length()


def _enough(source: EstimateSource) -> int:
    return (
        ENOUGH_OF_USER
        if source in (EstimateSource.USER_NAME, EstimateSource.USER)
        else ENOUGH_OF_MANY
    )


def _seen(history: RunTimeHistory, source: EstimateSource, alike: bool) -> Estimate:
    own = source in (EstimateSource.USER_NAME, EstimateSource.USER)
    return Estimate(
        history.quantile(50),
        history.quantile(90),
        history.latest() if own else history.mean(),
        len(history),
        source,
        alike,
    )


def _given(expected_ms: int) -> Estimate:
    return Estimate(expected_ms, 3 * expected_ms, expected_ms, 0, EstimateSource.GIVEN)


def _prior(gang: Gang) -> Estimate:
    """Users ask for twice what they need and more, so half of the limit is expected."""
    limit = gang.time_limit_ms or 2 * NOTHING_KNOWN_MS
    half = max(limit // 2, 1)
    return Estimate(half, limit, half, 0, EstimateSource.PRIOR)


def _capped(estimate: Estimate, limit_ms: int) -> Estimate:
    if not limit_ms or (estimate.p90_ms <= limit_ms and estimate.mean_ms <= limit_ms):
        return estimate
    return Estimate(
        min(estimate.p50_ms, limit_ms),
        min(estimate.p90_ms, limit_ms),
        min(estimate.mean_ms, limit_ms),
        estimate.samples,
        estimate.source,
        estimate.alike,
    )
