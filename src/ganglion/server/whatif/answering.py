"""From a question to its answer, in a process of its own."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ganglion.api.whatif.report import WhatIfReport
from ganglion.collector import relax
from ganglion.ledger.reader import Reader
from ganglion.lifecycle.budgets import spent_since
from ganglion.model.errors import GanglionError
from ganglion.model.policy import Policy
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import replace_whole
from ganglion.seams.forks import computed_beside
from ganglion.server.recovery.recover import as_of, no_collection
from ganglion.server.whatif.clusters import in_cluster, read_cluster
from ganglion.whatif.changes import WhatIfChange
from ganglion.whatif.past import PastPeriod, PastReader
from ganglion.whatif.replay import Told, Work, answered

READ_PERMILLE = 200
"""How far the question is once the past was read."""


class WhatIfTask(Struct, frozen=True):
    """A question for the process that answers it.

    Attributes:
        ledger: path of a SQLite file, or a database URL.
        since, until: the period, in ms.
        change: what is otherwise.
        words: the same, for people.
        cluster: whose past it is; empty = that of the server's own nodes.
        progress: file in which it says how far it is, in thousandths; empty = it says nothing.
        own: queues that the user who asks may see, as that past names them; None = all.
    """

    ledger: str
    since: int
    until: int
    change: WhatIfChange
    words: tuple[str, ...] = ()
    progress: str = ""
    cluster: str = ""
    own: tuple[str, ...] | None = None


class WhatIfAnswer(Struct, frozen=True):
    """What the process answers: a report, or what is wrong with the question."""

    report: WhatIfReport | None = None
    message: str = ""
    hint: str = ""


def main(raw: bytes, effects: Effects = SYSTEM) -> bytes:
    """Answer a task, both as JSON."""
    relax()
    task = msgspec.json.decode(raw, type=WhatIfTask)
    try:
        found = WhatIfAnswer(answer(task, _written(task.progress, effects), effects))
    except GanglionError as error:
        # Hints list the queues that there were.
        found = WhatIfAnswer(message=error.message, hint=error.hint if task.own is None else "")
    return msgspec.json.encode(found)


def answer(
    task: WhatIfTask,
    told: Told = lambda _: None,
    effects: Effects = SYSTEM,
    beside: Callable[[Work], Work] = computed_beside,
) -> WhatIfReport:
    """Read the past of a ledger, and replay it.

    Args:
        task: the question.
        told: called with how far it is, in thousandths.
        effects: the database.
        beside: computes one of the two replays while this process computes the other.

    Raises:
        GanglionError: the ledger cannot be read, or the change does not fit its past.
    """
    where = task.ledger if "://" in task.ledger else Path(task.ledger)
    reader = Reader.at_rest(where, effects)
    try:
        with no_collection(stays=False):
            if task.cluster:
                past = read_cluster(reader, task.cluster, task.since, task.until)
            else:
                past = read_past(reader, task.since, task.until)
    finally:
        reader.leave()
    told(READ_PERMILLE)
    rest = 1000 - READ_PERMILLE
    with no_collection(stays=False):
        report = answered(
            past,
            task.change,
            task.words,
            lambda permille: told(READ_PERMILLE + permille * rest // 1000),
            beside,
            None if task.own is None else frozenset(task.own),
        )
    return in_cluster(report, task.cluster) if task.cluster else report


def read_past(reader: Reader, since: int, until: int) -> PastPeriod:
    """The past of a period; it begins later where the ledger does.

    Raises:
        InputError: there were no jobs.
        EnvironmentFault: the database does not answer.
    """
    mind, begin, cycles = as_of(reader, Policy(), since)
    period, prices = (begin, max(until, begin)), mind.book.prices.records
    alarms, flaws = mind.book.alarms, len(mind.book.flaws)
    known = {name: spent_since(alarms, name) for name in mind.state.queues.budgets.accounts}
    spent = {name: at for name, at in known.items() if at is not None}
    past = PastReader(mind.state, period, prices, flaws, spent)
    for cycle in cycles:
        past.take(cycle.incoming, cycle.decisions, len(cycle.flaws))
    return past.past()


def _written(path: str, effects: Effects) -> Told:
    """Writes how far it is into a file, whenever that has changed."""
    last = -1

    def told(permille: int) -> None:
        nonlocal last
        if path and permille > last:
            last = permille
            mark = effects.processes.own()
            with suppress(OSError):  # a disk that is full keeps no question from its answer
                replace_whole(effects.files, Path(path), b"%d" % permille, mark, durable=False)

    return told
