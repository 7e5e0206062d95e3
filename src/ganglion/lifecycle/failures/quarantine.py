"""Whatever fails again and again is left alone for a while, longer each time.

One failure says little about a node. Several within a window shut it for a term; each further
time the term doubles, up to eight times the first. Good conduct is forgotten as well: for every
longest term without a relapse the next one is halved again.

Source: the lemon nodes of Kokolis et al., "Revisiting Reliability in Large-Scale Machine
Learning Research Clusters", HPCA 2025: few nodes cause many of the failures of large jobs.
"""

LONGEST = 8
"""Most that a term is lengthened by."""


class Quarantine:
    """Counts failures by node, or by anything else that has a name.

    Args:
        enough: failures within the window that shut it.
        term_ms: how long it stays shut the first time.
        window_ms: failures count together that are no further apart; 0 = as long as a term.
    """

    def __init__(self, enough: int, term_ms: int, window_ms: int = 0) -> None:
        self._enough, self._term, self._window = enough, term_ms, window_ms or term_ms
        self._strikes: dict[str, list[tuple[int, str]]] = {}
        self._times: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._until: dict[str, int] = {}
        self._why: dict[str, str] = {}

    def strike(self, what: str, why: str, now: int, by: str = "") -> bool:
        """It failed; returns whether that shuts it.

        Args:
            what: its name.
            why: what it did, in words that go on from "as".
            now: the time in ms.
            by: the gang that met the failure; one that fails again and again is counted once,
                since it may be at fault itself. Empty = no gang; the failure always counts.
        """
        recent = self.recent(what, now)
        if by and any(each == by for _, each in recent):
            return False
        self._strikes[what] = [*recent, (now, by)]
        if len(recent) + 1 < self._enough:
            return False
        self.shut(what, why, now)
        return True

    def recent(self, what: str, now: int) -> list[tuple[int, str]]:
        """Failures that count at present: when each was, and the gang that met it; empty = none."""
        return [each for each in self._strikes.get(what, ()) if now - each[0] < self._window]

    def shut(self, what: str, why: str, now: int) -> None:
        """Leave it alone from now on, whatever happened before."""
        times = min(max(2 * self._left_of(what, now), 1), LONGEST)
        self._times[what], self._until[what] = times, now + times * self._term
        self._last[what], self._why[what] = self._until[what], why
        self._strikes[what] = []

    def _left_of(self, what: str, now: int) -> int:
        """How many times the first term the last one was, less what is forgiven by now."""
        clean = max(now - self._last.get(what, now), 0)
        return self._times.get(what, 0) >> min(clean // (LONGEST * self._term), LONGEST)

    def strikes(self, what: str, now: int) -> int:
        """How many failures count at present."""
        return len(self.recent(what, now))

    def reason(self, what: str, now: int) -> str:
        """Why it is shut; empty = it is not."""
        if now >= self._until.get(what, 0):
            return ""
        return f"quarantined, as {self._why[what]}"

    def until(self, what: str) -> int:
        """When its term is over, in ms; 0 = it is not shut."""
        return self._until.get(what, 0)

    def shut_now(self, now: int) -> list[str]:
        """What is shut, the first to come back first."""
        found = [(until, what) for what, until in self._until.items() if until > now]
        return [what for _, what in sorted(found)]

    def over(self, now: int) -> list[str]:
        """What has served its term since the last call."""
        done = [what for what, until in self._until.items() if until <= now]
        for what in done:
            del self._until[what]
        return done

    def pardon(self, what: str) -> None:
        """Forget everything about it: a person says it is well, or it is gone for good."""
        for known in (self._strikes, self._times, self._last, self._until, self._why):
            known.pop(what, None)

    def next_end(self) -> int | None:
        """When the next term is over, in ms; None = nothing is shut."""
        return min(self._until.values(), default=None)
