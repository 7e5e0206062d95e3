"""Which object a write is about, and what became of it."""

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from ganglion.worlds.kubernetes.types.pod import Pod


class Identity(Protocol):
    """A pod as it was seen: one that was made again under its name has another UID."""

    @property
    def namespace(self) -> str:
        """Where it lies."""

    @property
    def name(self) -> str:
        """Its name there."""

    @property
    def uid(self) -> str:
        """What distinguishes it from those that had its name before."""


class ObjectRef(Struct, frozen=True):
    """The plain form of an `Identity`."""

    namespace: str
    name: str
    uid: str


def ref_of(pod: Pod) -> ObjectRef:
    """Return the identity of a pod."""
    return ObjectRef(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def path_of(who: Identity, subresource: str = "") -> str:
    """Return the path of a pod, or of a part of it, on the API server."""
    path = f"/api/v1/namespaces/{who.namespace}/pods/{who.name}"
    return f"{path}/{subresource}" if subresource else path


class WriteVerdict(StrEnum):
    """What became of one write."""

    BOUND = "bound"
    """The binding was accepted."""

    ALREADY_HERE = "already here"
    """The pod was found bound to the node that was wanted."""

    ELSEWHERE = "elsewhere"
    """The pod was found bound to another node."""

    GATED = "gated"
    """Scheduling gates keep the pod from being bound."""

    DONE = "done"
    """The write was accepted."""

    UNCHANGED = "unchanged"
    """It was so already, or is not for us to change; nothing was written."""

    GONE = "gone"
    """The object is gone, leaving, over, or another one has its name."""

    BLOCKED = "blocked"
    """A disruption budget forbids it for now."""

    REFUSED = "refused"
    """The server will not do it, however often it is asked."""

    UNKNOWN = "unknown"
    """No answer that could be relied on; it may have been done."""

    WITHHELD = "withheld"
    """It was not tried: we may not write any more, or what had to come first failed."""


class WriteOutcome(Struct, frozen=True):
    """What became of one write.

    Attributes:
        verdict: in one word.
        message: the server's answer, for people.
        node: where the pod is bound; empty when it is not, or was not looked at.
        retry_after_s: when to try again, in seconds; 0 = the server did not say.
    """

    verdict: WriteVerdict
    message: str = ""
    node: str = ""
    retry_after_s: int = 0

    @property
    def is_bound(self) -> bool:
        """Whether the pod is bound where it was wanted."""
        return self.verdict in (WriteVerdict.BOUND, WriteVerdict.ALREADY_HERE)

    @property
    def holds(self) -> bool:
        """Whether what was wanted is so now."""
        return self.is_bound or self.verdict in (WriteVerdict.DONE, WriteVerdict.UNCHANGED)
