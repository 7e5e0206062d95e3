"""Timeouts, rates and limits of the scheduler, apart from the policy."""

from msgspec import Struct

from ganglion.worlds.kubernetes.instance import FIRST, Instance
from ganglion.worlds.kubernetes.node_discovery.topology import DISCOVERED, TopologySources


class Settings(Struct, frozen=True):
    """Settings of one scheduler.

    Attributes:
        default_queue: queue of pods that name none.
        assemble_ms: how long a place is kept for pods that are yet to be made.
        replace_ms: how long a running gang keeps the place of a pod that went.
        blocked_ms: how long a victim that a disruption budget protects is asked to leave.
        backoff_ms: wait after a failed start; doubles up to 64 times.
        unready_ms: wait after a gang was not ready in time; doubles up to 64 times.
        quarantine_ms: how long a node that refused pods gets no new ones; doubles up to 8 times.
        refusals: refusals within that time that put a node into quarantine.
        retell_ms: least time between two reasons of one sort written on one pod.
        provision_ms: how long the volumes of a gang may take to be made.
        reach_ms: how long a start waits for clusters that cannot be reached, if others can.
        device_agent: whether an agent on the nodes gives containers the devices that are recorded
            on their pods; without one, parts of GPUs are refused.
        instance: which of several schedulers of a cluster this is.
        records_users: whether admission records, and protects, who created an object.
        sources: where the levels of the topology are read from.
        isolate: whether a gang or fact that the engine fails over is set apart, so that all
            else is decided; else its failure fails the turn, as tests want it.
    """

    default_queue: str = "default"
    assemble_ms: int = 60_000
    replace_ms: int = 30_000
    blocked_ms: int = 120_000
    backoff_ms: int = 1_000
    unready_ms: int = 60_000
    quarantine_ms: int = 300_000
    refusals: int = 2
    retell_ms: int = 300_000
    provision_ms: int = 600_000
    reach_ms: int = 30_000
    records_users: bool = False
    device_agent: bool = False
    instance: Instance = FIRST
    sources: TopologySources = DISCOVERED
    isolate: bool = False
