"""What is written to and read from the ledger."""

from collections.abc import Sequence

from msgspec import Struct, field

from ganglion.metering.activity import ActivityInterval
from ganglion.metering.intervals import LostSpan, SupplyInterval, UsageInterval
from ganglion.metering.lending import LentInterval
from ganglion.model.events import Event
from ganglion.model.workload import Workload


class Submitted(Struct, frozen=True):
    """A workload that enters the ledger.

    Attributes:
        id: `<name>-<number>`.
        number: its number in the fleet, as `Ledger.next_number` gave it.
        at: time of submission in ms.
        document: the canonical workload file as JSON.
        workload: what was understood.
        request_key: the client's idempotency key; None = it gave none.
        request_hash: digest of the request that came with the key.
        metered: name of work of a cluster in usage; None = it has its id there.
        first_at: when work of a cluster got its first place, in ms; None = unknown, or none.
        first_milli: thousandths of GPUs of that place.
    """

    id: str
    number: int
    at: int
    document: bytes
    workload: Workload
    request_key: str | None = None
    request_hash: str = ""
    metered: str | None = None
    first_at: int | None = None
    first_milli: int | None = None


class Changed(Struct, frozen=True):
    """A live workload whose description changed."""

    id: str
    workload: Workload


class Ended(Struct, frozen=True):
    """A workload whose gangs have all ended, for good.

    Attributes:
        id: its id.
        at: when its last gang ended, in ms.
        state: the state it ended in.
        detail: everything there is to show about it, as JSON.
    """

    id: str
    at: int
    state: str
    detail: bytes


class Cut(Struct, frozen=True):
    """Where a ledger was cut: a snapshot takes the place of all events up to one.

    Attributes:
        seq: number of that event.
        at: when it was cut, in ms.
        checksum: of that event.
        digest: SHA-256 of the body of the snapshot.
        archive: the file that the events were written to; empty = none.
    """

    seq: int
    at: int
    checksum: bytes
    digest: bytes
    archive: str = ""


class Spacing(Struct, frozen=True):
    """Which snapshots stay beside the newest two, so that a ledger can be cut at them.

    Attributes:
        ms: those that are so far apart in time; 0 = none for that.
        events: least distance in events of those that are kept for it; 0 = none is.
    """

    ms: int = 0
    events: int = 0


class Batch(Struct):
    """Everything that one scheduling cycle writes, in one transaction.

    Attributes:
        at: time of the cycle in ms.
        incoming: facts and requests that were applied, in order.
        decisions: what the engine decided after them, in order.
        submitted: new workloads; their gangs are among `incoming`.
        changed: workloads whose description changed.
        ended: workloads that are over.
        cut: where the ledger is cut; None = nowhere.
        usage: what attempts held until now, or until an event of it.
        supply: what nodes had likewise.
        erased: names of a person to be erased, that of the user first; empty = of none.
        past: workloads of clusters, which enter when they are over.
        activity: what GPUs did meanwhile; it may be all that there is.
        lent: what queues lent and borrowed until now.
        lost: which parts of attempts that ended were thrown away.
    """

    at: int
    incoming: list[Event] = field(default_factory=list)
    decisions: list[Event] = field(default_factory=list)
    submitted: list[Submitted] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    cut: Cut | None = None
    usage: list[UsageInterval] = field(default_factory=list)
    supply: list[SupplyInterval] = field(default_factory=list)
    erased: tuple[str, ...] = ()
    past: list[tuple[Submitted, Ended]] = field(default_factory=list)
    activity: list[ActivityInterval] = field(default_factory=list)
    lent: list[LentInterval] = field(default_factory=list)
    lost: list[LostSpan] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes that it takes on disk, about."""
        events = len(self.incoming) + len(self.decisions) + len(self.changed)
        events += len(self.usage) + len(self.supply) + len(self.activity) + len(self.lent)
        events += len(self.lost)
        documents = sum(len(new.document) for new in self.submitted)
        details = sum(len(end.detail) for end in (*self.ended, *(each for _, each in self.past)))
        return 512 * (events + 1) + 2 * documents + details

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.incoming or self.decisions or self.submitted or self.changed or self.ended)


class Entry(Struct, frozen=True):
    """One event as it lies in the ledger.

    Attributes:
        seq: its number.
        at: its time in ms.
        cycle: number of its cycle.
        kind: its type, as in the JSON.
        body: its JSON, with the names of people as far as they are known.
        checksum: chained to that of the event before, see `chain`.
        stored: its JSON as it lies there, with pseudonyms; empty = it names no one.
    """

    seq: int
    at: int
    cycle: int
    kind: str
    body: bytes
    checksum: bytes | None = None
    stored: bytes = b""

    @property
    def linked(self) -> bytes:
        """Its JSON as the chain covers it."""
        return self.stored or self.body

    @property
    def columns(self) -> dict[str, object]:
        """Its row."""
        return {
            "seq": self.seq,
            "at": self.at,
            "cycle": self.cycle,
            "kind": self.kind,
            "body": self.stored or self.body,
            "checksum": self.checksum,
        }


class Flaw(Struct, frozen=True):
    """What is wrong with a row of the ledger.

    Attributes:
        seq: number of the event.
        kind: its type; empty = the row is missing.
        problem: one sentence.
        gang: the gang that it is about, as far as that can be read; empty = unknown or none.
        attempt: the attempt of that gang; 0 = unknown or none.
    """

    seq: int
    kind: str
    problem: str
    gang: str = ""
    attempt: int = 0


class Cycle(Struct, frozen=True):
    """The events of one cycle, as they are read back.

    Attributes:
        number: counts from 1.
        at: time of the cycle in ms.
        incoming: facts and requests.
        decisions: what the engine decided after them.
        seqs: number of each event, facts and requests first.
        flaws: rows of the cycle that cannot be read, and rows missing before its last one.
    """

    number: int
    at: int
    incoming: list[Event]
    decisions: list[Event]
    seqs: Sequence[int] = ()
    flaws: list[Flaw] = field(default_factory=list)


class Snapshot(Struct, frozen=True):
    """The state after an event, as it lies in the ledger.

    Attributes:
        seq: number of the event.
        cycle: number of its cycle, which is complete.
        at: when it was made, in ms.
        version: of the code that wrote it.
        checksum: of the event.
        body: the state.
    """

    seq: int
    cycle: int
    at: int
    version: str
    checksum: bytes
    body: bytes


class Filed(Struct, frozen=True):
    """A workload as it lies in the ledger.

    Attributes:
        id: `<name>-<number>`.
        number: its number in the fleet.
        name: as the user calls it.
        at: time of submission in ms.
        document: the canonical workload file as JSON.
        workload: what was understood.
        request_hash: digest of the request that made it.
        ended: when it ended in ms; None before.
        state: the state it ended in; empty before.
        detail: everything there is to show about it as JSON; empty before it ends.
        flaw: what cannot be read of the row, in which case `workload` is made up; empty = nothing.
        metered: its name in usage, where that is not its id; empty = it is, or unknown.
    """

    id: str
    number: int
    name: str
    at: int
    document: bytes
    workload: Workload
    request_hash: str
    ended: int | None
    state: str
    detail: bytes
    flaw: str = ""
    metered: str = ""
