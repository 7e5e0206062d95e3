"""Who entered a pod: what an audit asks for. The engine takes no notice of it."""

from enum import Enum

from ganglion.model.events.base import EventBase


class Verb(Enum):
    """How a pod is entered: names of commands of `ganglion`."""

    EXEC = "exec"
    ATTACH = "attach"
    CP = "cp"
    PORT_FORWARD = "port-forward"


class SessionStage(Enum):
    """How far a session is; `REFUSED` is the end of one that nothing was carried for."""

    BEGUN = "begun"
    ENDED = "ended"
    REFUSED = "refused"


class PodAccess(EventBase, frozen=True, tag="pod_access"):
    """A session in a pod begins, ends, or is refused.

    What is sent and received is never recorded. Credentials in `command` and `path` are redacted.

    Attributes:
        gang: the gang, or the one that was asked for.
        attempt: its attempt; 0 = none runs.
        pod: number of the pod in its gang.
        verb: how it is entered.
        stage: whether the session begins or is over.
        session: id that the server gave; the same in both events of a session.
        user: who the caller is.
        uid: user at the other end of the Unix socket; None = the caller had the token.
        command: argument vector of `exec` and `cp`, at the beginning.
        path: of `cp`: the path in the pod as the caller says it, at the beginning.
        port: of `port-forward`.
        exit_code: of the command, at the end; None = it is unknown.
        reason: why it ended or was refused.
        duration_ms: from beginning to end; None = unknown.
    """

    gang: str
    attempt: int
    pod: int
    verb: Verb
    stage: SessionStage
    session: str
    user: str
    uid: int | None = None
    command: tuple[str, ...] = ()
    path: str = ""
    port: int = 0
    exit_code: int | None = None
    reason: str = ""
    duration_ms: int | None = None
