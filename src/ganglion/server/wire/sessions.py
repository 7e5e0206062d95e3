"""What the server answers about sessions in pods."""

from pydantic import Field

from ganglion.server.wire.base import Model


class Session(Model):
    """A session in a pod, as events `pod_access` tell of it."""

    id: str
    at: int = Field(description="when it began, or was refused")
    gang: str
    attempt: int = Field(description="0 = none ran")
    pod: int = Field(description="number of the pod in its gang")
    verb: str = Field(description="`exec`, `attach`, `cp` or `port-forward`")
    stage: str = Field(description="`begun`, `ended` or `refused`")
    user: str
    uid: int | None = Field(None, description="user at the socket; null = had the token")
    command: tuple[str, ...] = Field((), description="argument vector, without credentials")
    path: str = Field("", description="of `cp`")
    port: int = Field(0, description="of `port-forward`")
    exit_code: int | None = None
    reason: str = Field("", description="why it ended or was refused")
    duration_ms: int | None = Field(None, description="null = it has not ended, or it is unknown")
