"""From the ledger to what the server keeps in memory, and to what should exist."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from itertools import chain
from types import MappingProxyType
from typing import TypedDict

import structlog

from ganglion.engine.gangs.record import SETTLED
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.extensions import load
from ganglion.ledger.chain import Progress, silent
from ganglion.ledger.intervals import lent_until
from ganglion.ledger.metering import last_ends
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Cycle, Snapshot
from ganglion.model.errors import EnvironmentFault, PluginError
from ganglion.model.events import PolicySet
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Phase, Resize, Start, Stop
from ganglion.model.policy import Policy
from ganglion.model.workload import Gang, Workload
from ganglion.server.controllers.controller import Controllers
from ganglion.server.recovery.checkpoint import LedgerCheckpoint, Unusable, read
from ganglion.server.recovery.live_rows import Known, enter_live
from ganglion.server.recovery.replay import Noted, ignored, take
from ganglion.server.state.registry import Registry
from ganglion.server.state.transaction import Mind

SHOWN = 10_000
"""Events after which progress is shown."""

log = structlog.get_logger(__name__)


class Expected(TypedDict):
    """What a world gets after a (re)start: arguments of `ServedWorld.reconcile`."""

    placed: Mapping[str, Start]
    running: Mapping[str, int]
    stopping: Mapping[str, Stop]
    resized: Mapping[str, Resize]
    workloads: Mapping[str, Workload]
    nodes: Mapping[str, Node]


def replayed(ledger: Reader, policy: Policy, noted: Noted = ignored) -> Mind:
    """Rebuild state and book from every event of a ledger; see `replay` for those that fail.

    Args:
        ledger: where the events lie.
        policy: in force as long as the ledger holds none.
        noted: called with every event.

    Raises:
        EnvironmentFault: the database does not answer.
        PluginError: the newest policy names a plugin that cannot be loaded.
    """
    mind, after = beginning(ledger, policy)
    return _gone_on(ledger, mind, after, noted, silent)


def beginning(ledger: Reader, policy: Policy) -> tuple[Mind, int]:
    """The state at the cut of a ledger, else before its first event; and the event before it.

    Raises:
        EnvironmentFault: the snapshot that the ledger was cut at cannot be used.
        PluginError: as of `replayed`.
    """
    base, plugins = ledger.base(), _plugins(ledger, policy)
    if base is None:
        return Mind.of(ClusterState(policy, plugins), Registry(), {}), 0
    for snapshot in ledger.snapshots():
        if snapshot.seq == base.seq:
            try:
                return _fitting(ledger, snapshot).mind(plugins), base.seq
            except Unusable as error:
                log.warning("snapshot left out", seq=snapshot.seq, reason=error.message)
    raise _gone(base.seq)


def as_of(ledger: Reader, policy: Policy, at: int) -> tuple[Mind, int, Iterator[Cycle]]:
    """The state at a time of the past, and what happened after it.

    Args:
        ledger: where events and snapshots lie.
        policy: in force as long as the ledger holds none.
        at: the time in ms.

    Returns:
        the state; its time, which is later where the ledger begins later; the cycles after it.

    Raises:
        EnvironmentFault: the database does not answer.
        PluginError: as of `replayed`.
    """
    mind, after, plugins = None, 0, _plugins(ledger, policy)
    for snapshot in ledger.snapshots():
        row = next(iter(ledger.events(snapshot.seq - 1, 1)), None)
        if row is None or row.seq != snapshot.seq or row.at > at:
            continue
        try:
            mind, after = _fitting(ledger, snapshot).mind(plugins), snapshot.seq
        except Unusable as error:
            log.warning("snapshot left out", seq=snapshot.seq, reason=error.message)
        else:
            break
    if mind is None:
        mind, after = beginning(ledger, policy)
        at = max(at, mind.state.progress.clock)  # of a ledger that was cut
    cycles, taken = ledger.cycles(after), after > 0
    for cycle in cycles:
        if cycle.at > at:
            return mind, at if taken else cycle.at, chain((cycle,), cycles)
        take(mind, cycle, ignored)
        taken = True
    return mind, at, iter(())


def _check_whole(ledger: Reader) -> None:
    """Raises EnvironmentFault: the first events are not there."""
    base = ledger.base()
    if base:
        raise _gone(base.seq)


def _gone(seq: int) -> EnvironmentFault:
    return EnvironmentFault(
        f"no snapshot can be used, and the events up to {seq} were cut off",
        "put back a backup; see 'damaged ledger' in docs/runbooks/server.md",
    )


def restored(
    ledger: Reader, policy: Policy, keepers: Controllers, progress: Progress = silent
) -> Mind:
    """The same from the newest snapshot that can be read, and the events after it.

    Args:
        ledger: where events and snapshots lie.
        policy: in force as long as the ledger holds none.
        keepers: get what they remember.
        progress: called with how far it is.

    Raises:
        EnvironmentFault: the database does not answer.
        PluginError: the newest policy names a plugin that cannot be loaded.
    """
    plugins = _plugins(ledger, policy)
    for snapshot in ledger.snapshots():
        try:
            with no_collection():
                found = _fitting(ledger, snapshot)
                mind = found.mind(plugins)
                keepers.recall(found.memories)
        except Unusable as error:
            log.warning("snapshot left out", seq=snapshot.seq, reason=error.message)
        else:
            known = found.entries
            mind = _gone_on(ledger, mind, snapshot.seq, keepers.note, progress, known)
            return _charged_once(ledger, mind)
    _check_whole(ledger)
    keepers.forget()
    mind = Mind.of(ClusterState(policy, plugins), Registry(), {})
    return _charged_once(ledger, _gone_on(ledger, mind, 0, keepers.note, progress))


def _charged_once(ledger: Reader, mind: Mind) -> Mind:
    """Without an event that is damaged, what it closed looks open, and is in the ledger already."""
    if mind.book.flaws:
        ends = last_ends(ledger)
        mind.book.meter.skip(*ends)
        mind.book.cluster_meters.skip(*ends)
        mind.book.lending.skip(lent_until(ledger))
    return mind


def _fitting(ledger: Reader, snapshot: Snapshot) -> LedgerCheckpoint:
    """Read a snapshot. Raises Unusable, also where the events up to it are others."""
    base = ledger.base()
    if base and base.seq == snapshot.seq:
        if (base.checksum, base.digest) != (snapshot.checksum, sha256(snapshot.body).digest()):
            raise Unusable("it is not the one that the ledger was cut at")
        return read(snapshot.body)
    row = next(iter(ledger.events(snapshot.seq - 1, 1)), None)
    if row is None or (row.seq, row.checksum) != (snapshot.seq, snapshot.checksum):
        raise Unusable("the events are others")
    return read(snapshot.body)


def _gone_on(
    ledger: Reader,
    mind: Mind,
    after: int,
    noted: Noted,
    progress: Progress,
    known: Known = MappingProxyType({}),
) -> Mind:
    """Take in every event after one, and the live workloads."""
    told = after
    with no_collection():
        for cycle in ledger.cycles(after):
            take(mind, cycle, noted)
            if cycle.seqs and cycle.seqs[-1] - told >= SHOWN:
                told = cycle.seqs[-1]
                progress("replaying the ledger, event", told, 0)
    enter_live(mind, ledger.history.live(), known)
    return mind


def _plugins(ledger: Reader, policy: Policy) -> Plugins:
    """Those of the newest policy: decisions made with others are written, not made again."""
    newest = ledger.newest(PolicySet)
    if newest is None and (base := ledger.base()):
        kept = next((each for each in ledger.snapshots() if each.seq >= base.seq), None)
        newest = read(kept.body).policy if kept else None
    if not isinstance(newest, PolicySet):
        return load(policy)
    try:
        return load(newest.policy)
    except PluginError as error:
        raise PluginError(
            f"version {newest.version} of the policy cannot be used: {error.message}",
            "install the plugin again; see 'a plugin is gone' in docs/runbooks/policy.md",
        ) from error


@contextmanager
def no_collection(*, stays: bool = True) -> Iterator[None]:
    """Collect no garbage meanwhile.

    Millions of young objects that stay make the cycle collector run for nothing.

    Args:
        stays: whether what is made stays for good, so that it is never looked at.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if stays:
            gc.freeze()
        if was_on:
            gc.enable()


def expected(mind: Mind) -> Expected:
    """What should run, start and stop, by everything that is written."""
    placed, running, stopping = dict[str, Start](), dict[str, int](), dict[str, Stop]()
    resized = dict[str, Resize]()
    for gang, record in mind.state.gangs.records.items():
        if record.phase is Phase.STARTING and record.placement:
            saved = mind.book.trails[gang].saved
            placed[gang] = Start(record.gang, record.attempt, record.placement, saved)
        elif record.phase is Phase.RUNNING:
            running[gang] = record.attempt
        elif record.phase is Phase.STOPPING and record.cause:
            stopping[gang] = Stop(gang, record.attempt, record.cause)
        if record.phase in SETTLED and record.placement and _is_elastic(record.gang):
            resized[gang] = Resize(record.gang, record.attempt, record.placement)
    nodes = {
        name: node
        for name, node in mind.state.fleet.nodes.items()
        if not mind.state.fleet.tree.is_gone(name)
    }
    return Expected(
        placed=placed,
        running=running,
        stopping=stopping,
        resized=resized,
        workloads=mind.book.workloads(),
        nodes=nodes,
    )


def _is_elastic(gang: Gang) -> bool:
    return any(pods.min_count for pods in gang.pod_sets)
