"""A simulated service of a language model: replicas read prompts in turn, answer many at once."""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush

from msgspec import Struct

from benchmarks.serving.fleet import Policy, Rules, Seen
from benchmarks.serving.prompts import Model, Prompt
from benchmarks.serving.requests import HOUR


class Engine(Struct):
    """One replica.

    Attributes:
        number: of its start, from 1.
        running: requests it has.
        reads_until: when it has read all prompts that it was given, in ms.
        leaving: it takes no more requests and goes when it has none.
    """

    number: int
    running: int = 0
    reads_until: int = 0
    leaving: bool = False


class Answered(Struct):
    """What came out.

    Attributes:
        waits: from arrival to the begin of reading, by request in the order of arrival, in ms.
        first: from arrival to the first token, likewise.
        replica_ms: time of all replicas, from decision to end.
        starts: replicas that were started.
        most: most replicas at a time.
    """

    waits: list[int]
    first: list[int]
    replica_ms: int = 0
    starts: int = 0
    most: int = 0

    @property
    def replica_hours(self) -> float:
        """Time of all replicas, in hours."""
        return self.replica_ms / HOUR


class Batches:
    """The replicas of a service through time; a request goes to the one that has fewest.

    Args:
        prompts: by time of arrival.
        policy: its scaler.
        rules: decisions, lateness and cold starts.
        model: how fast a replica is.
        first: replicas that are ready at the beginning.
        watch_ms: how long the policy is asked and not obeyed.
    """

    def __init__(
        self,
        prompts: Sequence[Prompt],
        policy: Policy,
        rules: Rules,
        model: Model,
        first: int = 0,
        watch_ms: int = 0,
    ) -> None:
        self._prompts, self._policy, self._rules, self._model = prompts, policy, rules, model
        self._engines = [Engine(number) for number in range(1, first + 1)]
        self._queue: deque[int] = deque()
        self._running: list[tuple[int, int, Engine]] = []
        self._starting: list[tuple[int, int, int]] = []
        self._next = self._now = self._late = 0
        self._watch = watch_ms
        count = len(prompts)
        self._answered = Answered([0] * count, [0] * count, starts=first)

    def run(self) -> Answered:
        """Answer every request; decisions are made from time 0 on."""
        at = 0
        while self._next < len(self._prompts) or self._queue or self._running:
            self._until(at)
            self._decide(at)
            at += self._rules.every_ms
        return self._answered

    def _until(self, end: int) -> None:
        """Everything that happens up to a time: ends first, then starts, then arrivals."""
        while True:
            ended = self._running[0][0] if self._running else end + 1
            began = self._starting[0][0] if self._starting else end + 1
            left = self._next < len(self._prompts)
            came = self._prompts[self._next].at if left else end + 1
            at = min(ended, began, came)
            self._pass(min(at, end))
            if at > end:
                return
            if at == ended:
                self._end()
            elif at == began:
                self._begin()
            else:
                self._queue.append(self._next)
                self._next += 1
            self._hand_out(at)

    def _pass(self, at: int) -> None:
        there = len(self._engines) + len(self._starting)
        self._answered.replica_ms += there * (at - self._now)
        self._now = at

    def _hand_out(self, at: int) -> None:
        while self._queue:
            free = [each for each in self._engines if self._takes(each)]
            if not free:
                return
            engine = min(free, key=lambda each: (each.running, each.number))
            self._serve(at, self._queue.popleft(), engine)

    def _takes(self, engine: Engine) -> bool:
        return not engine.leaving and engine.running < self._model.slots

    def _serve(self, at: int, number: int, engine: Engine) -> None:
        prompt = self._prompts[number]
        begins = max(at, engine.reads_until)
        engine.reads_until = begins + self._model.prefill_ms(prompt)
        engine.running += 1
        wait = begins - prompt.at
        self._answered.waits[number] = wait
        self._answered.first[number] = engine.reads_until - prompt.at
        self._late += wait > self._rules.late_ms
        done = engine.reads_until + self._model.decode_ms(prompt)
        heappush(self._running, (done, number, engine))

    def _end(self) -> None:
        engine = heappop(self._running)[2]
        engine.running -= 1
        if engine.leaving and not engine.running:
            self._engines.remove(engine)

    def _begin(self) -> None:
        at, number, asked = heappop(self._starting)
        self._engines.append(Engine(number))
        self._policy.started(at - asked)

    def _decide(self, at: int) -> None:
        ready = sum(not each.leaving for each in self._engines)
        waiting, running = len(self._queue), len(self._running)
        seen = Seen(at, waiting, running, ready, len(self._starting), self._next, self._late)
        wanted = self._policy.desired(seen)
        if at < self._watch:
            return
        for _ in range(wanted - seen.replicas):
            self._start(at)
        for _ in range(seen.replicas - wanted):
            self._stop()
        there = len(self._engines) + len(self._starting)
        self._answered.most = max(self._answered.most, there)

    def _start(self, at: int) -> None:
        self._answered.starts += 1
        heappush(self._starting, (at + self._rules.cold_start(), self._answered.starts, at))

    def _stop(self) -> None:
        """The last one that starts, or else the one with fewest requests once it is done."""
        if self._starting:
            self._starting.remove(max(self._starting, key=lambda each: each[1]))
            # A heap stays one where times of starts never fall, and else has to be made anew.
            self._starting.sort()
            return
        stays = [each for each in self._engines if not each.leaving]
        engine = min(stays, key=lambda each: (each.running, -each.number))
        engine.leaving = True
        if not engine.running:
            self._engines.remove(engine)
