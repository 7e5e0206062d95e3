"""Events of the ledger, sessions in pods that they record, and what clusters deliver."""

from typing import Any

from msgspec import Struct

from ganglion.api.queues import ClusterQueue
from ganglion.model.events import DeliveryRecord


class SessionView(Struct):
    """A session in a pod, as events `pod_access` record it.

    Attributes:
        id: of the session.
        at: when it began or was refused, in ms.
        gang: the gang that was entered, or was to be.
        attempt: its attempt; 0 = none ran.
        pod: number of the pod in its gang.
        verb: `exec`, `attach`, `cp` or `port-forward`.
        stage: `begun`, `ended` or `refused`.
        user: who the caller is.
        uid: user at the other end of the Unix socket; None = the caller had the token.
        command: argument vector, without credentials.
        path: of `cp`.
        port: of `port-forward`; 0 = of no port.
        exit_code: of the command; None = unknown.
        reason: why it ended or was refused.
        duration_ms: from beginning to end; None = it has not ended, or it is unknown.
    """

    id: str
    at: int
    gang: str
    attempt: int
    pod: int
    verb: str
    stage: str
    user: str
    uid: int | None = None
    command: tuple[str, ...] = ()
    path: str = ""
    port: int = 0
    exit_code: int | None = None
    reason: str = ""
    duration_ms: int | None = None


class EventView(Struct):
    """One event of the ledger.

    Attributes:
        seq: its number, without gaps.
        event: the event itself; `type` says which sort, `at` when in ms.
    """

    seq: int
    event: dict[str, Any]


class DeliveryBatch(Struct, frozen=True, forbid_unknown_fields=True):
    """Records of a scheduler of clusters; an empty batch asks for the position.

    Attributes:
        scheduler: id of the scheduler.
        records: of its turns.
    """

    scheduler: str
    records: tuple[DeliveryRecord, ...] = ()


class DeliveryPosition(Struct):
    """How far the records of a scheduler are in the ledger.

    Attributes:
        position: number of the last one; 0 = none is.
        money: `ClusterMoney`, prices and budgets that the scheduler is to keep; only where no
            records came.
    """

    position: int
    money: dict[str, Any] | None = None


class ClusterDelivery(Struct):
    """A cluster whose scheduler delivers what it decides.

    Attributes:
        name: of the cluster.
        scheduler: id of its newest scheduler.
        version: of that scheduler's software.
        heard: when its last record came, in ms.
        position: number of that scheduler's last record.
        gangs: that wait or run, as far as is known here.
        lost: records that are known to be missing.
        silent_since: since when nothing was heard of that scheduler, in ms; 0 = it is not silent.
        queues: its queues, by name, where they were asked for.
    """

    name: str
    scheduler: str
    version: str
    heard: int
    position: int
    gangs: int
    lost: int
    silent_since: int = 0
    queues: tuple[ClusterQueue, ...] = ()


class ClusterPage(Struct):
    """The clusters that deliver."""

    items: tuple[ClusterDelivery, ...] = ()
