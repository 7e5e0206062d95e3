"""What first come, first served would do with gangs that share time, estimated as they come.

A gang would wait until all work that was there when it came is done. How much that is is not known:
a gang that waits counts as what gangs take on average, one that has run as at least as much again
as it had. Averages over ended gangs alone would be too small where short ones go first,
so the service of gangs that have begun counts, and each of them as a part of a gang that has ended.

Source: maximum likelihood for censored exponential life times (service over ends), made
steadier by counting those that have begun.
"""

from collections.abc import Container, Sequence

FEWEST = 16
"""Ended gangs without which nothing is estimated."""

SPAN = 2_048
"""Between one and two times this number of the latest ended gangs are remembered."""

BEGUN = 2
"""This number of gangs that have begun counts as one that has ended."""


Figures = tuple[int, int, int, int]
"""Of a span: ends, service, longest completion, most held."""

Learnt = tuple[dict[str, int], dict[str, int], Figures, Figures]
"""When the newest came, the waits of the others, and the figures of both spans."""


class FirstCome:
    """How long gangs would take under first come, first served, from submission to their end."""

    def __init__(self) -> None:
        self._new: dict[str, int] = {}
        self._waits: dict[str, int] = {}
        self._span, self._before = _Span(), _Span()

    @property
    def longest(self) -> int:
        """The longest completion, in ms; 0 = unknown."""
        if self._span.ends + self._before.ends < FEWEST:
            return 0
        return max(self._span.longest, self._before.longest)

    def learnt(self) -> Learnt:
        """All that it knows."""
        return self._new, self._waits, self._span.figures(), self._before.figures()

    def take(self, learnt: Learnt) -> None:
        """Go on with what `learnt` gave."""
        self._new, self._waits = learnt[:2]
        self._span, self._before = (_Span(*each) for each in learnt[2:])

    def came(self, gang: str, submitted: int) -> None:
        """A gang was submitted, in ms; does nothing for one that is known."""
        if gang not in self._waits:
            self._new[gang] = submitted

    def forget(self, gang: str) -> None:
        """A gang is gone."""
        self._new.pop(gang, None)
        self._waits.pop(gang, None)

    def keep(self, gangs: Container[str]) -> None:
        """Only these are there."""
        for gang in [each for each in (*self._new, *self._waits) if each not in gangs]:
            self.forget(gang)

    def ended(self, gang: str, service: int, ran_ms: int) -> None:
        """A gang has ended by itself.

        Args:
            gang: its id.
            service: what it had, in thousandths of GPUs x ms.
            ran_ms: how long it ran in all.
        """
        if self._span.ends >= SPAN:
            self._before, self._span = self._span, _Span()
        self._span.add(service, self._waits.get(gang, 0) + ran_ms)

    @property
    def is_due(self) -> bool:
        """Whether there is anything for `look` to estimate."""
        return bool(self._new) and self._span.ends + self._before.ends >= FEWEST

    def hold(self, milli: int) -> None:
        """Note what gangs hold now, in thousandths of GPUs; call it after every end."""
        self._span.held = max(self._span.held, milli)

    def look(self, begun: Sequence[int], live: int, now: int) -> None:
        """Estimate the waits of those that came; call it where it is due.

        Args:
            begun: services of those that have run and not ended, in thousandths of GPUs x ms.
            live: how many have not ended.
            now: the time in ms.
        """
        span, before = self._span, self._before
        ends = BEGUN * (span.ends + before.ends)
        mean = BEGUN * (span.service + before.service + sum(begun)) // (ends + len(begun))
        work = mean * (live - len(begun)) + sum(max(mean, each) for each in begun)
        turn = work // max(span.held, before.held, 1)
        for gang, submitted in self._new.items():
            wait = self._waits[gang] = now - submitted + turn
            span.longest = max(span.longest, wait)
        self._new.clear()


class _Span:
    """Gangs that ended one after the other.

    Attributes:
        ends: how many.
        service: what they had.
        longest: the longest completion of first come, first served.
        held: most thousandths of GPUs that gangs held at once.
    """

    __slots__ = ("ends", "held", "longest", "service")

    def __init__(self, ends: int = 0, service: int = 0, longest: int = 0, held: int = 0) -> None:
        self.ends, self.service, self.longest, self.held = ends, service, longest, held

    def figures(self) -> Figures:
        return self.ends, self.service, self.longest, self.held

    def add(self, service: int, completion: int) -> None:
        self.ends += 1
        self.service += service
        self.longest = max(self.longest, completion)
