"""The components of the state that decisions about the present need."""

from typing import Protocol

from ganglion.engine.plugins.config import EngineConfig
from ganglion.engine.queues.fair_share import Deserved
from ganglion.engine.queues.queues import Queues
from ganglion.engine.store.gangs import Gangs
from ganglion.engine.store.holdings import Holdings
from ganglion.engine.store.journal import Journal
from ganglion.engine.topology.fleet import EngineProgress, NodeFleet


class Store(Protocol):
    """What of the state is known to the folders below that of the whole.

    Attributes:
        config: what is in force.
        progress: the time, and what has changed.
        journal: what is being decided.
        fleet: the nodes.
        queues: the queues and their use.
        gangs: records, and what waits.
        holdings: what is held, promised and left.
        deserved: what every queue is entitled to as of the last cycle.
    """

    config: EngineConfig
    progress: EngineProgress
    journal: Journal
    fleet: NodeFleet
    queues: Queues
    gangs: Gangs
    holdings: Holdings
    deserved: Deserved
