"""Whether the ends of programs say something about a node: by how the same programs do elsewhere.

A program that fails says nothing about its node: it may be misspelt, its image may be broken,
its data may be gone. It says something once the same program of the same user does well on
other nodes. Two findings count, each only if proven programs fail `TIMES` as often on the node
as on all others:

- confirmed: a program failed on one node alone, and then did well on another one;
- black hole: programs of `USERS` users, all of which did well elsewhere before, failed there in
  a row, while others did well elsewhere. Such a node is always free, so that it draws in work
  that then has no end elsewhere to be compared with.

Everything is an integer and follows from events.

Source: comparison with a control group, as canary analysis does for releases (A. Davidovič,
B. Beyer, "Canary Analysis Service", ACM Queue 16(1), 2018).
"""

from msgspec import Struct, field

TIMES = 4
"""How many times as often as elsewhere proven programs must fail on a node."""
USERS = 3
"""Users whose proven programs must fail in a row on a node that is taken for a black hole."""
MOST_PROGRAMS = 1000
"""Programs that are remembered, the last ones to end."""


class Program(Struct):
    """A program of one user.

    Attributes:
        well_on: the nodes where it did well last, at most two -> when, in ms.
        failed_on: nodes where it failed since it did well anywhere -> whether it was proven, so
            that the failure has been counted.
    """

    well_on: dict[str, int] = field(default_factory=dict)
    failed_on: dict[str, bool] = field(default_factory=dict)

    def is_proven(self, node: str, since: int) -> bool:
        """Whether it did well on another node lately, and has not failed on another one since."""
        elsewhere = any(at >= since for other, at in self.well_on.items() if other != node)
        return elsewhere and self.failed_on.keys() <= {node}


class Conduct(Struct):
    """How programs do on a node: ends that were well, and failures of proven programs."""

    well: int = 0
    bad: int = 0

    def add(self, well: int, bad: int) -> None:
        """Count more of them."""
        self.well += well
        self.bad += bad


class Streak(Struct):
    """Users whose proven programs failed in a row on a node, and ends elsewhere before that."""

    users: set[str]
    well: int
    bad: int


class NodeFinding(Struct, frozen=True):
    """Something that speaks against a node.

    Attributes:
        node: the node.
        by: what shows it: (user, program); a program shows the same only once.
        is_black_hole: whether it fails whatever runs there, else that one program failed there.
    """

    node: str
    by: tuple[str, str]
    is_black_hole: bool = False


class Comparison:
    """Ends of programs by node.

    Args:
        window_ms: how long an end counts.
    """

    def __init__(self, window_ms: int) -> None:
        self._window = window_ms
        self._programs: dict[tuple[str, str], Program] = {}
        self._conduct: dict[str, Conduct] = {}
        self._streaks: dict[str, Streak] = {}
        self._all, self._halved = Conduct(), 0

    def forget(self, node: str) -> None:
        """The node was mended: what programs did there says nothing any more."""
        conduct = self._conduct.pop(node, Conduct())
        self._all.add(-conduct.well, -conduct.bad)
        self._streaks.pop(node, None)
        for program in self._programs.values():
            program.failed_on.pop(node, None)

    def ended(self, by: tuple[str, str], node: str, at: int, *, well: bool) -> list[NodeFinding]:
        """A program of a user ended on a node; returns what that shows.

        Args:
            by: (user, program).
            node: where all of it ran.
            at: when, in ms.
            well: whether it did what it should.
        """
        self._fade(at)
        program = self._programs.pop(by, None) or Program()
        self._programs[by] = program  # the last to be forgotten
        if len(self._programs) > MOST_PROGRAMS:
            del self._programs[next(iter(self._programs))]
        return self._well(by, program, node, at) if well else self._failed(by, program, node, at)

    def _well(self, by: tuple[str, str], program: Program, node: str, at: int) -> list[NodeFinding]:
        self._count(node, well=1, bad=0)
        self._streaks.pop(node, None)
        suspects, program.failed_on = program.failed_on, {}
        program.well_on.pop(node, None)
        program.well_on = dict([*program.well_on.items()][-1:]) | {node: at}
        if len(suspects) != 1 or node in suspects:
            return []  # it failed in several places, or does well where it failed
        ((suspect, counted),) = suspects.items()
        if not counted:
            self._count(suspect, well=0, bad=1)
        return [NodeFinding(suspect, by)] if self._stands_out(suspect) else []

    def _failed(
        self, by: tuple[str, str], program: Program, node: str, at: int
    ) -> list[NodeFinding]:
        proven = program.is_proven(node, at - self._window)
        program.failed_on[node] = proven
        if not proven:
            return []
        self._count(node, well=0, bad=1)
        own = self._conduct[node]
        elsewhere_well, elsewhere_bad = self._all.well - own.well, self._all.bad - own.bad
        streak = self._streaks.setdefault(node, Streak(set(), elsewhere_well, elsewhere_bad))
        streak.users.add(by[0])
        others_well = elsewhere_well - streak.well
        others_fine = others_well >= max(USERS, elsewhere_bad - streak.bad)
        if len(streak.users) < USERS or not others_fine or not self._stands_out(node):
            return []
        del self._streaks[node]
        return [NodeFinding(node, by, is_black_hole=True)]

    def _stands_out(self, node: str) -> bool:
        """Whether proven programs fail there far more often than on all other nodes."""
        own = self._conduct.get(node, Conduct())
        bad, ends = self._all.bad - own.bad, self._all.well + self._all.bad - own.well - own.bad
        return own.bad > 0 and own.bad * (ends + 1) >= TIMES * (bad + 1) * (own.well + own.bad)

    def _count(self, node: str, well: int, bad: int) -> None:
        self._conduct.setdefault(node, Conduct()).add(well, bad)
        self._all.add(well, bad)

    def _fade(self, at: int) -> None:
        """Count what is older than a window half, so that a node can mend its ways."""
        if at - self._halved < self._window:
            return
        self._halved, self._all = at, Conduct()
        for node, conduct in self._conduct.items():
            self._conduct[node] = Conduct(conduct.well >> 1, conduct.bad >> 1)
            self._all.add(conduct.well >> 1, conduct.bad >> 1)
        self._streaks.clear()
