"""Looking a whole ledger through: its rows, a replay of them, and what was made of a replay."""

from msgspec import Struct, field

from ganglion import __version__
from ganglion.ledger.audit import audited
from ganglion.ledger.chain import Progress, silent
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Flaw, Snapshot
from ganglion.metering.meter import Meter
from ganglion.model.errors import InvariantBroken
from ganglion.model.policy import Policy
from ganglion.server.recovery.checkpoint import Unusable, read
from ganglion.server.recovery.live_rows import enter_live
from ganglion.server.recovery.metered_rows import MeteredRows
from ganglion.server.recovery.recover import beginning, no_collection
from ganglion.server.recovery.replay import ignored, take
from ganglion.server.state.transaction import Mind

CUT = "the ledger was cut here, and begins with it"
EQUAL = "equal to the replay"
OTHER_VERSION = "another version wrote it, and this one replays the events otherwise: "
"""Beginning of a finding about a snapshot that is no flaw."""


class SnapshotVerdict(Struct, frozen=True):
    """What was found about one snapshot: `seq` is the number of the last event in it."""

    seq: int
    verdict: str
    sound: bool = True


class LedgerVerdict(Struct):
    """What was found.

    Attributes:
        ledger: the database.
        sound: whether nothing is wrong.
        events: rows of events.
        head: number of the newest of them.
        checksum: of the newest of them, in hexadecimal: the head of the chain.
        live: workloads that have not ended.
        flaws: what is wrong, by number of event; 0 = with the whole.
        snapshots: the newest first.
    """

    ledger: str
    sound: bool = True
    events: int = 0
    head: int = 0
    checksum: str = ""
    live: int = 0
    flaws: list[Flaw] = field(default_factory=list)
    snapshots: list[SnapshotVerdict] = field(default_factory=list)


def verified(reader: Reader, progress: Progress = silent) -> LedgerVerdict:
    """Look a ledger through; every row that is wrong is named.

    Raises:
        EnvironmentFault: the database does not answer.
        PluginError: the newest policy names a plugin that cannot be loaded.
    """
    rows = audited(reader, progress)
    found = LedgerVerdict(
        reader.where, events=rows.events, head=rows.head, checksum=rows.checksum.hex()
    )
    wrong = {(flaw.seq, flaw.problem): flaw for flaw in rows.flaws}
    with no_collection():
        mind, metered = _replayed(reader, found, progress)
    known = {flaw.seq for flaw in rows.flaws}
    for flaw in mind.book.flaws.values():
        if flaw.seq not in known:
            wrong[flaw.seq, flaw.problem] = flaw
    # Of other events other intervals follow, which are named no second time.
    others = () if wrong else metered
    for flaw in (*_state(mind), *_snapshots(found), *others):
        wrong[flaw.seq, flaw.problem] = flaw
    found.flaws = sorted(wrong.values(), key=lambda flaw: (flaw.seq, flaw.problem))
    found.live = len(mind.book.entries)
    found.sound = not found.flaws
    return found


def _replayed(reader: Reader, found: LedgerVerdict, progress: Progress) -> tuple[Mind, list[Flaw]]:
    """Take every event in; on the way, compare the snapshots and the intervals.

    Returns:
        the state, and what is wrong with the intervals.
    """
    mind, told = beginning(reader, Policy())
    base = next((each for each in reader.snapshots() if each.seq == told), None)
    rows = MeteredRows(reader, base.cycle if base else 0)
    waiting = {each.seq: each for each in reader.snapshots() if each.seq > told}
    if told:
        found.snapshots.append(SnapshotVerdict(told, CUT))
    for cycle in reader.cycles(told):
        rows.compare(cycle, take(mind, cycle, ignored))
        last = cycle.seqs[-1] if cycle.seqs else 0
        if last in waiting:
            found.snapshots.insert(0, _compared(mind, waiting.pop(last)))
        if last - told >= _SHOWN:
            told = last
            progress("replaying the events", last, found.head)
    for seq in sorted(waiting):
        found.snapshots.insert(0, SnapshotVerdict(seq, "no such event ends a cycle", sound=False))
    enter_live(mind, reader.history.live(), {})
    return mind, rows.end(mind.book.open_usage(_LATER))


_SHOWN, _LATER = 10_000, 1 << 62


def _compared(mind: Mind, snapshot: Snapshot) -> SnapshotVerdict:
    """Whether a snapshot holds what a replay up to its event gives."""
    try:
        kept = read(snapshot.body).mind(mind.state.config.plugins)
    except Unusable as error:
        return SnapshotVerdict(snapshot.seq, f"cannot be read: {error.message}", sound=False)
    here, there = facts(mind), facts(kept)
    other = ", ".join(name for name in here if here[name] != there[name])
    if other and snapshot.version != __version__:
        return SnapshotVerdict(snapshot.seq, OTHER_VERSION + other)
    said = f"differs from the replay in {other}" if other else EQUAL
    return SnapshotVerdict(snapshot.seq, said, sound=not other)


def facts(mind: Mind) -> dict[str, object]:
    """What a state consists of, in values that can be compared; what is read from elsewhere not."""
    state, book = mind.state, mind.book
    return {
        "gangs": state.gangs.records,
        "nodes": state.fleet.nodes,
        "lost nodes": state.fleet.tree.gone(),
        "queues": list(state.queues.by_name.values()),
        "usage": state.queues.shares.usage,
        "past use": {
            name: state.queues.past.level(name, state.progress.clock)
            for name in state.queues.by_name
        },
        "promises": list(state.holdings.promised),
        "stopping": state.holdings.leaving,
        "reservations": state.timeline.future.reservations(),
        "kept places": [(each.record.gang.id, each.placement) for each in state.timeline.kept],
        "policy": state.config.policy,
        "next wake": state.next_wake(),
        "attempts": book.trails,
        "gangs by workload": book.gangs,
        "alarms": book.alarms,
        "policies": book.policies,
        "schedules": book.schedules.live,
        "use": book.spending.of,
        "metering": _metering(book.meter),
        "metering of clusters": {
            name: (_metering(each.meter), each.unnamed)
            for name, each in book.cluster_meters.of.items()
        },
        "flaws": book.flaws,
        "sessions": book.sessions,
        "clusters": book.clusters,
        "budgets of clusters": book.cluster_budgets,
    }


def _metering(meter: Meter) -> tuple[object, ...]:
    return meter.since, meter.now, meter.nodes, meter.attempts


def _state(mind: Mind) -> list[Flaw]:
    """What is wrong with the state at the end."""
    try:
        mind.state.validate()
    except InvariantBroken as error:
        return [Flaw(0, "state", f"the state contradicts itself: {error.message}")]
    return []


def _snapshots(found: LedgerVerdict) -> list[Flaw]:
    return [
        Flaw(each.seq, "snapshot", f"the snapshot {each.verdict}")
        for each in found.snapshots
        if not each.sound
    ]
