"""Queues and policies that are set and removed."""

from ganglion.model.causes import Cause
from ganglion.model.events.base import EventBase
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue


class QueueSet(EventBase, frozen=True, tag="queue_set"):
    """A queue was made or changed."""

    queue: Queue


class QueueRemoved(EventBase, frozen=True, tag="queue_removed"):
    """A queue without gangs and children was removed."""

    name: str


class PolicySet(EventBase, frozen=True, tag="policy_set"):
    """The engine decides by this policy from now on.

    Attributes:
        version: counts from 1; 0 = it is part of no history.
        user: who set it.
        cause: how it came into force.
        text: the policy file as it was written.
        queues: the whole queue tree that came with it; None = it does not mention queues.
            The queues themselves are set by events of their own.
    """

    policy: Policy
    version: int = 0
    user: str = ""
    cause: Cause | None = None
    text: str = ""
    queues: tuple[Queue, ...] | None = None
