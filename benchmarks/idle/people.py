"""People and their notebooks, minute by minute: what they do, and what can be seen of it.

A seeded model with known truth. A user is at work from one action to the next as long as no
more than `AWAY_MIN` minutes lie between; one who does nothing for longer is away. A workspace is
truly idle while its user is away and nothing computes in it, whatever it holds in memory.
"""

from collections.abc import Iterator
from random import Random

from msgspec import Struct, field

DAY_MIN = 24 * 60
AWAY_MIN = 25
"""Minutes without any action after which a user is away."""
KINDS = ("notebook", "notebook", "notebook", "notebook", "terminal", "shell")
"""How people work: in notebooks, in the terminals of a notebook server, or attached to a shell
that no notebook server knows of."""


class Minute(Struct):
    """One minute of one workspace: truth first, then what can be seen.

    Attributes:
        present: its user is at work.
        computing: something computes for its user.
        gpu_milli, pcie: its own use of its GPUs: engines in thousandths, bytes a second.
        cpu_milli, moved: use by its processes: thousandths of a core, bytes a second.
        ran: its kernel did something.
        busy: its kernel runs a cell as the minute ends.
        saved: its user saved a notebook.
        typed: its user pressed a key in a terminal of the notebook server (1) or in a shell (2).
        gpu_told: whether its GPU's series is there.
        server_told: whether its notebook server answers.
    """

    present: bool = False
    computing: bool = False
    gpu_milli: int = 0
    pcie: int = 0
    cpu_milli: int = 0
    moved: int = 0
    ran: bool = False
    busy: bool = False
    saved: bool = False
    typed: int = 0
    gpu_told: bool = True
    server_told: bool = True


class Notebook(Struct):
    """One workspace and the life in it.

    Attributes:
        number: which one.
        gpus: thousandths of GPUs that it holds.
        mate: number of the one it shares a GPU with; -1 = none.
        kind: how its user works.
        minutes: its life.
    """

    number: int
    gpus: int
    mate: int
    kind: str
    minutes: list[Minute] = field(default_factory=list)

    @property
    def shared(self) -> bool:
        """Whether others compute on its GPU."""
        return self.mate >= 0


def people(count: int, days: int, seed: int) -> list[Notebook]:
    """A number of workspaces over a number of days, from a Monday on.

    Two in ten share a GPU with another one; three in a hundred have no GPU series for days.
    """
    chance = Random(seed)
    made = [_empty(number, count, days, chance) for number in range(count)]
    for each in made:
        _Life(each, chance).live(days)
        _blind(each, days, chance)
    return made


def _empty(number: int, count: int, days: int, chance: Random) -> Notebook:
    pairs = count // 10
    shares = number < 2 * pairs
    gpus = 500 if shares else chance.choice((1_000, 1_000, 1_000, 2_000, 4_000))
    minutes = [Minute() for _ in range(days * DAY_MIN)]
    return Notebook(number, gpus, number ^ 1 if shares else -1, chance.choice(KINDS), minutes)


class _Life:
    """Fills the minutes of one workspace."""

    def __init__(self, notebook: Notebook, chance: Random) -> None:
        self._book, self._chance = notebook, chance
        self._minutes = notebook.minutes
        self._begins = chance.gauss(9.2, 1.0) * 60
        self._eager = chance.uniform(0.55, 1.0)
        self._kernel_until = -1

    def live(self, days: int) -> None:
        for day in range(days):
            free = day % 7 >= 5
            if self._chance.random() < (0.12 if free else self._eager):
                for start, end in self._sessions(day * DAY_MIN):
                    self._work(start, end)
                    self._leave_running(end)
            self._spike(day * DAY_MIN)
        self._noise()

    def _sessions(self, midnight: int) -> Iterator[tuple[int, int]]:
        """Stretches at the desk; between them lunch, meetings, and the way home."""
        chance = self._chance
        at = midnight + int(self._begins + chance.gauss(0, 25))
        lunch = midnight + int(chance.gauss(12.5, 0.4) * 60)
        leave = midnight + int(chance.gauss(17.8, 1.2) * 60)
        evening = midnight + int(chance.gauss(20.5, 0.7) * 60)
        while at < leave:
            until = at + max(15, int(chance.expovariate(1 / 95)))
            if at < lunch < until:
                yield at, lunch
                at = lunch + chance.randint(30, 75)
            else:
                yield at, min(until, leave)
                at = until + chance.choice((12, 20, 30, 45, 60, 60, 90))
        if chance.random() < 0.15:
            yield evening, evening + chance.randint(20, 120)

    def _work(self, start: int, end: int) -> None:
        """Actions with pauses between; a pause that is too long is time away."""
        at = start
        while at < min(end, len(self._minutes)):
            self._act(at)
            pause = max(1, round(self._chance.lognormvariate(0.9, 0.9)))
            last = min(at + pause, end, len(self._minutes) - 1)
            if pause <= AWAY_MIN:
                for minute in self._minutes[at : last + 1]:
                    minute.present = True
            at += pause
        self._minutes[min(max(start, 0), len(self._minutes) - 1)].present = True

    def _act(self, at: int) -> None:
        chance, minute = self._chance, self._minutes[at]
        minute.present = True
        if self._book.kind == "shell":
            minute.typed = 2
        elif self._book.kind == "terminal":
            minute.typed = 1
        elif chance.random() < 0.35:
            minute.saved = True  # prose, or code that is not run
            return
        elif at > self._kernel_until:
            minute.ran = True
        if chance.random() < 0.5:
            self._compute(at, chance.choice((1, 1, 1, 2, 3, 8)), gpu=chance.random() < 0.6)

    def _compute(self, at: int, length: int, *, gpu: bool) -> None:
        """Something short that its user waits for."""
        cell = self._book.kind == "notebook"
        for minute in self._span(at, length):
            minute.computing = True
            minute.cpu_milli = max(minute.cpu_milli, self._chance.randint(150, 1_000))
            if gpu:
                minute.gpu_milli = self._chance.randint(20, 900)
                minute.pcie = self._chance.randint(100_000, 900_000_000)
        if cell:
            self._cell(at, length)

    def _cell(self, at: int, length: int) -> None:
        span = self._span(at, length)
        for minute in span:
            minute.busy = True
        if span:
            span[0].ran = span[-1].ran = True
            span[-1].busy = False  # it ended within its last minute
        self._kernel_until = max(self._kernel_until, at + length)

    def _leave_running(self, at: int) -> None:
        """What goes on after its user has left."""
        chance = self._chance
        if chance.random() > 0.22 or at <= self._kernel_until:
            return
        what = chance.choice(("train", "train", "cpu", "cpu", "download", "wait"))
        length = int(chance.lognormvariate(5.0, 0.8))
        cell = self._book.kind == "notebook" and what != "download" and chance.random() < 0.7
        for number, minute in enumerate(self._span(at, length)):
            minute.computing = True
            self._use(minute, what, number)
        if cell or what == "wait":
            self._cell(at, length)

    def _use(self, minute: Minute, what: str, number: int) -> None:
        chance = self._chance
        if what == "download":
            minute.cpu_milli = max(minute.cpu_milli, chance.randint(8, 40))
            minute.moved = chance.randint(1_000_000, 60_000_000)
        elif what == "cpu" or (what == "train" and number % 240 < 45):  # it prepares its data
            minute.cpu_milli = max(minute.cpu_milli, chance.randint(400, 8_000))
        elif what == "train":
            minute.cpu_milli = max(minute.cpu_milli, chance.randint(600, 4_000))
            minute.gpu_milli = chance.randint(200, 1_000)
            minute.pcie = chance.randint(1_000_000, 4_000_000_000)

    def _spike(self, midnight: int) -> None:
        """Now and then something that no user asked for: an index, a backup."""
        if self._chance.random() < 0.3:
            for minute in self._span(midnight + self._chance.randrange(DAY_MIN), 2):
                minute.cpu_milli = max(minute.cpu_milli, self._chance.randint(200, 900))

    def _noise(self) -> None:
        """What servers that wait use, and monitoring makes of GPUs."""
        for minute in self._minutes:
            minute.cpu_milli = max(minute.cpu_milli, self._chance.randint(2, 18))
            minute.moved = max(minute.moved, self._chance.randint(0, 9_000))
            minute.gpu_milli = max(minute.gpu_milli, self._chance.choice((0, 0, 0, 1, 2)))
            minute.pcie = max(minute.pcie, self._chance.randint(0, 30_000))

    def _span(self, at: int, length: int) -> list[Minute]:
        return self._minutes[max(at, 0) : max(at + length, 0)]


def _blind(notebook: Notebook, days: int, chance: Random) -> None:
    """Series that are missing and servers that do not answer, for a while or for days."""
    end = days * DAY_MIN
    for _ in range(days // 3):
        start, length = chance.randrange(end), chance.choice((3, 10, 45, 240))
        for minute in notebook.minutes[start : start + length]:
            minute.gpu_told = False
    for _ in range(days // 5):
        start, length = chance.randrange(end), chance.choice((1, 2, 15, 60))
        for minute in notebook.minutes[start : start + length]:
            minute.server_told = False
    if chance.random() < 0.03:
        start = chance.randrange(end)
        for minute in notebook.minutes[start : start + 3 * DAY_MIN]:
            minute.gpu_told = False
