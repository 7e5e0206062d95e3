"""Records of the audit trail, and what their verification found."""

from typing import Any

from msgspec import Struct, field

from ganglion.api.page import Page


class TrailRecord(Struct):
    """One event: who did what, and by which right.

    Attributes:
        seq: its number.
        at: its time in ms.
        kind: its type.
        actor: the user who asked for it; `scheduler` for a decision; empty = it does not say.
        queue: that it is about; empty = none, or unknown.
        workload: that it is about; empty = none.
        request: id of the request that it comes from; empty = of none.
        rule: the grant by broken glass that allowed it, else the kind of its cause; empty = it
            names none.
        checksum: of the event in the chain, in hexadecimal.
        event: as clients read it.
        problem: why it cannot be read, in which case `event` is empty.
        cluster: whose scheduler delivered it; empty = it is of the server's own world.
        token: id of the personal token with which the actor asked for it; empty = none.
        agent: the program that did so on behalf of the actor, as it calls itself; empty = it does
            not say.
    """

    seq: int
    at: int
    kind: str
    actor: str
    queue: str
    workload: str
    request: str
    rule: str
    checksum: str
    event: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    cluster: str = ""
    token: str = ""
    agent: str = ""


class TrailPage(Page):
    """Records, the newest first; a page may have fewer than were asked for although more follow.

    Attributes:
        items: the records.
        head: number of the newest event.
        looked_back: number of the oldest event that was looked at.
    """

    items: tuple[TrailRecord, ...] = ()
    head: int = 0
    looked_back: int = 0


class TrailFlaw(Struct):
    """What is wrong.

    Attributes:
        seq: number of the event; 0 = it is about none.
        problem: one sentence.
    """

    seq: int
    problem: str


class AnchorStanding(Struct):
    """What an anchor proves.

    Attributes:
        where: what it is.
        checkpoints: how many it holds of this log; 0 = it was not read.
        events: number of the newest event that it covers, with all before; 0 = it covers none.
        problem: why it was not read; empty = it was.
    """

    where: str
    checkpoints: int = 0
    events: int = 0
    problem: str = ""


class AnchorCopy(Struct):
    """How far an anchor is, as far as the running server knows.

    Attributes:
        where: what it is.
        events: number of the newest event that a checkpoint there covers, with all before; 0 =
            this server has written none there since it started.
        at: when that one was written, or found to be there, in ms; 0 = as above.
        behind: events of the ledger after it.
        since: when the first of these was written, in ms; 0 = there is none.
        late: whether that is longer ago than anchors may take.
        problem: why it lacks a newer checkpoint; empty = it does not, or it was not tried yet.
    """

    where: str
    events: int = 0
    at: int = 0
    behind: int = 0
    since: int = 0
    late: bool = False
    problem: str = ""


class AnchorPage(Struct):
    """What is signed, and which anchors have it.

    Attributes:
        now: the time of the server in ms.
        head: number of the newest event.
        signed: number of the newest event that a checkpoint covers; 0 = nothing is signed.
        unsigned: events after it.
        unsigned_since: when the first of these was written, in ms; 0 = there is none.
        signs_within: how long an event stays unsigned at most, in ms.
        late_after: from which age on an event that is not signed, or not in an anchor, is late,
            in ms.
        late: whether one is not signed that is.
        problem: what is wrong with signing or with anchors at present; empty = nothing.
        items: the anchors of `audit.yaml`.
    """

    now: int
    head: int
    signed: int
    unsigned: int
    unsigned_since: int
    signs_within: int
    late_after: int
    late: bool = False
    problem: str = ""
    items: tuple[AnchorCopy, ...] = ()


class TrailVerdict(Struct):
    """What `ganglion audit verify` finds in the ledger.

    Attributes:
        at: when it was checked, in ms.
        log: name of the log.
        key: id of the key that it was checked with, in hexadecimal.
        sound: whether nothing is wrong.
        first, last: numbers of the first and last event that were checked.
        events, checkpoints: how many were checked, and how many checkpoints fit.
        signed: number of the newest event that a checkpoint covers.
        unsigned: events after it, which is no flaw.
        anchored: number of the newest event that an anchor covers; 0 = none.
        anchors: those that the server writes checkpoints to.
        unwritten: what is wrong with signing or with anchors at present; empty = nothing.
        flaws: what is wrong, the first first.
    """

    at: int
    log: str
    key: str
    sound: bool
    first: int
    last: int
    events: int
    checkpoints: int
    signed: int
    unsigned: int
    anchored: int
    anchors: tuple[AnchorStanding, ...] = ()
    unwritten: str = ""
    flaws: tuple[TrailFlaw, ...] = ()
