"""From the ledger to what the server keeps in memory, and to what should exist."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypedDict

import structlog

from ganglion.engine.plugins import Plugins
from ganglion.engine.record import SETTLED
from ganglion.engine.state import ClusterState
from ganglion.extensions import load
from ganglion.ledger.chain import Progress, silent
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Snapshot
from ganglion.model.errors import PluginError
from ganglion.model.events import PolicySet
from ganglion.model.node import Node
from ganglion.model.plan import Phase, Resize, Start, Stop
from ganglion.model.policy import Policy
from ganglion.model.workload import Gang, Workload
from ganglion.server.book import Book
from ganglion.server.draft import Mind
from ganglion.server.image import Unusable, unpacked, version
from ganglion.server.keepers import Keepers
from ganglion.server.replay import Noted, enter_live, ignored, take

SHOWN = 10_000
"""Events after which progress is shown."""

log = structlog.get_logger(__name__)


class Expected(TypedDict):
    """What a world is told after a (re)start: arguments of `ServedWorld.reconcile`."""

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
        noted: told of every event.

    Raises:
        EnvironmentFault: the database does not answer.
        PluginError: the newest policy names a plugin that cannot be loaded.
    """
    return _gone_on(ledger, empty_mind(ledger, policy), 0, noted, silent)


def empty_mind(ledger: Reader, policy: Policy) -> Mind:
    """A state before the first event, with the plugins of the newest policy. See `replayed`."""
    return Mind(ClusterState(policy, _plugins(ledger, policy)), Book())


def restored(ledger: Reader, policy: Policy, keepers: Keepers, progress: Progress = silent) -> Mind:
    """The same from the newest snapshot that this code can read, and the events after it.

    Args:
        ledger: where events and snapshots lie.
        policy: in force as long as the ledger holds none.
        keepers: get what they remember.
        progress: told how far it is.

    Raises:
        EnvironmentFault: the database does not answer.
        PluginError: the newest policy names a plugin that cannot be loaded.
    """
    plugins = _plugins(ledger, policy)
    for snapshot in ledger.snapshots():
        mind = _from_snapshot(ledger, snapshot, plugins, keepers)
        if mind:
            return _gone_on(ledger, mind, snapshot.seq, keepers.note, progress)
    keepers.forget()
    mind = Mind(ClusterState(policy, plugins), Book())
    return _gone_on(ledger, mind, 0, keepers.note, progress)


def _from_snapshot(
    ledger: Reader, snapshot: Snapshot, plugins: Plugins, keepers: Keepers
) -> Mind | None:
    """The state of a snapshot; None = it is not to be used."""
    newest = ledger.newest_entry(PolicySet)
    row = next(iter(ledger.events(snapshot.seq - 1, 1)), None)
    # Another policy may have other plugins, which see the whole past otherwise.
    if newest and newest.seq > snapshot.seq:
        return None
    if row is None or (row.seq, row.checksum) != (snapshot.seq, snapshot.checksum):
        log.warning("snapshot left out", seq=snapshot.seq, reason="the events are others")
        return None
    if snapshot.version != version():
        log.info("snapshot left out", seq=snapshot.seq, reason="another version wrote it")
        return None
    try:
        with no_collection():
            mind, memories = unpacked(snapshot.body, plugins, live=False)
        keepers.recall(memories)
    except Unusable as error:
        log.warning("snapshot left out", seq=snapshot.seq, reason=error.message)
        return None
    return mind


def _gone_on(ledger: Reader, mind: Mind, after: int, noted: Noted, progress: Progress) -> Mind:
    """Take in every event after one, and the live workloads."""
    told = after
    with no_collection():
        for cycle in ledger.cycles(after):
            take(mind, cycle, noted)
            if cycle.seqs and cycle.seqs[-1] - told >= SHOWN:
                told = cycle.seqs[-1]
                progress("replaying the ledger, event", told, 0)
    enter_live(mind, {each.id: each for each in ledger.history.live()})
    return mind


def _plugins(ledger: Reader, policy: Policy) -> Plugins:
    """Those of the newest policy: decisions made with others are written, not made again."""
    newest = ledger.newest(PolicySet)
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
    for gang, record in mind.state.records.items():
        if record.phase is Phase.STARTING and record.placement:
            saved = mind.book.trails[gang].saved
            placed[gang] = Start(record.gang, record.attempt, record.placement, saved)
        elif record.phase is Phase.RUNNING:
            running[gang] = record.attempt
        elif record.phase is Phase.STOPPING:
            stopping[gang] = Stop(gang, record.attempt, record.cause)
        if record.phase in SETTLED and record.placement and _is_elastic(record.gang):
            resized[gang] = Resize(record.gang, record.attempt, record.placement)
    nodes = {
        name: node for name, node in mind.state.nodes.items() if not mind.state.tree.is_gone(name)
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
