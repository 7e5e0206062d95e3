"""From the ledger to what the server keeps in memory, and to what should exist."""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypedDict

from ganglion.engine.plugins import Plugins
from ganglion.engine.record import SETTLED
from ganglion.engine.state import ClusterState
from ganglion.extensions import load
from ganglion.ledger.ledger import Ledger
from ganglion.model.errors import PluginError
from ganglion.model.events import Event, PolicySet
from ganglion.model.node import Node
from ganglion.model.plan import Phase, Resize, Start, Stop
from ganglion.model.policy import Policy
from ganglion.model.workload import Gang, Workload
from ganglion.server.book import Book
from ganglion.server.draft import Mind
from ganglion.server.replay import enter_live, take


class Expected(TypedDict):
    """What a world is told after a (re)start: arguments of `ServedWorld.reconcile`."""

    placed: Mapping[str, Start]
    running: Mapping[str, int]
    stopping: Mapping[str, Stop]
    resized: Mapping[str, Resize]
    workloads: Mapping[str, Workload]
    nodes: Mapping[str, Node]


def replayed(
    ledger: Ledger, policy: Policy, noted: Callable[[Event], None] = lambda _event: None
) -> Mind:
    """Rebuild state and book from every event of a ledger; see `replay` for those that fail.

    Args:
        ledger: where the events lie.
        policy: in force as long as the ledger holds none.
        noted: told of every event.

    Raises:
        EnvironmentFault: the database does not answer.
        PluginError: the newest policy names a plugin that cannot be loaded.
    """
    mind = Mind(ClusterState(policy, _plugins(ledger, policy)), Book())
    with _no_collection():
        for cycle in ledger.cycles():
            take(mind, cycle, noted)
    enter_live(mind, {each.id: each for each in ledger.history.live()})
    return mind


def _plugins(ledger: Ledger, policy: Policy) -> Plugins:
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
def _no_collection() -> Iterator[None]:
    """Millions of young objects that stay make the cycle collector run for nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
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
