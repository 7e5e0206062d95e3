"""Events of the ledger, and sessions in pods that they record."""

from typing import Any

from msgspec import Struct


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
